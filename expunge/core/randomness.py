"""Where randomness comes from: the operating system, or a seed for experiments only.

Noise that can be replayed can be subtracted, so operating-system noise has no seed: every normal
comes from its own 128 fresh bits through the inverse distribution function, with full relative
precision in both tails. Streams for noise, initial points and batches are disjoint.
"""

import hashlib
import os
from collections.abc import Callable

import numpy as np
import torch
from scipy.special import ndtri
from torch import Generator, Tensor

__all__ = ["NORMAL_ERROR", "keyed_uniform", "normal_source"]

NORMAL_ERROR = 2e-14  # of one normal from the system: the inverse's relative error times |z| < 12


def normal_source(seed: int | None, stream: str = "noise") -> Callable[[Tensor], Tensor]:
    """A function that draws standard normal noise of its argument's shape, fresh at every call."""
    if seed is None:
        return _from_the_system
    digest = hashlib.sha256(f"{stream} {seed}".encode()).digest()
    generator = Generator().manual_seed(int.from_bytes(digest[:7], "big"))

    def draw(like: Tensor) -> Tensor:
        return torch.randn(like.shape, generator=generator, dtype=like.dtype)

    return draw


def _from_the_system(like: Tensor) -> Tensor:
    """+-Phi^-1(u/2), u uniform in (0, 1) with 52 bits after its leading one."""
    bits = np.frombuffer(os.urandom(16 * like.numel()), dtype=np.uint64).reshape(2, -1)
    mantissa = 1 + (bits[0] >> np.uint64(12)).astype(np.float64) * 2.0**-52
    _, leading = np.frexp((bits[1] >> np.uint64(11)).astype(np.float64))  # 53 - leading zeros
    tail = np.ldexp(mantissa, leading - 54)
    normal = ndtri(tail / 2) * np.where(bits[0] & np.uint64(1), 1.0, -1.0)
    return torch.from_numpy(normal).reshape(like.shape).to(like.dtype)


def keyed_uniform(keys: Tensor, seed: int, step: int) -> Tensor:
    """A uniform in [0, 1) for each (seed, key, step), independent of every other key present.

    splitmix64 on 64-bit words, the key first and then seed and step: whether a record is drawn
    depends on its own key only, so retraining without some records draws the others exactly as
    before (THEORY 2.5).
    """
    word = int.from_bytes(hashlib.sha256(f"{seed} {step}".encode()).digest()[:8], "big")
    mixed = _splitmix(_splitmix(keys.to(torch.int64)) + _word(word))
    return (mixed >> 11 & (2**53 - 1)).double() * 2.0**-53


def _splitmix(x: Tensor) -> Tensor:
    x = x + _word(0x9E3779B97F4A7C15)
    for multiplier in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        x = (x ^ (x >> 30 & (2**34 - 1))) * _word(multiplier)
    return x ^ (x >> 31 & (2**33 - 1))


def _word(value: int) -> int:
    """The number as a signed 64-bit word, the way torch wraps."""
    return (value + 2**63) % 2**64 - 2**63
