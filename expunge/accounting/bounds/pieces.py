"""Which line of its modulus each step of a clipped smooth loss uses.

    g(z) = min(clipped line, smooth line), each c z + s                (THEORY 2.2 and 2.4)

Any line for any step gives a valid bound, so that a search may stop anywhere: it only decides
how small the bound gets. The smooth line is the lower one for small distances, the clipped one
for large ones. Within a run of equal steps the distance rises and then falls, so the clipped
steps are taken as one interval of the run; in a list of more than 64 runs, of a group of
consecutive runs. The search starts with all steps smooth, with all clipped, with the runs on
different data one way and the others the other way, and with all groups up to some point one
way and the rest the other way; then it improves one group after another.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import NamedTuple

from expunge.accounting.moduli import Run
from expunge.accounting.search import least_of_valley

__all__ = ["CLIPPED", "SMOOTH", "Pieces", "least_over_pieces"]

MOST_GROUPS = 64
MOST_DESCENTS = 5  # starts that are improved
MOST_TURNS = 16  # places in the list where a start turns from one line to the other
ENOUGH = 1e-12  # relative gain below which a change is none

Interval = tuple[int, int]  # the steps first <= k < last of a group are clipped
Choice = tuple[Interval, ...]
CLIPPED, SMOOTH = 0, 1  # the two lines of a modulus


class Pieces(NamedTuple):
    """A choice of lines: the runs that it leaves, their mu, and (steps, line) in order."""

    mu: float
    runs: list[Run]
    lines: list[tuple[int, int]]


def least_over_pieces(
    runs: Sequence[Run], mu: Callable[[Sequence[Run]], float], *, most_runs: int
) -> Pieces:
    """The choice of the least mu that the search finds.

    Args:
        mu: Gives mu of a list of runs, each with its line.
        most_runs: How many runs are pulled in all before the search stops where it is.
    """
    search = _Search(_group_runs(runs), mu, most_runs)
    starts = [(search.value(start), start) for start in search.first_starts()]
    try:
        starts += [(search.spend(start), start) for start in search.turning_starts()]
        for _, start in sorted(set(starts))[:MOST_DESCENTS]:
            search.descend(start)
    except _SpentError:
        pass
    cut = list(search.cut(search.best))
    same = groupby(cut, key=lambda piece: piece[1])
    lines = [(sum(run.steps for run, _ in pieces), line) for line, pieces in same]
    return Pieces(search.least, [run for run, _ in cut], lines)


class _SpentError(Exception):
    """The search has pulled as many runs as it may."""


@dataclass
class _Search:
    """What has been tried, what it gave, and how many more runs may be pulled."""

    groups: list[list[Run]]
    mu: Callable[[Sequence[Run]], float]
    left: int
    least: float = math.inf
    best: Choice = ()
    known: dict[Choice, float] = field(default_factory=dict)
    totals: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.totals = [sum(run.steps for run in group) for group in self.groups]

    def value(self, choice: Choice) -> float:
        """mu of one choice, pulled once; the least is remembered."""
        if choice in self.known:
            return self.known[choice]
        runs = [run for run, _ in self.cut(choice)]
        self.left -= len(runs)
        self.known[choice] = mu = self.mu(runs)
        if mu < self.least or not self.best:
            self.least, self.best = mu, choice
        return mu

    def cut(self, choice: Choice) -> Iterator[tuple[Run, int]]:
        """The runs of one choice, each with its line."""
        for group, interval in zip(self.groups, choice, strict=True):
            yield from _cut(group, interval)

    def spend(self, choice: Choice) -> float:
        """mu of one choice, while there are runs left to pull.

        Raises:
            _SpentError: nothing is left to spend.
        """
        if self.left <= 0:
            raise _SpentError
        return self.value(choice)

    def first_starts(self) -> Iterator[Choice]:
        """All smooth, all clipped, and one way where data differ with the other elsewhere."""
        differs = [any(run.differs for run in group) for group in self.groups]
        for there in (False, True):
            for elsewhere in (False, True):
                yield self._whole([there if differ else elsewhere for differ in differs])

    def turning_starts(self) -> Iterator[Choice]:
        count = len(self.groups)
        for turn in sorted({round(count * i / MOST_TURNS) for i in range(1, MOST_TURNS)}):
            for first in (False, True):
                yield self._whole([first == (i < turn) for i in range(count)])

    def _whole(self, clipped: Sequence[bool]) -> Choice:
        return tuple((0, n if c else 0) for c, n in zip(clipped, self.totals, strict=True))

    def descend(self, choice: Choice) -> None:
        """Improve one group after another, whole groups before parts of them."""
        value = self.spend(choice)
        for candidates in (self._flips, self._end_moves):
            before = math.inf
            while value < before * (1 - ENOUGH):
                before = value
                for i in range(len(self.groups)):
                    value, choice = min((value, choice), *candidates(choice, i))

    def _flips(self, choice: Choice, i: int) -> list[tuple[float, Choice]]:
        """The whole group smooth, or the whole group clipped."""
        ends = (_with(choice, i, (0, end)) for end in (0, self.totals[i]))
        return [(self.spend(other), other) for other in ends if other != choice]

    def _end_moves(self, choice: Choice, i: int) -> list[tuple[float, Choice]]:
        """One end of the clipped interval moved, the other kept or at the group's end."""
        (first, last), total = choice[i], self.totals[i]
        intervals: list[tuple[Callable[[int], Interval], int]] = [
            *((lambda x, end=end: (x, end), end) for end in {last, total}),
            *((lambda x, end=end: (end, end + x), total - end) for end in {first, 0}),
        ]
        moved = []
        for interval, most in intervals:
            mu, at = least_of_valley(
                lambda x, interval=interval: self.spend(_with(choice, i, interval(x))), most
            )
            moved.append((mu, _with(choice, i, interval(at))))
        return moved


def _with(choice: Choice, i: int, interval: Interval) -> Choice:
    return (*choice[:i], interval, *choice[i + 1 :])


def _group_runs(runs: Sequence[Run]) -> list[list[Run]]:
    """At most 64 groups of consecutive runs, of nearly equal length."""
    count = min(len(runs), MOST_GROUPS)
    ends = [round(len(runs) * i / count) for i in range(count + 1)]
    return [list(runs[a:b]) for a, b in pairwise(ends)]


def _cut(group: Sequence[Run], interval: Interval) -> Iterator[tuple[Run, int]]:
    """The group's runs with their lines, each in at most three pieces: smooth, clipped, smooth."""
    start = 0
    for run in group:
        first, last = (min(max(end - start, 0), run.steps) for end in interval)
        start += run.steps
        smooth = (run if run.smooth is None else run.smooth, SMOOTH)
        lines = ((smooth, first), ((run, CLIPPED), last - first), (smooth, run.steps - last))
        yield from ((replace(r, steps=n, smooth=None), line) for (r, line), n in lines if n)
