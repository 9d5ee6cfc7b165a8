"""How a step uses the records, and what the accountant is told about it.

    FullBatch     every step sees all records; gradients divided by how many there are, or were
    Cyclic        step k sees batch k mod B of a fixed partition; divided by the batch's first size
    PoissonBatch  every step draws each record with probability q; divided by q nbar

Each turns (which records were there during a phase, which are there now) into the phase's record.
The last two mask what is forgotten and use the fixed normaliser (THEORY 2.5, 2.6).

A record that joins is seen from the next step on. A fixed normaliser stays what it was at fit, so
no more records may be there than then; a partition is of the records at fit, and none may join it
(`room`).
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from expunge.accounting.history import Normaliser, Phase, Poisson
from expunge.core.checks import check_fields, count, flag, integer, share
from expunge.sampling.batches import cyclic_partition, poisson_draw
from expunge.unlearning.roster import Roster

__all__ = [
    "SCHEMES",
    "Batch",
    "Cyclic",
    "FullBatch",
    "PoissonBatch",
    "Scheme",
    "scheme_record",
]


class Batch(NamedTuple):
    """The records that a step sees, and what their summed gradients are divided by."""

    members: Tensor  # (records,) booleans
    divisor: float


class Scheme(Protocol):
    """How a step uses the records."""

    @property
    def normaliser(self) -> Normaliser: ...

    @property
    def load(self) -> float:
        """The most that a step's summed weights can be."""
        ...

    def batch(self, roster: Roster, step: int, index: int) -> Batch:
        """The records of one step.

        Args:
            step: Counted from the beginning of learning.
            index: Counted from the beginning of the phase.
        """
        ...

    def record(self, phase: Phase, roster: Roster, present: Tensor, first_step: int) -> Phase:
        """The phase with what has been deleted since, by counts."""
        ...


@dataclass(frozen=True)
class FullBatch:
    """The scheme in which every step sees all records.

    Args:
        fixed: Divide by the records at fit rather than by those present: half the shift.
    """

    fixed: bool = False
    load = 1.0

    def __post_init__(self) -> None:
        check_fields(self, fixed=flag)

    @property
    def normaliser(self) -> Normaliser:
        return "fixed" if self.fixed else "mean"

    def batch(self, roster: Roster, step: int, index: int) -> Batch:
        return Batch(roster.present, roster.at_fit if self.fixed else roster.retained)

    def record(self, phase: Phase, roster: Roster, present: Tensor, first_step: int) -> Phase:
        return _counted(phase, roster, present)


@dataclass(frozen=True)
class Cyclic:
    """The scheme in which steps go through the batches of a fixed partition in turn.

    Args:
        batches: How many batches there are.
        seed: The seed of the partition; public.
    """

    batches: int
    seed: int = 0
    load = 1.0

    def __post_init__(self) -> None:
        check_fields(self, batches=count(1), seed=integer)

    @property
    def normaliser(self) -> Normaliser:
        return "fixed"

    def batch(self, roster: Roster, step: int, index: int) -> Batch:
        batch, sizes = self._partition(roster)
        chosen = index % self.batches
        return Batch(roster.present & (batch == chosen), sizes[chosen])

    def record(self, phase: Phase, roster: Roster, present: Tensor, first_step: int) -> Phase:
        batch, sizes = self._partition(roster)
        gone = torch.bincount(batch[present & ~roster.present], minlength=self.batches)
        batches = tuple(gone.tolist())
        return _counted(phase, roster, present, batches=batches, batch_size=sizes)

    def _partition(self, roster: Roster) -> tuple[Tensor, tuple[int, ...]]:
        """Batches of the original records, and their sizes; an empty batch is divided by 1."""
        batch = cyclic_partition(roster.keys, self.batches, self.seed)
        sizes = torch.bincount(batch, minlength=self.batches).clamp_min(1)
        return batch, tuple(sizes.tolist())


@dataclass(frozen=True)
class PoissonBatch:
    """The scheme in which every step draws each record with the same probability.

    Args:
        rate: The probability q.
        seed: The seed of the draws; public, and not the noise's.
    """

    rate: float
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self, rate=share, seed=integer)

    @property
    def normaliser(self) -> Normaliser:
        return "fixed"

    @property
    def load(self) -> float:
        return 1 / self.rate

    def batch(self, roster: Roster, step: int, index: int) -> Batch:
        drawn = poisson_draw(roster.keys, self.rate, self.seed, step)
        return Batch(roster.present & drawn, self.rate * roster.at_fit)

    def record(self, phase: Phase, roster: Roster, present: Tensor, first_step: int) -> Phase:
        still, counts = roster.present, []
        for step in range(first_step, first_step + phase.steps):
            drawn = present & poisson_draw(roster.keys, self.rate, self.seed, step)
            counts.append((int((drawn & still).sum()), int((drawn & ~still).sum())))
        drawn = Poisson(self.rate, tuple(counts))
        return _counted(phase, roster, present, poisson=drawn)


def _counted(phase: Phase, roster: Roster, present: Tensor, **batches: Any) -> Phase:
    """The phase with how many records it saw, and how many of them have left since."""
    there, left = int(present.sum()), int((present & roster.present).sum())
    return replace(phase, samples=there, forgotten=there - left, **batches)


def scheme_record(name: str, value: Any) -> Scheme:
    """A rule for parameters (`core/checks`): the value must have a scheme's verbs.

    Raises:
        ValueError: the value lacks one of them.
    """
    verbs = ("normaliser", "load", "batch", "record")
    if isinstance(value, type) or not all(hasattr(value, verb) for verb in verbs):
        raise ValueError(f"{name}: must be FullBatch(), Cyclic(batches) or PoissonBatch(rate)")
    return value


SCHEMES = {scheme.__name__: scheme for scheme in (FullBatch, Cyclic, PoissonBatch)}
