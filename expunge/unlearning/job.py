"""What a strategy is given, and what it hands back.

A `Job` describes the learning problem as it stands: rows, which of them are still there, the loss
with its enforced constants, the target and the observer. A `Outcome` is a model with the history
that its certificate is a function of.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.calibration import EpsilonDelta, Observer
from expunge.accounting.history import History
from expunge.losses.linear import LinearLoss
from expunge.losses.objective import Objective

__all__ = ["Job", "NoCertificate", "Outcome"]


class NoCertificate(RuntimeError):
    """Something that voids the certificate was noticed; the model is untouched."""


@dataclass(frozen=True)
class Job:
    """Args:
    features, targets: All rows, public ones first; rows of forgotten records are zeroed.
    keep: (rows,) which are still there.
    public: How many of the rows are public.
    private: How many private rows there were at fit.
    seed: None draws from the operating system; an integer is for experiments only.
    """

    loss: LinearLoss
    features: Tensor
    targets: Tensor
    keep: Tensor
    public: int
    private: int
    target: EpsilonDelta
    observer: Observer
    seed: int | None = None

    @property
    def objective(self) -> Objective:
        return Objective(self.loss, self.features, self.targets, self.keep)

    @property
    def dimension(self) -> int:
        outputs, features = self.objective.shape
        return outputs * features

    @property
    def forgotten(self) -> int:
        """Private rows that are gone since fit."""
        return self.public + self.private - int(self.keep.sum())

    def zeros(self) -> Tensor:
        return torch.zeros(*self.objective.shape, dtype=torch.float64)


@dataclass(frozen=True)
class Outcome:
    """A model, what its certificate rests on, and secret state for the next request.

    Args:
        theta: (outputs, features) float64; what predictions use.
        assumptions, history: What the certificate is a function of; None before any deletion
            where the model carries no noise.
        declared: Lines for the certificate about what the history cannot say.
        secret: Never released, never published: un-noised solutions and the like.
    """

    theta: Tensor
    assumptions: Assumptions | None
    history: History | None
    declared: tuple[str, ...] = ()
    secret: dict[str, Tensor] = field(default_factory=dict)
