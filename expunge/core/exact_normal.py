"""Rounded normal numbers, exactly: whole numbers that follow round(N(0, std^2)), not nearly so.

    k >= 0 with probability proportional to exp(-k^2/2),  x uniform in (0, 1)
    keep k + x with probability exp(-x (2 k + x)/2);  its sign is a coin;  round(std (k + x))

Karney (2016, arXiv:1303.6257v2), Algorithm N, with its steps N1 and N2 as one comparison. A uniform
number is an endless row of binary digits of which only the leading ones are drawn. Whole numbers
are compared, nothing is rounded: where two numbers agree in every digit drawn so far, further
digits of both decide. The only thing taken for granted is that the source's bits are fair.
"""

import math
import os
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import accumulate, count

import numpy as np

__all__ = [
    "Tape",
    "even_runs",
    "kept_candidates",
    "limits_of_k",
    "rounded_normals",
    "rounded_to_wholes",
]

Source = Callable[[int], bytes]
DIGITS = 64  # drawn at once
BATCH = 1 << 16  # numbers at once, at most
KEPT = 0.714  # of candidates, a little less than the exact share sqrt(pi/2)/sum exp(-k^2/2)


def rounded_normals(
    numbers: int, std: float, source: Source | None = None, digits: int = DIGITS
) -> np.ndarray:
    """So many independent draws of round(N(0, std^2)): (numbers,) whole ones as float64.

    A number beyond 2^53 is the nearest float64.

    Args:
        source: So many fresh random bytes; None is for the operating system's.
        digits: How many binary digits of a uniform number are drawn at once, 64 at most; the law
            of what comes back is the same for any.
    """
    drawn: list[int] = []
    while len(drawn) < numbers:
        wanted = min(BATCH, numbers - len(drawn))
        tape = Tape(source or os.urandom, digits)
        whole, part = kept_candidates(tape, math.ceil(wanted / KEPT + 4 * math.sqrt(wanted)) + 8)
        drawn += rounded_to_wholes(whole[:wanted], part[:wanted], tape, std)
    return np.array(drawn, dtype=np.float64)


class _Tied(Exception):
    """Two numbers agree in all digits drawn so far."""


class Tape:
    """Uniform numbers by their leading digits; from the beginning again, with more, once tied."""

    def __init__(self, source: Source, digits: int) -> None:
        self.source, self.step, self.digits = source, digits, digits
        self._drawn: list[np.ndarray] = []
        self._read = 0

    def uniforms(self, count: int) -> np.ndarray:
        """The next numbers: of u the floor of 2^digits u."""
        if self._read == len(self._drawn):
            self._drawn.append(self._fresh(count))
            for _ in range(self.step, self.digits, self.step):
                self._drawn[-1] = self._longer(self._drawn[-1])
        self._read += 1
        return self._drawn[self._read - 1]

    def again(self) -> None:
        """Go back to the first number, with more digits of all."""
        self._drawn, self._read = [self._longer(each) for each in self._drawn], 0
        self.digits += self.step

    def less(self, these: np.ndarray, those: np.ndarray) -> np.ndarray:
        """Whether each of these numbers is below that one.

        Raises:
            _Tied: their digits do not tell.
        """
        if (these == those).any():
            raise _Tied
        return these < those

    def numbers(self, values: list[int]) -> np.ndarray:
        """Leading digits that are known, to be compared with those of uniform numbers."""
        return np.array(values, dtype=np.uint64 if self.digits == self.step else object)

    def coins(self, count: int) -> list[int]:
        """Fresh bits."""
        return (np.frombuffer(self.source(count), np.uint8) & 1).tolist()

    def longer(self, value: int) -> int:
        """One number's leading digits, and fresh ones."""
        return value << self.step | int(self._fresh(1)[0])

    def _fresh(self, count: int) -> np.ndarray:
        return np.frombuffer(self.source(8 * count), np.uint64) >> np.uint64(64 - self.step)

    def _longer(self, values: np.ndarray) -> np.ndarray:
        return values.astype(object) << self.step | self._fresh(len(values)).astype(object)


def kept_candidates(tape: Tape, candidates: int) -> tuple[np.ndarray, np.ndarray]:
    """The candidates that are kept: k and the digits of x of each."""
    while True:
        try:
            return _tried(tape, candidates)
        except _Tied:
            tape.again()


