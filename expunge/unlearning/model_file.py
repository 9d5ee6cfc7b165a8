"""The file of a released model: its hash is the one that certificates name.

sha256sum models/<sha256>.safetensors
"""

import hashlib

from safetensors import torch as safetensors
from torch import Tensor

__all__ = ["model_bytes", "model_sha256"]


def model_bytes(theta: Tensor) -> bytes:
    """safetensors with one tensor, theta (outputs, features), float64; the last feature is the
    intercept's.
    """
    return safetensors.save({"theta": theta.contiguous()})


def model_sha256(theta: Tensor) -> str:
    return hashlib.sha256(model_bytes(theta)).hexdigest()
