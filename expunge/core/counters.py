"""Random numbers by position: draw i of a stream is a function of (key, i) and of nothing else.

    word(i) = mix(key + (i + 1) * 0x9E3779B97F4A7C15)  mod 2^64

with SplitMix64's `mix` (Steele, Lea and Flood 2014; Stafford's variant 13). However models are
spread over blocks, processes or devices, each receives the same numbers bit for bit. Two normals
come from one word by Box-Muller on its halves,

    radius = sqrt(-2 ln(|v| / 2^31)), v the low half with its last bit set; v's sign is a half turn
    angle  = (pi/2) (w / 2^31),       w the high half: (z_1, z_2) = radius (cos, sin)(angle)

in single precision, by polynomials whose operations are rounded one by one: additions, products
and roots that every IEEE machine rounds alike. The polynomial's error in the squared radius is
below 4e-7, in sine and cosine below 1e-8 (before rounding); |z| < 6.6. For seeded experiments,
never for what is released.
"""

import hashlib
import math

import numpy as np
import torch
from torch import Tensor

__all__ = [
    "COSINE",
    "LOG",
    "OCTAVE",
    "SINE",
    "half",
    "normals",
    "permutations",
    "stream",
    "uniforms",
    "words",
]

WEYL, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
PIECE = 2**19  # words at a time: what is worked on stays in the cache

# Minimax on [1, 2):  -2 ln(m) + 2 ln(2) (m - 1)  in powers of m - 3/2; on [-1, 1]:
# sin(pi x / 2) / x  and  cos(pi x / 2) / (1 - x^2)  in powers of x^2; rounded to single precision.
LOG = (
    -0.11778340488672256, 0.05296285077929497, 0.44449079036712646, -0.1976097673177719,
    0.09785798192024231, -0.051724545657634735, 0.03482839837670326, -0.020967934280633926,
)  # fmt: skip
SINE = (
    1.5707963705062866, -0.6459637880325317, 0.07968992739915848, -0.004674157593399286,
    0.00015167852689046413,
)  # fmt: skip
COSINE = (
    1.0, -0.23370049893856049, 0.019968606531620026, -0.0008935362566262484,
    2.360101461817976e-05,
)  # fmt: skip
OCTAVE = -2 * math.log(2) * 2.0**-23


def stream(seed: int, *labels: object) -> int:
    """The key of a stream: a signed 64-bit word, different for every seed and label."""
    text = " ".join(map(str, ("stream", seed, *labels)))
    return _signed(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))


def words(key: int, first: int, count: int, device: torch.device | str = "cpu") -> Tensor:
    """64-bit words number first..first+count-1 of a stream: (count,) int64."""
    x = torch.arange(first + 1, first + 1 + count, device=device)
    x.mul_(_signed(WEYL)).add_(key)
    shifted = torch.empty_like(x)
    for shift, multiplier in ((30, FIRST), (27, SECOND), (31, None)):
        torch.bitwise_right_shift(x, shift, out=shifted)
        x.bitwise_xor_(shifted.bitwise_and_(2 ** (64 - shift) - 1))  # a logical shift
        if multiplier is not None:
            x.mul_(_signed(multiplier))
    return x


def half(count: int) -> int:
    """Words that `count` normals of one model take: z[j] and z[j + half] share word j."""
    return -(-count // 2)


def normals(
    key: int, first: int, models: int, count: int, device: torch.device | str = "cpu"
) -> Tensor:
    """Standard normals of models first..first+models-1: (models, count) float32.

    In passes of torch; `sampling/updates` draws the same bits by compiled loops.
    """
    pairs = half(count)
    out = torch.empty(models, 2, pairs, dtype=torch.float32, device=device)
    group = max(1, PIECE // pairs)
    for start in range(0, models, group):
        part = out[start : start + group]
        drawn = words(key, (first + start) * pairs, len(part) * pairs, device)
        _box_muller(drawn.view(len(part), pairs), part)
    return out.view(models, 2 * pairs)[:, :count]


def uniforms(
    key: int, first: int, models: int, count: int, device: torch.device | str = "cpu"
) -> Tensor:
    """Uniforms on (-1, 1), odd multiples of 2^-24: (models, count) float32."""
    drawn = words(key, first * count, models * count, device)
    odd = (drawn >> 40).mul_(2).add_(1)  # 24 bits with their sign
    return odd.to(torch.float32).mul_(2.0**-24).view(models, count)


def permutations(key: int, first: int, rows: int, present: Tensor) -> Tensor:
    """Permutations number first..first+rows-1 of the items present: sorted by their words.

    An item's word does not depend on which others are present. A stream's words are all
    different, so that no tie depends on how a device sorts.
    """
    count = len(present)
    drawn = words(key, first * count, rows * count, present.device).view(rows, count)
    drawn.masked_fill_(~present, torch.iinfo(torch.int64).max)  # last
    return drawn.argsort(dim=1)[:, : int(present.sum())]


def _box_muller(drawn: Tensor, out: Tensor) -> None:
    """Words (models, pairs) to normals (models, 2, pairs); every line rounds once an element."""
    cosine, sine = out[:, 0], out[:, 1]
    signed = drawn.to(torch.int32).bitwise_or_(1).to(torch.float32)
    bits = signed.view(torch.int32) & 0x7FFFFFFF
    mantissa = (bits & 0x007FFFFF).bitwise_or_(0x3F800000).view(torch.float32).sub_(1.5)
    bits.sub_(0x4F000000)  # of 2^31: exponent and mantissa of |v|/2^31 in units of 2^-23
    _polynomial(LOG, mantissa, out=sine)
    radius = _root_(cosine.copy_(bits).mul_(OCTAVE).add_(sine).clamp_min_(0))
    torch.copysign(radius, signed, out=signed)
    turn = mantissa.copy_((drawn >> 32).to(torch.int32)).mul_(2.0**-31)
    square = torch.mul(turn, turn, out=bits.view(torch.float32))
    _polynomial(COSINE, square, out=cosine)
    _polynomial(SINE, square, out=sine).mul_(turn).mul_(signed)
    cosine.mul_(square.neg_().add_(1)).mul_(signed)


def _polynomial(coefficients: tuple[float, ...], at: Tensor, out: Tensor) -> Tensor:
    """Horner's rule; product and sum are separate operations, never contracted."""
    torch.mul(at, coefficients[-1], out=out)
    for coefficient in coefficients[-2:0:-1]:
        out.add_(coefficient).mul_(at)
    return out.add_(coefficients[0])


def _root_(x: Tensor) -> Tensor:
    """Square root in place, correctly rounded: on a CPU torch's own may be off by one bit."""
    if x.device.type == "cpu":
        np.sqrt(x.numpy(), out=x.numpy())
        return x
    return x.sqrt_()


def _signed(value: int) -> int:
    """The number as a signed 64-bit word, the way torch wraps."""
    return (value + 2**63) % 2**64 - 2**63
