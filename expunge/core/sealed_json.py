"""JSON that carries its own seal: no byte of the file can change unnoticed.

    seal = SHA-256 of the document as it is written without the seal

Only the form in which it was written is accepted, so that spaces count as well.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from expunge.errors import Altered

__all__ = ["read_sealed_json", "sealed_json"]

SEAL = "seal"


def sealed_json(document: Mapping[str, Any]) -> bytes:
    """Write a document with its seal, as the bytes of a file."""
    seal = hashlib.sha256(json.dumps(document, indent=1).encode()).hexdigest()
    return f"{json.dumps({**document, SEAL: seal}, indent=1)}\n".encode()


def read_sealed_json(path: Path, remedy: str) -> dict[str, Any]:
    """Read a document that carries its seal, without the seal.

    Raises:
        Altered: the file is not as `sealed_json` wrote it.
        OSError: it cannot be read.
    """
    content = path.read_bytes()
    try:
        document = json.loads(content)
        document.pop(SEAL)
        whole = sealed_json(document) == content
    except (ValueError, RecursionError, AttributeError, TypeError, LookupError):
        whole, document = False, {}
    if not whole:
        raise Altered(str(path), f"is not as it was written, its seal does not fit; {remedy}")
    return document
