"""What an ensemble is sampled from: data, loss, chain, initial law and batches, as one record.

    pi_L^T      T steps on all records from the initial law
    pi_U^K      K further steps on what remains, started from pi_L^T
    pi_R^{T+K}  T + K steps on what remains, from the initial law

one step being PNGD (`pngd.py`). Paper: [alg:pngd_training], [alg:langevin_unlearning];
unlearning after K steps is compared with retraining after T + K [thm:unlearning_init_bound].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from expunge.core.checks import check_fields, count, not_negative, optional, positive
from expunge.losses.linear import LinearLoss
from expunge.sampling.networks import Network

__all__ = [
    "DefaultUniform",
    "Gaussian",
    "IndependentBatches",
    "NoBatches",
    "Problem",
    "Records",
    "SharedBatches",
    "Zero",
]

ArrayLike = Tensor | np.ndarray | Sequence[float]


class Records(NamedTuple):
    """Features and targets, row by row."""

    features: Tensor  # (rows, ...)
    targets: Tensor  # (rows,)


@dataclass(frozen=True)
class Gaussian:
    """The initial law in which every weight is independently normal."""

    std: float

    def __post_init__(self) -> None:
        check_fields(self, std=not_negative)


@dataclass(frozen=True)
class DefaultUniform:
    """torch's own initial law of a linear layer: uniform on +-1/sqrt(features)."""


@dataclass(frozen=True)
class Zero:
    """The initial law in which all models start at the origin."""


@dataclass(frozen=True)
class NoBatches:
    """The scheme in which every step sees every record."""


@dataclass(frozen=True)
class SharedBatches:
    """The scheme with one order of the records for all models and both regimes.

    Models are then independent only given that order: two ensembles with different orders differ
    by a shift that more models do not remove (DESIGN section 5). Every estimate is conditional.
    """

    size: int

    def __post_init__(self) -> None:
        check_fields(self, size=count(1))


@dataclass(frozen=True)
class IndependentBatches:
    """The scheme with an order of the records for each run of `models_per_order` models."""

    size: int
    models_per_order: int = 80

    def __post_init__(self) -> None:
        check_fields(self, size=count(1), models_per_order=count(1))


Init = Gaussian | DefaultUniform | Zero
Batch = NoBatches | SharedBatches | IndependentBatches
NAMED_INITS: dict[str, Init] = {"zero": Zero(), "uniform": DefaultUniform()}


