"""Which records a step sees: a fixed cyclic partition, or Poisson sampling, each by id.

A record's batch, or whether a step draws it, depends on its own key, the batch seed and the step
alone. Retraining without some records therefore draws all others exactly as before: the forgotten
are masked, never replaced, and nothing is reshuffled (THEORY 2.5). The batch seed is public and is
not the noise's.
"""

import hashlib
from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from expunge.core.randomness import keyed_uniform

__all__ = ["cyclic_partition", "keys_of", "poisson_draw"]


def keys_of(ids: Iterable[object]) -> Tensor:
    """A 64-bit key for each id: the first bytes of its hash."""
    words = bytearray()
    for id_ in ids:
        words += hashlib.sha256(repr(id_).encode()).digest()[:8]
    return torch.from_numpy(np.frombuffer(words, dtype=np.int64))


def cyclic_partition(keys: Tensor, batches: int, seed: int) -> Tensor:
    """The batch of each record, 0..batches-1; sizes vary, as ids do."""
    return (keyed_uniform(keys, seed, 0) * batches).long()


def poisson_draw(keys: Tensor, rate: float, seed: int, step: int) -> Tensor:
    """Whether this step draws each record: independently, with probability `rate`."""
    return keyed_uniform(keys, seed, step + 1) < rate
