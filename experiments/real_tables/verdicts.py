"""What the comparison was to show, and whether it does; judged from the rows alone.

A table's gap is LightGBM on all rows less the arm, and its lead the arm less the linear model; both
are means over seeds.
"""

from typing import Any

import numpy as np

from experiments.tables import select

__all__ = ["BEST", "gaps", "leads", "verdicts"]

BEST = "LightGBM on all rows"
MEDIAN = 0.007
NEAR, TEN_OF_TWELVE = 0.01, 10 / 12
BELOW = 0.002
Row = dict[str, Any]


def gaps(result: Row, arm: str, kind: str) -> dict[str, float]:
    """How far an arm is behind LightGBM on all rows, table by table; negative where it is ahead."""
    return _differences(result, BEST, arm, kind)


def leads(result: Row, arm: str, kind: str) -> dict[str, float]:
    """How far an arm is ahead of the linear model, table by table."""
    return _differences(result, arm, "linear", kind)


def verdicts(result: Row) -> list[dict[str, str]]:
    """The statements about scores, each with what was found."""
    if not result["rows"]:
        return []
    behind = gaps(result, "trees", "random")
    near, median = (
        sum(each <= NEAR for each in behind.values()),
        float(np.median([*behind.values()])),
    )
    worst = {
        (table, kind): lead
        for kind in result["settings"]["kinds"]
        for table, lead in leads(result, "trees and ranges", kind).items()
    }
    below = {f"{table}, {kind}": lead for (table, kind), lead in worst.items() if lead < -BELOW}
    told = ", ".join(f"{where} ({lead:+.4f})" for where, lead in sorted(below.items()))
    return [
        _verdict(
            f"random public rows: the median gap of trees to {BEST} is at most {MEDIAN}",
            f"{median:.4f} over {len(behind)} tables",
            median <= MEDIAN,
        ),
        _verdict(
            f"random public rows: trees are within {NEAR} of it on ten of twelve tables",
            f"{near} of {len(behind)}",
            near >= TEN_OF_TWELVE * len(behind),
        ),
        _verdict(
            f"with declared ranges trees are never more than {BELOW} below the linear model",
            told or f"least lead {min(worst.values()):+.4f}",
            not below,
        ),
    ]


def _verdict(claim: str, found: str, holds: bool) -> dict[str, str]:
    return {"claim": claim, "found": found, "verdict": "holds" if holds else "does not hold"}


def _differences(result: Row, ahead: str, behind: str, kind: str) -> dict[str, float]:
    return {
        table: float(np.mean([row["scores"][ahead] - row["scores"][behind] for row in rows]))
        for table in result["settings"]["tables"]
        if (rows := select(result["rows"], table=table, kind=kind))
    }
