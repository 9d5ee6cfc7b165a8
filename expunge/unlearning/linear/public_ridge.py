"""The ridge chosen on public records alone: cross-validation, rescaled to the records at fit.

    l2 = max(l2_cv n_cv / n, 1e-6 B^2)

l2_cv is the value of the grid 10^(0, -1/2, ..., -6) B^2 whose models, learned on four fifths of
the public records (n_cv of them), lose least on the fifth that was held out; n counts the records
at fit, public and private. The sum of n losses then weighs against the ridge as that of n_cv did:
without it the ridge would be one for n_cv records, which is too strong for n. Below the floor a
release draws more noise, and few models gain.

Whatever else is taken from public records (`row_norm="public"`) is taken from each fold's learning
part alone. Features that were grown on labels, such as leaves of trees, flatter the records that
they were grown on: then the folds are of public records `apart`, as steps fitted on the others make
them. Nothing here sees a private record; n counts as public, and the certificate says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from expunge.accounting.assumptions import Assumptions, Mark
from expunge.core.row_products import products
from expunge.core.rows import bounded_values, public_row_norm
from expunge.core.sparse_rows import SparseRows
from expunge.errors import InvalidInput, NotConverged
from expunge.losses.linear import LinearLoss
from expunge.unlearning.linear.public_folds import (
    deal_folds,
    learn,
    narrow,
    parts_of,
    take_evenly,
)
from expunge.unlearning.outcome import Outcome

__all__ = ["FEWEST", "PublicRidge", "choose_ridge", "marked"]

FOLDS = 5
FEWEST = 20  # public records that say something about a ridge
MOST = 4000  # of them that take part, spread evenly: what the choice may cost is bounded
GRID = tuple(10.0 ** (-step / 2) for step in range(13))  # of B^2
FLOOR = 1e-6  # of B^2
PATIENCE = 3  # values without a gain before smaller ones are left out
REMEDY = "give l2 a number instead of 'public', or more public records"
RESTING_ON_RIDGE = ("strong_convexity", "smoothness", "weight_decay", "radius", "initial_distance")
MakeLoss = Callable[[float, float], LinearLoss]


@dataclass(frozen=True)
class PublicRidge:
    """A ridge that was chosen on public records, and what it was chosen from.

    Args:
        l2: The ridge.
        cross_validated: The grid's value with the least held-out loss, before rescaling.
        public: Public records that took part.
        learned_from: n_cv, of them in each fold's learning part.
        records: n, at fit.
        tried: (value, mean held-out loss), from the largest value down.
    """

    l2: float
    cross_validated: float
    public: int
    learned_from: int
    records: int
    tried: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, document: dict[str, Any] | None) -> "PublicRidge | None":
        """The ridge of a document as `document` made it; None for a ridge that was given."""
        if document is None:
            return None
        tried = tuple((float(value), float(loss)) for value, loss in document["tried"])
        return cls(**{**document, "tried": tried})

    def document(self) -> dict[str, Any]:
        """What JSON holds of it."""
        return asdict(self)

    @property
    def remark(self) -> str:
        """What a certificate says about it."""
        return (
            f"l2 = {self.l2:.4g} was chosen by cross-validation on {self.public:,} public records "
            f"alone, for {self.records:,} records at fit; that number counts as public"
        )

    def mark(self, assumptions: Assumptions) -> Assumptions:
        """The same constants; those that hold by construction of this ridge are marked public."""
        marks: dict[str, Mark] = {
            name: "public" if _rests_on_ridge(assumptions, name) else mark
            for name, mark in assumptions.marks.items()
        }
        return replace(assumptions, marks=marks)


def marked(outcome: Outcome, ridge: PublicRidge | None) -> Outcome:
    """The outcome, what holds by construction of a ridge that public records chose marked so."""
    if ridge is None or outcome.assumptions is None:
        return outcome
    return replace(outcome, assumptions=ridge.mark(outcome.assumptions))


def _take(rows: np.ndarray, targets: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most so many records, spread evenly over all."""
    places = take_evenly(len(targets), most)
    return rows[places], targets[places]


def _rests_on_ridge(assumptions: Assumptions, name: str) -> bool:
    enforced = assumptions.mark(name) == "enforced" and bool(getattr(assumptions, name))
    return enforced and name in RESTING_ON_RIDGE


