"""Whether records given again are those that were there: a keyed hash for each.

    commitment_i = blake2b(bytes of inputs_i and targets_i, key)    16 bytes

The key is drawn anew for every file and kept beside the commitments, as secret as the records are:
anyone who has both can test whether a record was there. Those of forgotten records are zeroed.
"""

import hashlib
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from expunge.core.inputs import Inputs, tensors_in
from expunge.unlearning.networks.network_job import NetworkLoss

__all__ = ["SIZE", "commitments", "describe_loss", "form_of", "tensor_sha256"]

SIZE = 16
PLAIN = (bool, int, float, str, type(None))


def commitments(inputs: Inputs, targets: Tensor, keep: Tensor, key: bytes) -> Tensor:
    """A commitment to each record, (rows, 16) bytes; zero where it is not kept."""
    parts = [_row_bytes(part) for _, part in (*tensors_in(inputs), ("targets", targets))]
    digests = np.zeros((len(targets), SIZE), dtype=np.uint8)
    for row in keep.nonzero()[:, 0].tolist():
        digest = hashlib.blake2b(key=key, digest_size=SIZE)
        for part in parts:
            digest.update(part[row].tobytes())
        digests[row] = np.frombuffer(digest.digest(), dtype=np.uint8)
    return torch.from_numpy(digests)


def form_of(inputs: Inputs, targets: Tensor) -> dict[str, str]:
    """What a record looks like, by field: shape and type."""
    named = (*tensors_in(inputs), ("targets", targets))
    return {name: f"{tuple(part.shape[1:])} {part.dtype}" for name, part in named}


def tensor_sha256(*tensors: Tensor) -> str:
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _row_bytes(part: Tensor) -> np.ndarray:
    """The bytes of each row: (rows, bytes of one)."""
    rows = part.contiguous().reshape(len(part), part[0].numel())
    return rows.view(torch.uint8).numpy()


def describe_loss(loss: NetworkLoss) -> dict[str, Any]:
    """Describe a loss by its name, its plain options and a hash of every tensor."""
    if not isinstance(loss, nn.Module):
        return {"name": getattr(loss, "__name__", type(loss).__name__)}
    options = {n: v for n, v in vars(loss).items() if type(v) in PLAIN and not n.startswith("_")}
    tensors = {name: tensor_sha256(value) for name, value in loss.named_buffers()}
    return {"name": type(loss).__name__, **options, **tensors, "training": None}
