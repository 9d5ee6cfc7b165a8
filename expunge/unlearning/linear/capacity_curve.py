"""What the capacity of noisy learning costs, and where it is given: the share to be forgotten.

The noise that a model carries from the start grows with how many records may ever ask. The curve
is rehearsed on public records, beside the public-only model, which costs nothing: a capacity whose
model is no better than that bought nothing.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from typing import Any

from expunge.core.checks import share
from expunge.errors import InvalidInput, Refused
from expunge.unlearning.course import records_of_capacity
from expunge.unlearning.linear.langevin import Langevin
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.linear.rehearsal import Rehearsal

__all__ = [
    "CAPACITIES",
    "CapacityCurve",
    "CapacityPoint",
    "check_own_capacity",
    "draw_curve",
    "with_capacity",
]

CAPACITIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)


@dataclass(frozen=True)
class CapacityPoint:
    """A capacity, and the score of models with the noise that it needs.

    Args:
        capacity: Share of the private records.
        records: As many of them.
        sigma: The least that honours it.
        score: On public records that were held out.
    """

    capacity: float
    records: int
    sigma: float
    score: float


@dataclass(frozen=True)
class CapacityCurve:
    """Scores against capacity, on public records alone.

    Args:
        measure: "accuracy" or "R2".
        constant: The score of the most frequent label, or of the mean.
        public_only: The score of the model that public records alone make, without noise.
    """

    measure: str
    constant: float
    public_only: float
    points: tuple[CapacityPoint, ...]

    def document(self) -> dict[str, Any]:
        """The curve in values that JSON can hold."""
        return asdict(self)


def draw_curve(
    job: LinearJob, strategy: Langevin, capacities: Sequence[float] = CAPACITIES
) -> CapacityCurve:
    """The curve of a job, at these capacities; those that name as many records are drawn once.

    Raises:
        InvalidInput: a capacity is no share; too few public records; no noise honours any of them.
    """
    rehearsal = Rehearsal.of(job)
    noise = _sigmas(job, strategy, capacities)
    if not noise:
        raise InvalidInput("capacity", "no noise honours any of these capacities")
    scores = rehearsal.noisy(strategy, [sigma for _, _, sigma in noise])
    return CapacityCurve(
        measure=rehearsal.measure,
        constant=rehearsal.constant,
        public_only=rehearsal.public_only,
        points=tuple(
            CapacityPoint(*known, score) for known, score in zip(noise, scores, strict=True)
        ),
    )


def _sigmas(
    job: LinearJob, strategy: Langevin, capacities: Sequence[float]
) -> list[tuple[float, int, float]]:
    """(capacity, records, sigma), in order."""
    if isinstance(capacities, str | bytes) or not hasattr(capacities, "__iter__"):
        raise InvalidInput("capacities", "must be a list of shares of the private records")
    noise: dict[int, tuple[float, int, float]] = {}
    for capacity in sorted(float(share("capacity", each)) for each in capacities):
        records = records_of_capacity(capacity, job.roster)
        if records in noise:
            continue
        try:
            sigma = replace(strategy, capacity=capacity, sigma=None).chosen_sigma(job)
        except Refused:
            continue
        noise[records] = (capacity, records, sigma)
    return list(noise.values())


def with_capacity(strategy: Any, capacity: float | None) -> Any:
    """A strategy that was only named, with this capacity if its noise depends on one."""
    if capacity is None or not (is_dataclass(strategy) and hasattr(strategy, "capacity")):
        return strategy
    return replace(strategy, capacity=capacity)  # pyright: ignore[reportArgumentType]


def check_own_capacity(strategy: Any, capacity: float | None) -> None:
    """Check that a capacity is given in one place.

    Raises:
        InvalidInput: beside a strategy's record, which has its own.
    """
    if capacity is not None and hasattr(strategy, "capacity"):
        kind = type(strategy).__name__
        problem = f"is given beside {kind}(...), which has its own; write {kind}(capacity=...)"
        raise InvalidInput("capacity", problem)