def choose_ridge(
    rows: Any,
    targets: np.ndarray,
    make_loss: MakeLoss,
    *,
    row_norm: float | Literal["public"],
    records: int,
    classes: bool,
    apart: Sequence[tuple[np.ndarray, np.ndarray]] = (),
) -> PublicRidge:
    """Choose the ridge for so many records at fit, on these public ones alone.

    Args:
        rows, targets: Public records; rows as they are before they are scaled to B.
        make_loss: The loss with this ridge and this B.
        row_norm: B; "public" takes it from the rows.
        records: n, public and private.
        classes: The targets are labels.
        apart: Parts of the public records, each with rows and targets of its own, that take part in
            place of the whole: what made these rows was fitted on the other parts.

    Raises:
        InvalidInput: too few public records, or one label among them.
    """
    _check(targets, classes)
    bound = public_row_norm(rows) if row_norm == "public" else row_norm
    sets = [_take(*one, MOST) for one in apart or [(rows, targets)]]
    parts = [
        _Part.of(*one, learned, held, row_norm)
        for one in sets
        for learned, held in parts_of(deal_folds(one[1], FOLDS, classes=classes))
    ]
    tried, best = _descend(parts, make_loss)
    smallest = min(len(targets) for _, targets in sets)
    learned_from = smallest - -(-smallest // FOLDS)
    cross_validated = best * bound**2
    return PublicRidge(
        l2=max(cross_validated * learned_from / records, FLOOR * bound**2),
        cross_validated=cross_validated,
        public=sum(len(targets) for _, targets in sets),
        learned_from=learned_from,
        records=records,
        tried=tuple((value * bound**2, loss) for value, loss in tried),
    )


@dataclass(frozen=True)
class _Part:
    """A fold: rows to learn from and rows held out, scaled to the fold's own B."""

    bound: float
    learned: tuple[Tensor | SparseRows, Tensor]
    held: tuple[Tensor | SparseRows, Tensor]

    @classmethod
    def of(
        cls,
        rows: Any,
        targets: np.ndarray,
        learned: np.ndarray,
        held: np.ndarray,
        row_norm: float | Literal["public"],
    ) -> "_Part":
        bound = public_row_norm(rows[learned]) if row_norm == "public" else row_norm
        bounded = narrow(bounded_values(rows, bound))
        sides = ((bounded[side], torch.from_numpy(targets[side])) for side in (learned, held))
        return cls(bound, *sides)


def _descend(parts: list[_Part], make_loss: MakeLoss) -> tuple[list[tuple[float, float]], float]:
    """Every value that was tried with its mean held-out loss, and the best value, in units of B^2.

    Raises:
        InvalidInput: no value gives a model on every fold.
    """
    tried: list[tuple[float, float]] = []
    weights: list[Tensor | None] = [None] * len(parts)
    for value in GRID:
        try:
            losses = [
                _held_out(part, make_loss(value * part.bound**2, part.bound), weights, i)
                for i, part in enumerate(parts)
            ]
        except NotConverged:
            break
        tried.append((value, float(np.mean(losses))))
        best = min(range(len(tried)), key=lambda i: tried[i][1])
        if len(tried) - 1 - best >= PATIENCE:
            break
    if not tried:
        raise InvalidInput("l2", f"no ridge could be tried on the public records; {REMEDY}")
    return tried, min(tried, key=lambda each: each[1])[0]


def _held_out(part: _Part, loss: LinearLoss, weights: list[Tensor | None], fold: int) -> float:
    """The mean loss on the rows held out; the fold's weights are where the next value starts."""
    theta = learn(loss, *part.learned, start=weights[fold])
    weights[fold] = theta
    rows, targets = part.held
    return float(loss.value(products(rows.double(), theta), targets).mean())


def _check(targets: np.ndarray, classes: bool) -> None:
    """Refuse public records that cannot say which ridge is good.

    Raises:
        InvalidInput: there are too few, or they have one label.
    """
    if len(targets) < FEWEST:
        problem = f"'public' needs {FEWEST} public records or more, not {len(targets)}"
        raise InvalidInput("l2", f"{problem}; {REMEDY}")
    if classes and len(np.unique(targets)) < 2:
        raise InvalidInput("l2", f"'public' needs two labels among the public records; {REMEDY}")