def _tried(tape: Tape, candidates: int) -> tuple[np.ndarray, np.ndarray]:
    """One run of the algorithm on the tape.

    Raises:
        _Tied: two numbers agree in all digits drawn so far.
    """
    limits, chosen = tape.numbers(limits_of_k(tape.digits)), tape.uniforms(candidates)
    whole = np.searchsorted(limits, chosen)  # the last limit is the largest number there is
    tape.less(chosen, limits[whole])
    part = tape.uniforms(candidates)
    trials = np.repeat(np.arange(candidates), whole + 1)  # k + 1 coins for each candidate
    kept = np.ones(candidates, dtype=bool)
    kept[trials[~even_runs(tape, whole[trials], part[trials])]] = False
    return whole[kept], part[kept]


def even_runs(tape: Tape, whole: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Coins that show True with probability exp(-x (2 k + x)/(2 k + 2)): Karney's Algorithm B.

    Of a run x > u_1 > u_2 > ..., each step kept with probability (2 k + x)/(2 k + 2), n steps are
    there with probability (x (2 k + x)/(2 k + 2))^n/n!; its length is even with the sum of these
    with alternating signs.
    """
    sides = range(1, int(whole.max(initial=0)) + 2)  # k + 1
    sure = tape.numbers([((k - 1) << tape.digits) // k for k in sides])  # 2 k of 2 k + 2
    also = tape.numbers([((2 * k - 1) << tape.digits) // (2 * k) for k in sides])
    length, last = np.zeros(len(whole), dtype=np.int64), part.copy()
    running = np.arange(len(whole))
    while len(running):
        below = tape.uniforms(len(running))
        longer = tape.less(below, last[running])
        running, below = running[longer], below[longer]
        die, k = tape.uniforms(len(running)), whole[running]
        kept = tape.less(die, sure[k])
        open_ = np.flatnonzero(tape.less(die, also[k]) & ~kept)
        kept[open_] = tape.less(tape.uniforms(len(open_)), part[running[open_]])
        running = running[kept]
        last[running] = below[kept]
        length[running] += 1
    return length % 2 == 0


def rounded_to_wholes(whole: np.ndarray, part: np.ndarray, tape: Tape, std: float) -> list[int]:
    """+-round(std (k + x)), as many further digits of x drawn as that needs."""
    numerator, denominator = float(std).as_integer_ratio()  # the second is a power of two
    signs, rounded = tape.coins(len(whole)), []
    for k, x, negative in zip(whole.tolist(), part.tolist(), signs, strict=True):
        value, digits = k << tape.digits | x, tape.digits
        while True:
            places = denominator.bit_length() + digits
            least = 2 * numerator * value + (1 << places - 1)
            nearest = least >> places
            if least + 2 * numerator >> places == nearest:
                break
            value, digits = tape.longer(value), digits + tape.step
        rounded.append(-nearest if negative else nearest)
    return rounded


@cache
def limits_of_k(digits: int) -> list[int]:
    """floor(2^digits P(at most k)) for k = 0, 1, ... until it is the largest number there is."""
    guard, largest = 64, (1 << digits) - 1
    while True:
        low, high = (_weights(digits + guard, up=up) for up in (False, True))
        least = [(each << digits) // (sum(high) + 2) for each in accumulate(low)]  # 2 for the rest
        least = least[: least.index(largest) + 1]
        if least == [(each << digits) // sum(low) for each in accumulate(high)][: len(least)]:
            return least
        guard *= 2


def _weights(places: int, *, up: bool) -> list[int]:
    """2^places exp(-k^2/2) for k = 0, 1, ... down to below 1, rounded down or up.

    By powers of exp(-1/2), which lies between sums of its alternating series.
    """
    term = partial_sum = Fraction(1)
    for n in count(1):
        term /= -2 * n
        partial_sum += term
        if (n % 2 == 0) == up and abs(term) < Fraction(1, 1 << places):
            break
    root = math.ceil(partial_sum * (1 << places)) if up else math.floor(partial_sum * (1 << places))
    weight, weights, one = 1 << places, [], 1 << places
    for k in range(math.isqrt(2 * places) + 3):
        weights.append(weight)
        for _ in range(2 * k + 1):
            weight = (weight * root + (one - 1) * up) >> places
    return weights
