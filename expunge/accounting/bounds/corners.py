"""From a taut string to its witness: the edges as whole numbers, repetitions written once.

Every step of a climb is an edge; in an expanding cycle the edges repeat with its epochs, up to
millions of times. What repeats within equal steps, or in whole epochs of a cycle, is written as
(k, (n, ...)), so that a witness is short where its history is (THEORY 7).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby

from expunge.accounting.bounds.taut_string import String
from expunge.accounting.moduli import Cycle, Part, Run, total_steps
from expunge.accounting.witness import Edge, Stretch

__all__ = ["touching_points"]


def touching_points(
    string: String, parts: Sequence[Part], lines: Sequence[tuple[int, int]], before: int
) -> Stretch:
    """The witness of a string.

    Args:
        parts: The steps that it was pulled over.
        lines: Which line of its modulus each step uses; empty if there is one only.
        before: Leading steps before the chains part, which a witness does not count.
    """
    start, edges = string.start, string.edges()
    if start is None:
        edges = _drop_first(edges, before)
    written = _compress(edges, parts, before if start is None else start, in_cycles=not lines)
    return Stretch(
        None if start is None else start - before,
        tuple(_drop_first(lines, before)),
        tuple(written),
    )


def _drop_first(counted: Iterable[tuple[int, int]], steps: int) -> Iterator[tuple[int, int]]:
    """All but the first `steps` steps. Those before the chains part are never edges of a climb."""
    for n, other in counted:
        dropped = min(n, steps)
        steps -= dropped
        if n > dropped:
            yield n - dropped, other


def _compress(
    edges: Iterable[tuple[int, int]], parts: Sequence[Part], at: int, *, in_cycles: bool
) -> Iterator[Edge]:
    """The edges from step `at` on, given as (length, number), with what repeats written once.

    Args:
        in_cycles: Whether edges may be written as repeated epochs; not where the lines of a
            modulus change within them.
    """
    for part, group in groupby(_place(edges, parts, at), key=lambda placed: placed[0]):
        if part is not None and isinstance(parts[part], Run):
            yield from (n if count == 1 else (count, (n,)) for _, n, count in group)
            continue
        lengths = [n for _, n, count in group for _ in range(count)]
        cycle = None if part is None else parts[part]
        if isinstance(cycle, Cycle) and in_cycles:
            yield from _repeat_epochs(lengths, sum(run.steps for run in cycle.runs))
        else:
            yield from lengths


def _place(
    edges: Iterable[tuple[int, int]], parts: Sequence[Part], at: int
) -> Iterator[tuple[int | None, int, int]]:
    """Each edge with the number of the part that it lies in; None if it lies in several."""
    ends, index = list(accumulate(map(total_steps, parts))), 0
    for length, count in edges:
        while ends[index] <= at:
            index += 1
        at += length * count
        yield (index if at <= ends[index] else None), length, count


def _repeat_epochs(lengths: Sequence[int], epoch: int) -> Iterator[Edge]:
    """The edges with equal epochs in a row written once."""
    first = last = total = 0  # the edges first <= i < last have `total` steps
    while first < len(lengths):
        while last < len(lengths) and total < epoch:
            total, last = total + lengths[last], last + 1
        size, times = last - first, 1
        pattern = lengths[first:last]
        if total == epoch:
            while lengths[first + times * size : last + times * size] == pattern:
                times += 1
        if times > 1:
            yield (times, tuple(pattern))
            first = last = first + times * size
            total = 0
        else:
            yield lengths[first]
            total, first = total - lengths[first], first + 1