@dataclass(frozen=True)
class Problem:
    """What an ensemble is sampled from: data, loss, chain, initial law and batches.

    Args:
        loss: A loss of linear heads, or a `Network`; its ridge included.
        private, public: (features, targets); public may be None.
        forget: Rows of `private` in the request: indices or a mask.
        sigma: The paper's sigma; each coordinate receives std sqrt(2 step_size) sigma.
        radius: The radius of the ball that every step is projected onto; None for no constraint.
        init: A law, or "zero" or "uniform".
        batch: A scheme; None for the full batch, a number for independent batches of that size.
    """

    loss: LinearLoss | Network
    private: Records | tuple[ArrayLike, ArrayLike]
    public: Records | tuple[ArrayLike, ArrayLike] | None
    forget: ArrayLike
    step_size: float
    sigma: float
    learn_steps: int
    radius: float | None = None
    init: Init | str = DefaultUniform()
    batch: Batch | int | None = None

    def __post_init__(self):
        check_fields(
            self,
            step_size=positive,
            sigma=not_negative,
            learn_steps=count(),
            radius=optional(positive),
        )
        if not (isinstance(self.loss, Network) or hasattr(self.loss, "residual")):
            raise ValueError("loss: must be a loss of linear heads, or a Network")
        private = _records("private", self.private)
        public = private._replace(features=private.features[:0], targets=private.targets[:0])
        if self.public is not None:
            public = _records("public", self.public)
        set_field = object.__setattr__
        set_field(self, "private", private)
        set_field(self, "public", public)
        set_field(self, "forget", _indices(self.forget, len(private.targets)))
        set_field(self, "init", _init(self.init))
        set_field(self, "batch", _batch(self.batch))
        self._check()

    def _check(self) -> None:
        private, public = self.records_of()
        if private.features.shape[1:] != public.features.shape[1:]:
            raise ValueError("public: rows have other features than private ones")
        remaining = len(private.targets) + len(public.targets) - len(self.forgotten)
        size = 1 if isinstance(self.scheme, NoBatches) else self.scheme.size
        if not 1 <= size <= remaining:
            raise ValueError(f"batch: {size} of {remaining} remaining records")

    def records_of(self) -> tuple[Records, Records]:
        """Private and public rows as tensors."""
        assert isinstance(self.private, Records)
        assert isinstance(self.public, Records)
        return self.private, self.public

    @property
    def forgotten(self) -> Tensor:
        """Rows of `private` to forget: sorted, each once."""
        assert isinstance(self.forget, Tensor)
        return self.forget

    @property
    def scheme(self) -> Batch:
        """The scheme of batches."""
        assert not isinstance(self.batch, int)
        assert self.batch is not None
        return self.batch

    @property
    def law(self) -> Init:
        """The initial law."""
        assert not isinstance(self.init, str)
        return self.init

    @property
    def noise_std(self) -> float:
        """The std that one step adds to each coordinate: sqrt(2 eta) sigma."""
        return math.sqrt(2 * self.step_size) * self.sigma

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one model: (outputs, features), or (parameters,) of a network."""
        if isinstance(self.loss, Network):
            return (self.loss.parameters,)
        return self.loss.outputs, self.records_of()[0].features.shape[1]

    def all_records(self) -> Records:
        """Private rows, then public ones."""
        private, public = self.records_of()
        return Records(
            torch.cat([private.features, public.features]),
            torch.cat([private.targets, public.targets]),
        )

    def retained(self) -> Tensor:
        """Which of `all_records` remain after the request: (rows,) bool."""
        private, public = self.records_of()
        kept = torch.ones(len(private.targets) + len(public.targets), dtype=torch.bool)
        kept[self.forgotten] = False
        return kept


def _records(name: str, given: tuple[ArrayLike, ArrayLike]) -> Records:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ValueError(f"{name}: must be a pair (features, targets)")
    features, targets = (_tensor(name, part) for part in given)
    if not features.ndim or not targets.ndim or len(features) != len(targets):
        shapes = f"{tuple(features.shape)} and {tuple(targets.shape)}"
        raise ValueError(f"{name}: features and targets of shapes {shapes}")
    if not features.is_floating_point():
        features = features.double()
    if not torch.isfinite(features).all():
        raise ValueError(f"{name}: features must be finite")
    return Records(features, targets)


def _tensor(name: str, given: ArrayLike) -> Tensor:
    try:
        return torch.as_tensor(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name}: must be arrays of numbers") from error


def _indices(given: ArrayLike, rows: int) -> Tensor:
    chosen = _tensor("forget", given)
    if chosen.ndim != 1:
        raise ValueError("forget: must be a list of rows, or a mask of them")
    if chosen.dtype == torch.bool:
        if chosen.shape != (rows,):
            raise ValueError(f"forget: a mask of {len(chosen)} for {rows} private records")
        return chosen.nonzero()[:, 0]
    if len(chosen) and (chosen.is_floating_point() or chosen.is_complex()):
        raise ValueError("forget: rows must be integers")
    chosen = torch.unique(chosen.long())
    if len(chosen) and not 0 <= int(chosen[0]) <= int(chosen[-1]) < rows:
        raise ValueError(f"forget: names records outside the {rows} private ones")
    return chosen


def _init(given: Init | str) -> Init:
    if isinstance(given, Gaussian | DefaultUniform | Zero):
        return given
    if not isinstance(given, str) or given not in NAMED_INITS:
        raise ValueError("init: must be 'zero', 'uniform', or Gaussian(std)")
    return NAMED_INITS[given]


def _batch(given: Batch | int | None) -> Batch:
    if given is None:
        return NoBatches()
    if isinstance(given, NoBatches | SharedBatches | IndependentBatches):
        return given
    return IndependentBatches(count(1)("batch", given))
