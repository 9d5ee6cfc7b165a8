"""Preprocessing as it was fitted: steps that public records shaped, or nobody.

    raw row  ->  step  ->  step  ->  features (a float row)

Every record, public, private or one to predict for, goes through the same function. Rows go through
in blocks cut by row number, so what a row's features are does not depend on who is still there.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from expunge.errors import InvalidInput
from expunge.features.row_blocks import blocks, count_rows, dense, take_rows
from expunge.features.rows_apart import PROBE, check_neighbours, check_unmoved

__all__ = ["DENSE_LIMIT", "FrozenSteps", "StepOrigin", "StepRecord"]

DENSE_LIMIT = 2**31  # bytes of what is sparse, made dense
StepOrigin = Literal["public", "stateless", "declared"]
SAID: dict[StepOrigin, str] = {
    "public": "fitted on {public:,} public records alone, enforced",
    "stateless": "fitted on no record, enforced",
    "declared": "declared by the caller, not checked",
}


@dataclass(frozen=True, repr=False)
class StepRecord:
    """One step as it was fitted.

    Args:
        transformer: Fitted; nobody else holds it.
        origin: Where what it learned came from: public records alone, none at all, or the caller's
            word.
        declared: Names of its parameters in which the caller declared something about the data.
    """

    name: str
    transformer: Any
    origin: StepOrigin
    declared: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.origin not in SAID:
            raise InvalidInput(f"steps: {self.name!r}", f"{self.origin!r} is no origin of a step")

    def line(self, public: int) -> str:
        """What the certificate says of it."""
        said = SAID[self.origin].format(public=public)
        named = f" ({', '.join(self.declared)} declared by the caller)" if self.declared else ""
        return (
            f"preprocessing step {self.name!r} ({type(self.transformer).__name__}): {said}{named}"
        )


@dataclass(frozen=True, repr=False)
class FrozenSteps:
    """The steps before a certified estimator, fixed at fit.

    Args:
        steps: In the order in which rows go through.
        public: How many public records they were fitted on.
        width: Columns of the table that they take; None for texts.
        columns: Their names, where the table has names.
    """

    steps: tuple[StepRecord, ...]
    public: int
    width: int | None = None
    columns: tuple[str, ...] | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        """What the certificate says about preprocessing."""
        return (
            *(step.line(self.public) for step in self.steps),
            "the choice of all parameters, those of preprocessing steps included, is the caller's",
        )

    def transform(self, rows: Any) -> np.ndarray:
        """The features of these rows: (rows, features), dense, float32 or float64.

        They go through a copy: a step that keeps what it is given keeps nothing here.

        Raises:
            InvalidInput: a step does not keep every row, or sparse features are too many.
        """
        spent = copy.deepcopy(self)
        return spent._collect(rows, (spent.block(part) for part in blocks(rows)))

    def transform_apart(self, rows: Any, probe: Any = None) -> np.ndarray:
        """The same, trying on every block that no row's features depend on other rows.

        Every row goes through twice more, with other neighbours.

        Args:
            probe: Rows that must give the same features before and after; the first by default.

        Raises:
            InvalidInput: as for `transform`, or a row's features do, or a step remembers rows.
        """
        draws, spent = np.random.default_rng(0), copy.deepcopy(self)
        probe = take_rows(rows, slice(0, PROBE)) if probe is None else probe
        before = spent.block(probe)

        def tried(part: Any) -> np.ndarray:
            features = spent.block(part)
            check_neighbours(part, features, spent.block, draws)
            return features

        gathered = spent._collect(rows, (tried(part) for part in blocks(rows)))
        check_unmoved(before, spent.block(probe))
        return gathered

    def block(self, rows: Any) -> np.ndarray:
        """The features of one block of rows."""
        features = dense(self._run(rows))
        if features.dtype in (np.float32, np.float64):
            return features
        try:
            return features.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                "steps", f"the last one gives no numbers ({error}); add an encoder for texts"
            ) from error

    def feature_names(self, columns: Any = None) -> np.ndarray:
        """The names of the features, from the names of the columns."""
        names = self.columns if columns is None else columns
        for step in self.steps:
            if not hasattr(step.transformer, "get_feature_names_out"):
                raise AttributeError(f"step {step.name!r} names no features")
            names = step.transformer.get_feature_names_out(names)
        return np.asarray(names, dtype=object)

    def fitted(self) -> list[tuple[str, Any]]:
        """The fitted transformers by name; copies, which change nothing here."""
        return [(step.name, copy.deepcopy(step.transformer)) for step in self.steps]

    def _run(self, rows: Any) -> Any:
        """What comes out of the last step, sparse or dense."""
        result = rows
        for step in self.steps:
            result = step.transformer.transform(result)
            if count_rows(result) != count_rows(rows):
                raise InvalidInput(
                    f"steps: {step.name!r}",
                    "gives another number of rows than it is given; a step must keep every row",
                )
        return result

    def _check_room(self, rows: Any) -> None:
        """Check that features that come out sparse may be made dense.

        Raises:
            InvalidInput: they would be too large; the remedy is named.
        """
        count = count_rows(rows)
        first = self._run(take_rows(rows, slice(0, 1)))
        size = 8 * count * int(first.shape[1]) if sparse.issparse(first) else 0
        if size > DENSE_LIMIT:
            raise InvalidInput(
                f"steps: {self.steps[-1].name!r}",
                f"gives {count:,} x {first.shape[1]:,} sparse features, {size / 2**30:.1f} GiB "
                f"when dense, above {DENSE_LIMIT / 2**30:g}; take fewer (n_features=, "
                "max_features=), or reduce them in a further step, such as TruncatedSVD",
            )

    def _collect(self, rows: Any, parts: Iterable[np.ndarray]) -> np.ndarray:
        self._check_room(rows)
        count, gathered, done = count_rows(rows), np.empty((0, 0)), 0
        for part in parts:
            if not done:
                if part.ndim != 2:
                    raise InvalidInput("steps", f"the last one gives an array {part.shape}")
                gathered = np.empty((count, part.shape[1]), dtype=part.dtype)
            elif part.shape[1:] != gathered.shape[1:]:
                raise InvalidInput("steps", "give some rows more features than others")
            gathered[done : done + len(part)] = part
            done += len(part)
        return gathered
