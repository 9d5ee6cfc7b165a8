"""What an estimator takes from public records alone: its ridge, and what capacities would cost."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from expunge.losses.linear import LinearLoss
from expunge.unlearning.holding import Holding
from expunge.unlearning.linear.capacity_curve import CAPACITIES, CapacityCurve, draw_curve
from expunge.unlearning.linear.estimator_parameters import Parameters
from expunge.unlearning.linear.langevin import Langevin
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.linear.public_ridge import PublicRidge, choose_ridge
from expunge.unlearning.released import Released

__all__ = ["PublicSettings"]


class PublicSettings(Holding[LinearFitted, Released], Parameters):
    """An estimator whose settings public records may choose."""

    _apart: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def choose_on(self, parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        """Have the next fit choose `l2="public"` on these parts of the public records.

        Args:
            parts: Rows and labels of each; what made the rows was fitted on the other parts, where
                labels shaped it.
        """
        self._apart = tuple(parts)

    @property
    def l2_(self) -> float:
        """The ridge of this fit; `fitted_.ridge` says what it was chosen from, if it was."""
        return self.held_.head.loss.l2

    @property
    def row_norm_(self) -> float:
        """B of this fit: rows above it are scaled down to it."""
        return self.held_.head.loss.row_norm

    def choose_ridge(
        self,
        make_loss: Callable[[float, float, np.ndarray | None], LinearLoss],
        public: tuple[Any, np.ndarray],
        labels: np.ndarray | None,
        records: int,
    ) -> PublicRidge | None:
        """Choose the ridge on public records; None where a number was given.

        Args:
            make_loss: The loss with this ridge and this bound on rows, for these labels.
            public: Rows before they are bounded, and targets.
            records: At fit.
        """
        parts, self._apart = self._apart, ()
        if self.l2 != "public":
            return None
        return choose_ridge(
            *public,
            lambda l2, row_norm: make_loss(l2, row_norm, labels),
            row_norm="public" if self.row_norm == "public" else float(self.row_norm),
            records=records,
            classes=labels is not None,
            apart=[
                (rows, y.astype(np.float64) if labels is None else np.searchsorted(labels, y))
                for rows, y in parts
            ],
        )

    def capacity_curve(self, capacities: Sequence[float] = CAPACITIES) -> CapacityCurve:
        """What noisy learning for so large shares of the private records costs, on public records.

        For observer "all", and wherever a model is to be noisy from the start. Beside each score
        stands that of the public-only model, which no deletion ever touches.

        Raises:
            InvalidInput: too few public records.
        """
        job, strategy = self.fitted_.job, self.fitted_.strategy
        noisy = hasattr(strategy, "chosen_sigma")
        return draw_curve(job, strategy if noisy else Langevin(), capacities)
