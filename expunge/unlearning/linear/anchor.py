"""An anchor: the solution of the last pass, and what the rows still there add up to at it.

    G = sum g_i(a),   A = sum H_i(a),   A4 = sum w_i (1 - 4 w_i) x_i x_i'  (logistic)     (THEORY 6)

All are exact sums. A row that leaves takes its terms *at the anchor* with it, a row that joins
brings them, so the sums are, bit for bit, those of a data set that never held the rows that left.
The anchor itself is an un-noised model that rows which left since helped to make: it is secret, and
a pass replaces it after a time (`max_anchor_age`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from expunge.losses.exact_sums import ExactSum, Running
from expunge.losses.objective import Objective, Rows, Targets
from expunge.losses.passes import PresentRows, RowStretch
from expunge.losses.row_terms import ROWS, RowTerms
from expunge.unlearning.secrecy import Secret

__all__ = ["Anchor", "TermsAt"]

SUMS = ("gradient", "hessian", "sharp")
COUNTS = ("rows", "places", "made", "served", "failed", "wait")
POINT, FACTS = "theta", "anchor"


@dataclass(frozen=True)
class TermsAt:
    """The exact sums of the rows' terms at a point."""

    terms: RowTerms
    point: Tensor

    def __call__(self, table: PresentRows, part: tuple[RowStretch, ...]) -> dict[str, ExactSum]:
        """The sums of all stretches of a part, by their names."""
        running: dict[str, Running] = {}
        for stretch in part:
            for rows, targets in table.chunks(stretch):
                for name, whole in zip(
                    SUMS, self.terms.sum(self.point, rows, targets), strict=True
                ):
                    if whole is not None:
                        running.setdefault(name, Running(*whole.shape)).add(whole)
        return {name: each.total() for name, each in running.items()}


@dataclass(frozen=True, repr=False, eq=False)
class Anchor(Secret):
    """A point and the exact sums of its rows' terms.

    Args:
        point: (outputs, features) float64.
        rows: How many rows are in the sums.
        places: The sum of their places in the table: with `rows`, tells one set from another.
        made: When its pass was made, in whole seconds since 1970.
        sharp: For logistic losses only.
        served: Requests that it has answered without a pass.
        failed: Requests that passes have answered since, because it could not.
        wait: How many of those there may be before one of them makes a new anchor.
    """

    point: Tensor
    rows: int
    places: int
    made: int
    gradient: ExactSum
    hessian: ExactSum
    sharp: ExactSum | None = None
    served: int = 0
    failed: int = 0
    wait: int = 0

    @classmethod
    def at(
        cls, point: Tensor, terms: RowTerms, objective: Objective, places: int, made: int
    ) -> Self:
        """The anchor of a point that a pass has found: one more pass over the rows."""
        sums: dict[str, ExactSum] = {}
        for part in objective.over_parts(TermsAt(terms, point)):
            for name, one in part.items():
                sums[name] = sums[name].joined(one) if name in sums else one
        return cls(
            point=point.clone(),
            rows=objective.rows,
            places=places,
            made=made,
            gradient=sums["gradient"],
            hessian=sums["hessian"],
            sharp=sums.get("sharp"),
        )

    def moved(
        self,
        places: Iterable[int],
        terms: RowTerms,
        features: Rows,
        targets: Targets,
        *,
        joining: bool = False,
    ) -> "Anchor":
        """The anchor once the rows at these places of the table have left, or have joined."""
        places, sign = list(places), 1 if joining else -1
        sums = {name: getattr(self, name) for name in SUMS}
        for start in range(0, len(places), ROWS):
            part = torch.tensor(places[start : start + ROWS], device=features.device)
            brought = terms.sum(self.point, features[part], targets[part])
            for name, whole in zip(SUMS, brought, strict=True):
                if whole is not None:
                    sums[name] = sums[name].plus(whole if joining else whole.neg_())
        return replace(
            self,
            rows=self.rows + sign * len(places),
            places=self.places + sign * sum(places),
            **sums,
        )

    def tensors(self) -> dict[str, Tensor]:
        """The anchor as secret tensors of an outcome."""
        parts = {name: getattr(self, name) for name in SUMS}
        facts = torch.tensor([getattr(self, name) for name in COUNTS], dtype=torch.int64)
        return {POINT: self.point, FACTS: facts} | {
            f"{FACTS}.{name}.{part}": getattr(total, part)
            for name, total in parts.items()
            if total is not None
            for part in ("high", "low")
        }

    @classmethod
    def of(cls, secret: dict[str, Tensor]) -> "Anchor | None":
        """The anchor in an outcome's secret tensors; None if there is none."""
        if FACTS not in secret:
            return None
        sums = {
            name: ExactSum(secret[f"{FACTS}.{name}.high"], secret[f"{FACTS}.{name}.low"])
            for name in SUMS
            if f"{FACTS}.{name}.high" in secret
        }
        counts: dict[str, int] = dict(zip(COUNTS, secret[FACTS].tolist(), strict=True))
        return cls(
            point=secret[POINT],
            gradient=sums["gradient"],
            hessian=sums["hessian"],
            sharp=sums.get("sharp"),
            **counts,  # pyright: ignore[reportArgumentType]
        )
