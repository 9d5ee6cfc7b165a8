"""The shift bound in exact fractions, step by step: what a partition into edges costs.

Nothing here shares code with the library. Edges end with z = 0; their shifts are a_k = lam w_k v_k.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

__all__ = ["Cost", "Exact", "cost", "least_cost", "partitions"]

INFINITE = Fraction(10) ** 400


class Exact(NamedTuple):
    """One step: distances go from z to c z + s, then noise of variance v is added."""

    c: Fraction
    s: Fraction
    v: Fraction


class Cost(NamedTuple):
    """mu^2 of the shifts, and whether no z is negative on the way."""

    squared: Fraction
    feasible: bool


def partitions(count: int) -> Iterator[tuple[int, ...]]:
    """Every way to cut so many steps into edges."""
    if count == 0:
        yield ()
    for first in range(1, count + 1):
        for rest in partitions(count - first):
            yield (first, *rest)


def cost(steps: Sequence[Exact], edges: Sequence[int], start: Fraction = Fraction(0)) -> Cost:
    """What the shifts of these edges cost, from a distance `start` on."""
    total, feasible, first = Fraction(0), True, 0
    assert sum(edges) == len(steps)
    for length in edges:
        edge = _edge(steps[first : first + length], start)
        total, feasible = total + edge.squared, feasible and edge.feasible
        first, start = first + length, Fraction(0)
    return Cost(min(total, INFINITE), feasible and start == 0)


def _edge(steps: Sequence[Exact], start: Fraction) -> Cost:
    weights = [Fraction(1)]
    for step in reversed(steps[1:]):
        weights.append(weights[-1] * step.c)
    weights.reverse()  # w_k, the product of the factors after step k
    distance = weights[0] * steps[0].c * start
    S = distance + sum(w * step.s for w, step in zip(weights, steps, strict=True))
    V = sum((w * w * step.v for w, step in zip(weights, steps, strict=True)), Fraction(0))
    if S == 0:
        return Cost(Fraction(0), feasible=True)
    if V == 0:
        return Cost(INFINITE, feasible=False)
    z, feasible, spent = start, True, Fraction(0)
    for w, step in zip(weights, steps, strict=True):
        shift = S / V * w * step.v
        z = step.c * z + step.s - shift
        feasible = feasible and z >= 0
        spent += shift**2 / step.v if step.v else 0
    assert z == 0
    assert spent == S**2 / V
    return Cost(spent, feasible)


def least_cost(steps: Sequence[Exact], start: Fraction = Fraction(0)) -> Fraction:
    """The least mu^2 of all feasible partitions: the optimum, because its edges are one of them."""
    costs = [cost(steps, edges, start) for edges in partitions(len(steps))]
    return min((c.squared for c in costs if c.feasible), default=INFINITE)
