"""Certificates compared across fits."""

import json
from typing import Any

from expunge.accounting.certificate import Certificate

OF_THE_FIT = ("workspace", "previous", "issued")  # random names, what is made of them, time
OF_THE_MODEL = ("model_sha256", "commitments")


COPIED = "state may have been used twice"


def told(certificate: Certificate, *, models: bool = True) -> dict[str, Any]:
    """What a certificate says, whichever fit, in memory or from disk, it belongs to.

    Args:
        models: Keep the model's hash.
    """
    document = json.loads(certificate.canonical())
    document.pop("fingerprints")
    for name in OF_THE_FIT if models else (*OF_THE_FIT, *OF_THE_MODEL):
        document.pop(name)
    document["provenance"].pop("state")
    if COPIED in document["reservations"]:
        place = document["reservations"].index(COPIED)
        document["reservations"].pop(place)
        document["claim"]["statement"].pop(place)
    return document
