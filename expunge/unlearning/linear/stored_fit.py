"""Fitting on rows that lie on disk, in chunks."""

from typing import Any, Self

import numpy as np

from expunge.core.part_engine import HERE, PartEngine, engine_called
from expunge.core.stored_rows import StoredRows
from expunge.unlearning.holding import unchanged_on_failure
from expunge.unlearning.ids import id_rows
from expunge.unlearning.linear.certified import Certified
from expunge.unlearning.linear.estimator_parameters import check_parameters
from expunge.unlearning.roster import Roster

__all__ = ["FitsStored"]


class FitsStored(Certified):
    """A certified estimator that learns from rows on disk, too."""

    @unchanged_on_failure
    def fit_stored(
        self,
        rows: StoredRows,
        public: tuple[Any, np.ndarray],
        bound: float,
        labels: np.ndarray | None,
        engine: str | PartEngine = HERE,
        *,
        released_before: bool = False,
    ) -> Self:
        """Learn from rows on disk, public ones first, bounded and with their labels as numbers.

        Ids of the private ones are their numbers, from 0 on.

        Args:
            rows: Columns `features`, by `core.rows.bounded_rows`, and `targets`.
            public: The public rows once more, before they were bounded, and their targets.
            bound: What norms are bounded to; by public constants or public rows only.
            labels: All labels, sorted; None for a regression.
            engine: Computes the parts of passes, now and at requests: "local", "ray" or one of
                your own. Certificates do not depend on it.
            released_before: A model of an earlier fit of these records was handed out.
        """
        check_parameters(self.get_params(deep=False))
        engine = engine_called(engine)
        features, targets = rows.column("features"), rows.column("targets")
        self.n_features_in_ = features.shape[1] - 1
        count = public[0].shape[0]
        roster = Roster(id_rows(None, len(features) - count, count), count)
        self._learn(features, targets, roster, public, bound, labels, engine, released_before)
        return self
