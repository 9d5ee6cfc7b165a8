"""Preprocessing as it was fitted: steps that public records shaped, or nobody.

    raw row  ->  step  ->  step  ->  features (a float row; sparse if the last step gives those)

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

__all__ = ["FrozenSteps", "StepOrigin", "StepRecord"]

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

    def transform(self, rows: Any) -> Any:
        """The features of these rows: (rows, features), float32 or float64; CSR if sparse.

        They go through a copy: a step that keeps what it is given keeps nothing here.

        Raises:
            InvalidInput: a step does not keep every row.
        """
        spent = copy.deepcopy(self)
        return _collect(count_rows(rows), (spent.block(part) for part in blocks(rows)))

    def transform_apart(self, rows: Any, probe: Any = None) -> Any:
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

        def tried(part: Any) -> Any:
            features = spent.block(part)
            check_neighbours(part, features, spent.block, draws)
            return features

        gathered = _collect(count_rows(rows), (tried(part) for part in blocks(rows)))
        check_unmoved(before, spent.block(probe))
        return gathered

    def block(self, rows: Any) -> Any:
        """The features of one block of rows."""
        made = self._run(rows)
        features = sparse.csr_array(made) if sparse.issparse(made) else np.asarray(made)
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


def _collect(count: int, parts: Iterable[Any]) -> Any:
    """All parts as one table of the first one's kind; dense ones are not kept apart."""
    kept: list[Any] = []
    gathered, done = np.empty((0, 0)), 0
    for part in parts:
        if part.ndim != 2:
            raise InvalidInput("steps", f"the last one gives an array {part.shape}")
        if not kept:
            gathered = (
                None if sparse.issparse(part) else np.empty((count, part.shape[1]), part.dtype)
            )
        elif part.shape[1] != kept[0].shape[1]:
            raise InvalidInput("steps", "give some rows more features than others")
        if gathered is None:
            kept.append(sparse.csr_array(part))
            continue
        gathered[done : done + part.shape[0]] = dense(part)
        done += part.shape[0]
        kept = [part[:0]]
    return sparse.vstack(kept, format="csr") if gathered is None else gathered
