"""One way to write a document down, so that its hash is the same in every language.

RFC 8785 (JSON Canonicalization Scheme): UTF-8, keys sorted, no spaces, numbers as ECMAScript
prints them. A fingerprint is the first half of the SHA-256 of `path=canonical(value)`: it lets a
reader say which field was altered.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import rfc8785

from expunge.errors import InvalidInput

__all__ = ["Difference", "altered_fields", "canonical", "fingerprints", "leaves", "sha256"]


class Difference(NamedTuple):
    """A field that is not what it should be."""

    field: str
    problem: str


def canonical(document: object) -> str:
    """The document as RFC 8785 text.

    Raises:
        InvalidInput: a value that JSON cannot hold.
    """
    try:
        return rfc8785.dumps(_exact(document)).decode()
    except rfc8785.CanonicalizationError as error:
        raise InvalidInput("document", f"has no canonical form: {error}") from error


def sha256(document: object) -> str:
    """The hash of the canonical form, in hexadecimal."""
    return hashlib.sha256(canonical(document).encode()).hexdigest()


def fingerprints(
    body: Mapping[str, Any], write: Callable[[object], str] = canonical
) -> dict[str, str]:
    """A fingerprint for every leaf of the document, as `write` prints it."""
    return {
        field: hashlib.sha256(f"{field}={write(value)}".encode()).hexdigest()[:16]
        for field, value in leaves(body)
    }


def altered_fields(
    body: Mapping[str, Any],
    stated: Mapping[str, str],
    write: Callable[[object], str] = canonical,
) -> Iterator[Difference]:
    """Every leaf whose fingerprint is not the stated one."""
    actual = fingerprints(body, write)
    for field in [*actual, *(field for field in stated if field not in actual)]:
        if field not in stated:
            yield Difference(field, "added after the certificate was issued")
        elif field not in actual:
            yield Difference(field, "removed after the certificate was issued")
        elif stated[field] != actual[field]:
            yield Difference(field, "altered after the certificate was issued")


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every number and text with its path; long lists of numbers are one leaf."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for i, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{i}]")
    else:
        yield path, value


def _exact(value: Any) -> Any:
    """Whole numbers of 2^53, the largest count there is, as the float that they are."""
    if isinstance(value, dict):
        return {key: _exact(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(inner) for inner in value]
    return float(value) if type(value) is int and abs(value) == 2**53 else value
