"""Preprocessing as it was fitted: steps that public records shaped, or nobody.

    raw row  ->  step  ->  step  ->  features (a float row; sparse if the last step gives those)

Every record, public, private or one to predict for, goes through the same function. Rows go through
in blocks cut by row number, so what a row's features are does not depend on who is still there. A
private row that no step can turn into finite numbers has zeros (`blank_rows`).
"""

import copy
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from expunge.errors import InvalidInput, RecordsWarning
from expunge.features.blank_rows import blank, finite_rows, usable_rows
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

    def transform_apart(self, rows: Any, probe: Any = None, width: int | None = None) -> Any:
        """The same of private rows, trying on every block that none depends on other rows.

        Every row goes through twice more, with other neighbours. One that a step fails on, or makes
        something of that is not finite, has zeros, and a warning counts them.

        Args:
            probe: Rows that must give the same features before and after; of the first ones by
                default those that can be transformed.
            width: How many features there are, so that rows may all have zeros; None refuses that.

        Raises:
            InvalidInput: as for `transform`, or a row's features do, or a step remembers rows.
            ValueError: every row fails; what the step said of the first.
        """
        draws, spent = np.random.default_rng(0), copy.deepcopy(self)
        probe = copy.deepcopy(self)._usable_probe(rows) if probe is None else probe
        if probe is None:  # nothing can be transformed
            if width is None or not count_rows(rows):
                return spent.transform(rows)
            _tell(count_rows(rows), rows)
            return sparse.csr_array((count_rows(rows), width))
        before, failed = spent.block(probe), 0

        def tried(part: Any) -> Any:
            nonlocal failed
            features, kept = spent._usable(part, draws, like=before)
            failed += int((~kept).sum())
            return features if kept.all() else blank(features, kept)

        gathered = _collect(count_rows(rows), (tried(part) for part in blocks(rows)))
        check_unmoved(before, spent.block(probe))
        if failed:
            _tell(failed, rows)
        return gathered

    def _usable_probe(self, rows: Any) -> Any:
        """Some of the first rows that can be transformed; None where none can."""
        for part in (take_rows(rows, slice(0, PROBE)), *blocks(rows)):
            usable = np.flatnonzero(usable_rows(self.block, part))
            if len(usable):
                return take_rows(part, usable[:PROBE])
        return None

    def _usable(self, rows: Any, draws: np.random.Generator, like: Any) -> tuple[Any, np.ndarray]:
        """A block's features, anything in rows that fail, and which rows do not.

        Args:
            like: Features of other rows.
        """
        kept = np.ones(count_rows(rows), dtype=bool)
        try:
            features = self.block(rows)
        except MemoryError:
            raise
        except Exception:  # whatever a transformer does with a value
            kept = usable_rows(self.block, rows)
            if not kept.any():
                return _zeros(len(kept), like), kept
            # As many rows as before, because bits may depend on how many go through together.
            rows = take_rows(rows, np.where(kept, np.arange(len(kept)), np.argmax(kept)))
            features = self.block(rows)
        check_neighbours(rows, features, self.block, draws)
        return features, kept & finite_rows(features)

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


def _zeros(count: int, like: Any) -> Any:
    """So many rows of zeros, of the width and kind of these features."""
    kind = sparse.csr_array if sparse.issparse(like) else np.zeros
    return kind((count, like.shape[1]), dtype=like.dtype)


def _tell(failed: int, rows: Any) -> None:
    """Tell the operator how many private rows are blank, and nobody else."""
    warnings.warn(
        f"{failed:,} of {count_rows(rows):,} private rows could not be transformed into finite "
        "numbers, and are learned as rows of zeros; give the steps what they need for such values "
        "(OneHotEncoder: handle_unknown='ignore'; missing ones: an imputer). This is for you "
        "alone: it depends on private records",
        RecordsWarning,
        stacklevel=3,
    )


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
