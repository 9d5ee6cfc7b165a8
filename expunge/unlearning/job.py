"""What a strategy is given, and what it hands back.

A `Job` describes the learning problem as it stands: rows, which of them are still there, the loss
with its enforced constants, the target and the observer. A `Outcome` is a model with the history
that its certificate is a function of.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.history import History
from expunge.accounting.target import EpsilonDelta, Observer
from expunge.losses.linear import LinearLoss
from expunge.losses.objective import Objective, gradient_rounding
from expunge.unlearning.model_file import Salted
from expunge.unlearning.secrecy import Secret

__all__ = ["Job", "Outcome"]


@dataclass(frozen=True, repr=False)
class Job(Secret):
    """The learning problem of a linear model as it stands: what a strategy is given.

    Args:
        features, targets: All rows, public ones first; rows of records that earlier requests forgot
            are zeroed, those of the last request not yet.
        keep: (rows,) which are still there.
        left: (rows,) the request, counted from 1, at which a record left; 0 for those still there.
        keys: (rows,) 64-bit keys of the records' ids, for batches.
        public: How many of the rows are public.
        private: How many private rows there were at fit.
        seed: None draws from the operating system; an integer is for experiments only.
        start: Where descent begins: the origin, or the public records' own minimiser.
        center: What the ridge pulls towards: the origin, or that minimiser.
        adaptive_requests: Whoever asks may have looked at models that were handed out (THEORY 8).
    """

    loss: LinearLoss
    features: Tensor
    targets: Tensor
    keep: Tensor
    left: Tensor
    keys: Tensor
    public: int
    private: int
    target: EpsilonDelta
    observer: Observer
    seed: int | None = None
    start: Tensor | None = None
    center: Tensor | None = None
    adaptive_requests: bool = False

    @property
    def objective(self) -> Objective:
        return Objective(self.loss, self.features, self.targets, self.keep, center=self.center)

    @property
    def public_objective(self) -> Objective:
        """The objective of the public records alone; what comes from it is never forgotten."""
        return Objective(self.loss, self.features[: self.public], self.targets[: self.public])

    @property
    def dimension(self) -> int:
        outputs, features = self.objective.shape
        return outputs * features

    @property
    def forgotten(self) -> int:
        """Private rows that are gone since fit."""
        return self.public + self.private - int(self.keep.sum())

    def gradient_rounding(self, theta_norm: float, load: float = 1.0) -> float:
        """A bound on one gradient's arithmetic error; public constants only.

        Args:
            load: The most that a step's summed weights can be.
        """
        rows = self.public + self.private
        return gradient_rounding(
            self.loss,
            rows=rows,
            features=self.features.shape[1],
            divisor=rows / load,
            theta_norm=theta_norm,
            center_norm=float(self.origin.norm()),
        )

    @property
    def counts_every_model(self) -> bool:
        """Whether every model handed out, the learned one too, counts in the history."""
        return self.observer == "all" or self.adaptive_requests

    @property
    def origin(self) -> Tensor:
        """The ridge's center."""
        if self.center is not None:
            return self.center
        return torch.zeros(*self.objective.shape, dtype=torch.float64)

    @property
    def beginning(self) -> Tensor:
        """Where descent begins."""
        return self.origin if self.start is None else self.start


@dataclass(frozen=True, repr=False)
class Outcome(Salted, Secret):
    """A model, what its certificate rests on, and secret state for the next request.

    Args:
        theta: (outputs, features) float64; what predictions use.
        assumptions, history: What the certificate is a function of; None before any deletion
            where the model carries no noise.
        rounds: For each phase, how many requests had been honoured before it.
        capacity: Records that may be forgotten in all, where the history counts all of them at
            every model handed out, so that requests may depend on models.
        noise_free: The model carries no noise: without a salt in its file, the file's hash would be
            a membership oracle.
        declared: Lines for the certificate about what the history cannot say.
        retained: What of `secret` outlives the request, in words.
        secret: Never released, never published: un-noised solutions and the like.
    """

    theta: Tensor
    assumptions: Assumptions | None
    history: History | None
    declared: tuple[str, ...] = ()
    rounds: tuple[int, ...] = ()
    capacity: int | None = None
    noise_free: bool = False
    retained: tuple[str, ...] = ()
    secret: dict[str, Tensor] = field(default_factory=dict)
