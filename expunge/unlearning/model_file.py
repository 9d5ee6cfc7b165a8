"""The file of a released model: its hash is the one that certificates name.

sha256sum models/<sha256>.safetensors

Whoever can compute a model without noise from the records that they suspect could hash it and
compare. Its file therefore holds a random salt: the hash tells nothing to those who do not have
the file, and those who have it check the certificate like any other.
"""

import json
import secrets
from collections.abc import Mapping

import torch
from safetensors import torch as safetensors
from torch import Tensor

__all__ = [
    "SALT",
    "add_salt",
    "file_bytes",
    "model_bytes",
    "salt_of",
]

SALT = "salt"  # its name in a file's metadata, and in secret state


def add_salt(secret: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
    """Add a fresh salt, 32 random bytes, to the secret state of a model without noise."""
    salt = torch.frombuffer(bytearray(secrets.token_bytes(32)), dtype=torch.uint8)
    return {**(secret or {}), SALT: salt}


def salt_of(secret: dict[str, Tensor]) -> str | None:
    """The salt in hexadecimal; None if the secret state has none."""
    return bytes(secret[SALT].tolist()).hex() if SALT in secret else None


def salt_in(content: bytes) -> str | None:
    """The salt in a model's file; None if it has none."""
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return header.get("__metadata__", {}).get(SALT)


def file_bytes(tensors: dict[str, Tensor], salt: str | None = None) -> bytes:
    """A safetensors file, with the salt as its metadata."""
    return safetensors.save(tensors, None if salt is None else {SALT: salt})


def model_bytes(theta: Tensor, salt: str | None = None) -> bytes:
    """The file of a linear model: theta (outputs, features), float64, the intercept last."""
    return file_bytes({"theta": theta.contiguous()}, salt)
