"""Ids as people give them: surrounding spaces do not count, nor how an accent is encoded.

"é" is one character or two that look the same (Unicode NFC and NFD). Ids are compared in the first
form, in which a workspace keeps them; one that it knows in the other form is taken as it is.
"""

import unicodedata
from collections.abc import Sequence

from expunge.ledger import Entries

__all__ = ["composed", "known_ids", "trim_ids"]


def composed(record: str) -> str:
    """The id in Unicode's composed form (NFC).

    >>> len("e\u0301"), len(composed("e\u0301"))
    (2, 1)
    """
    return unicodedata.normalize("NFC", record)


def trim_ids(given: Sequence[str]) -> tuple[list[str], int]:
    """Ids without surrounding spaces, and how many had some."""
    trimmed = [record.strip() for record in given]
    return trimmed, sum(1 for pair in zip(given, trimmed, strict=True) if pair[0] != pair[1])


def known_ids(entries: Entries, given: Sequence[str]) -> list[str]:
    """The ids as the ledger has them: composed, unless it knows one in the form given."""
    odd = [record for record in given if composed(record) != record]
    as_given = entries.outcomes(odd)
    return [
        record if as_given.get(record, "unknown") != "unknown" else composed(record)
        for record in given
    ]
