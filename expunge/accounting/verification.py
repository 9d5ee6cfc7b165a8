"""A certificate held against itself: which fields were altered, which numbers do not follow.

Reads schema 2 and schema 1. Fingerprints find accidents; recomputation finds whoever renewed the
fingerprints but not the arithmetic.
"""

import json
import math
from typing import Any

from expunge.accounting.canonical import Difference, altered_fields, leaves
from expunge.accounting.certificate import Certificate
from expunge.accounting.certificate_v1 import CertificateV1
from expunge.accounting.document import validate
from expunge.accounting.issue import recompute
from expunge.accounting.json_text import USUAL, JsonLimits, parse_json
from expunge.errors import InvalidInput, MissingPackage, Refused

__all__ = ["AnyCertificate", "Difference", "differences", "file_differences", "read_certificate"]

AnyCertificate = Certificate | CertificateV1
LAST_DIGITS = 1e-12  # relative difference that another machine's arithmetic may make
ALLOWANCE = 1e-9  # what the accountant's own allowance for rounding may have changed since schema 1


def read_certificate(text: str, limits: JsonLimits = USUAL) -> AnyCertificate:
    """Read a certificate of any schema version.

    Raises:
        InvalidInput: the text is not a certificate.
    """
    document = parse_json(text, limits)
    old = isinstance(document, dict) and document.get("schema_version") == "1"
    return validate(CertificateV1 if old else Certificate, document)


def differences(certificate: AnyCertificate) -> list[Difference]:
    """Every altered field, and every number that its own history does not support.

    Raises:
        MissingPackage: the claim rests on a bound of a package that is not installed.
    """
    body = certificate.body()
    problems = dict(altered_fields(body, certificate.fingerprints, certificate.write))
    try:
        supported = _supported_body(certificate)
    except (InvalidInput, Refused) as error:
        if isinstance(error, MissingPackage) and not problems:
            raise
        field, problem = _culprit(error, body)
        problems.setdefault(field, problem)
        return [Difference(*item) for item in problems.items()]
    tolerance = LAST_DIGITS if isinstance(certificate, Certificate) else ALLOWANCE
    stated, follows = dict(leaves(body)), dict(leaves(supported))
    for field in [*stated, *(path for path in follows if path not in stated)]:
        if not _agree(stated.get(field), follows.get(field), tolerance):
            problems[field] = (
                f"states {json.dumps(stated.get(field))}, "
                f"its history supports {json.dumps(follows.get(field))}"
            )
    return [Difference(*item) for item in problems.items()]


def file_differences(certificate: AnyCertificate, sha256: str) -> list[Difference]:
    """What the certificate says against a model's file with this hash; nothing if it names it.

    A commitment is the hash of a file with a salt.
    """
    committed = certificate.commitments.get("model")
    stated = certificate.model_sha256 or committed
    field = "commitments" if stated is not None and stated == committed else "model_sha256"
    if stated == sha256:
        return []
    missing = "is missing: the certificate names no model's file"
    return [Difference(field, missing if stated is None else "is that of another model's file")]


def _supported_body(certificate: AnyCertificate) -> dict[str, Any]:
    """The body that this certificate's own history and stated facts support.

    Raises:
        InvalidInput, Refused: they support no certificate.
    """
    if isinstance(certificate, Certificate):
        return recompute(certificate).body()
    return certificate.supported_body()


def _culprit(error: InvalidInput | Refused, body: dict[str, Any]) -> tuple[str, str]:
    """The field that a refusal is about; the history, where it names none of the certificate's."""
    if isinstance(error, InvalidInput) and error.field.split(".")[0].split("[")[0] in body:
        return error.field, error.problem
    return "history", f"supports no certificate: {error}"


def _agree(stated: object, supported: object, tolerance: float) -> bool:
    """Whether both are equal, or numbers that differ by no more than the tolerance."""
    if isinstance(stated, float) and isinstance(supported, float):
        return math.isclose(stated, supported, rel_tol=tolerance, abs_tol=1e-300)
    return stated == supported
