"""What was run: the phases a model went through. Records describe, functions judge.

A phase is a run of identical steps

    theta <- Proj( theta - eta * grad L(theta) + N(0, 2 eta sigma^2 I) )

on `samples` records of which `forgotten` have since been deleted. Learning has
`forgotten` > 0; unlearning, on what remains, has 0. THEORY 2.5 to 2.8.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from expunge.accounting.number_checks import check_count, check_flag, check_number, check_positive
from expunge.errors import InvalidInput

__all__ = ["History", "Normaliser", "Phase", "Poisson", "learn_unlearn"]

Normaliser = Literal["mean", "fixed"]


@dataclass(frozen=True)
class Poisson:
    """Realised Poisson batches: `counts[k]` = (retained, forgotten) records in step k."""

    rate: float
    counts: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", check_positive("poisson.rate", self.rate))
        if self.rate > 1:
            raise InvalidInput("poisson.rate", "must be in (0, 1]")
        pairs = []
        for k, pair in enumerate(_items("poisson.counts", self.counts)):
            name, several = f"poisson.counts[{k}]", _items(f"poisson.counts[{k}]", pair)
            if len(several) != 2:
                raise InvalidInput(name, "must be a pair (retained, forgotten)")
            pairs.append((check_count(name, several[0]), check_count(name, several[1])))
        object.__setattr__(self, "counts", tuple(pairs))


@dataclass(frozen=True)
class Phase:
    """A run of identical steps.

    Args:
        steps: How many; at least 1 (no unlearning is no phase).
        step_size: eta.
        sigma: The paper's sigma; each step adds noise of std sqrt(2 eta) sigma.
        samples: Records in this phase, those since deleted included.
        forgotten: How many of these have since been deleted.
        released: Whether the observer also sees this phase's last model.
        rounding: Bound on one step's arithmetic error in Euclidean norm (THEORY 2.8).
        batches: Forgotten records in each batch of a fixed cyclic partition.
        batch_size: Size of every batch, or one for each; `History` holds them against
            `samples` and the normaliser.
        poisson: Realised Poisson batches, one pair of counts for each step.
    """

    steps: int
    step_size: float
    sigma: float
    samples: int
    forgotten: int = 0
    released: bool = False
    rounding: float = 0.0
    batches: tuple[int, ...] | None = None
    batch_size: int | tuple[int, ...] | None = None
    poisson: Poisson | None = None

    def __post_init__(self) -> None:
        for name, value in self._plain().items():
            object.__setattr__(self, name, value)
        if self.forgotten > self.samples:
            raise InvalidInput("forgotten", f"{self.forgotten} of {self.samples} samples")
        if self.forgotten == self.samples:
            raise InvalidInput("forgotten", "no record is retained, so there is no comparator")
        if self.batches is not None or self.batch_size is not None:
            self._check_batches()
        if self.poisson is not None:
            self._check_poisson(self.poisson)

    def _plain(self) -> dict[str, object]:
        """Counts and numbers by name, checked one by one."""
        return {
            "steps": check_count("steps", self.steps, least=1),
            "step_size": check_positive("step_size", self.step_size),
            "sigma": check_number("sigma", self.sigma),
            "rounding": check_number("rounding", self.rounding),
            "samples": check_count("samples", self.samples, least=1),
            "forgotten": check_count("forgotten", self.forgotten),
            "released": check_flag("released", self.released),
            "batches": _counts("batches", self.batches),
            "batch_size": _counts("batch_size", self.batch_size, single=True),
        }

    def _check_batches(self) -> None:
        if self.poisson is not None:
            raise InvalidInput("poisson", "a phase has cyclic batches or Poisson batches, not both")
        if self.batches is None or self.batch_size is None:
            missing = "batches" if self.batches is None else "batch_size"
            raise InvalidInput(missing, "batches and batch_size are given together")
        if not self.batches:
            raise InvalidInput("batches", "must not be empty")
        sizes = self.batch_sizes
        if len(sizes) != len(self.batches):
            raise InvalidInput("batch_size", f"{len(sizes)} sizes for {len(self.batches)} batches")
        for j, (forgotten, size) in enumerate(zip(self.batches, sizes, strict=True)):
            check_count("batch_size", size, least=1)
            if forgotten > size:
                raise InvalidInput(f"batches[{j}]", f"{forgotten} forgotten in a batch of {size}")
        if sum(self.batches) != self.forgotten:
            raise InvalidInput(
                "batches", f"sum to {sum(self.batches)}, but forgotten is {self.forgotten}"
            )

    def _check_poisson(self, poisson: Poisson) -> None:
        if not isinstance(poisson, Poisson):
            raise InvalidInput("poisson", "must be a Poisson record")
        if len(poisson.counts) != self.steps:
            raise InvalidInput(
                "poisson.counts", f"{len(poisson.counts)} pairs for {self.steps} steps"
            )
        available = (self.samples - self.forgotten, self.forgotten)
        for k, (retained, forgotten) in enumerate(poisson.counts):
            if retained > available[0] or forgotten > available[1]:
                raise InvalidInput(f"poisson.counts[{k}]", "more records than the phase has")
            if poisson.rate == 1 and (retained, forgotten) != available:
                raise InvalidInput(
                    f"poisson.counts[{k}]", f"at rate 1 every record is drawn, so it is {available}"
                )

    @property
    def noise_std(self) -> float:
        """sqrt(2 eta) sigma, the std that one step adds to each coordinate."""
        return math.sqrt(2 * self.step_size) * self.sigma

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """The size of each batch of a cyclic partition; empty without one."""
        if isinstance(self.batch_size, tuple):
            return self.batch_size
        return (self.batch_size or 0,) * len(self.batches or ())


@dataclass(frozen=True)
class History:
    """Phases in order, and what the summed gradient is divided by.

    The sizes of a cyclic phase's batches divide its gradients, so that a size above what the
    batch can hold would hide what is forgotten in it. Under `mean` the batches partition the
    phase's records: their sizes sum to `samples`. Under `fixed` they are the sizes of the
    original partition, which deletions leave as they are, with 1 for a batch that is empty:
    without the batches of size 1 that hold nothing forgotten they sum to at most
    `normaliser_count`, and all of them hold at least the phase's `samples` (THEORY 2.5, 2.6).

    Args:
        phases: At least one.
        normaliser: `mean` divides by the records present; `fixed` by one constant.
        normaliser_count: That constant; the first phase's samples by default.
    """

    phases: tuple[Phase, ...]
    normaliser: Normaliser = "mean"
    normaliser_count: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "phases", _items("phases", self.phases))
        for i, phase in enumerate(self.phases):
            if not isinstance(phase, Phase):
                raise InvalidInput(f"phases[{i}]", "must be a Phase record")
        if not self.phases:
            raise InvalidInput("phases", "must not be empty")
        if self.normaliser not in ("mean", "fixed"):
            raise InvalidInput("normaliser", "must be mean or fixed")
        if self.normaliser == "mean":
            self._check_means()
        else:
            self._check_fixed()

    def _check_means(self) -> None:
        if self.normaliser_count is not None:
            raise InvalidInput("normaliser_count", "only with the fixed normaliser")
        for i, phase in enumerate(self.phases):
            if phase.poisson is not None:
                raise InvalidInput(f"phases[{i}].poisson", "only with the fixed normaliser")
            held = sum(phase.batch_sizes)
            if phase.batches is not None and held != phase.samples:
                raise InvalidInput(
                    f"phases[{i}].batch_size",
                    f"the batches hold {held} records, but samples is {phase.samples}; "
                    "give each batch its own size",
                )

    def _check_fixed(self) -> None:
        if self.normaliser_count is None:
            object.__setattr__(self, "normaliser_count", self.phases[0].samples)
        count = check_count("normaliser_count", self.normaliser_count, least=1)
        object.__setattr__(self, "normaliser_count", count)
        for i, phase in enumerate(self.phases):
            if phase.samples > self.divisor:
                raise InvalidInput(
                    f"phases[{i}].samples",
                    f"{phase.samples} above the fixed normaliser's count {self.divisor}",
                )
            if phase.batches is not None:
                self._check_fixed_sizes(i, phase, phase.batches)

    def _check_fixed_sizes(self, i: int, phase: Phase, batches: Sequence[int]) -> None:
        sizes = phase.batch_sizes
        held = sum(b for b, f in zip(sizes, batches, strict=True) if b > 1 or f)
        if held > self.divisor:
            raise InvalidInput(
                f"phases[{i}].batch_size",
                f"the batches hold {held} records, above the fixed normaliser's count "
                f"{self.divisor}; give each batch its own size",
            )
        if sum(sizes) < phase.samples:
            raise InvalidInput(
                f"phases[{i}].batch_size",
                f"the batches hold {sum(sizes)} records, but samples is {phase.samples}",
            )

    @property
    def divisor(self) -> int:
        """The fixed normaliser's constant."""
        assert self.normaliser_count is not None
        return self.normaliser_count

    @property
    def forgets(self) -> bool:
        """Whether any phase saw a record that has since been deleted."""
        return any(phase.forgotten for phase in self.phases)

    @property
    def released_early(self) -> bool:
        """Whether the observer also sees a model from before the end."""
        return any(phase.released for phase in self.phases[:-1])

    @property
    def largest_samples(self) -> int:
        """The most records that any phase saw."""
        return max(phase.samples for phase in self.phases)


def learn_unlearn(
    *,
    learn_steps: int,
    unlearn_steps: int,
    step_size: float,
    sigma: float,
    samples: int,
    forgotten: int,
    normaliser: Normaliser = "mean",
    learned_model_released: bool = False,
) -> History:
    """The paper's pipeline: T steps on all records, then K on what remains."""
    learn = Phase(
        learn_steps, step_size, sigma, samples, forgotten, released=learned_model_released
    )
    phases: Sequence[Phase] = (learn,)
    if check_count("unlearn_steps", unlearn_steps):
        phases = (learn, Phase(unlearn_steps, step_size, sigma, samples - forgotten))
    return History(tuple(phases), normaliser)


def _items(name: str, value: object) -> tuple[Any, ...]:
    """The items of a list, as a tuple."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInput(name, f"must be a list, got {type(value).__name__}")
    return tuple(value)


def _counts(name: str, value: object, *, single: bool = False) -> object:
    """Counts in order; None stays None, and a single count stays one if `single` allows it."""
    if value is None:
        return None
    if single and not isinstance(value, Iterable):
        return check_count(name, value)
    several = enumerate(_items(name, value))
    return tuple(check_count(name if single else f"{name}[{j}]", each) for j, each in several)
