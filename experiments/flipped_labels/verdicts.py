"""The paper's statements about accuracy, each with a difference of means and its interval.

A verdict is `holds`, `does not hold` or `cannot conclude at this scale`, the last with the number
of models of each law at which a difference of the size found would be seen four times in five.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import norm

from experiments.flipped_labels.settings import PAPER
from experiments.power import Interval, models_needed
from experiments.review_reports import SIGMA, judge_learning

__all__ = ["change", "verdicts"]

SMALL = 0.02  # two points: the paper's largest drop with clean labels is 1.17
UNLEARNT = (
    "cannot conclude at this scale: models have hardly learned, accuracies are near guesses; "
    "longer reviews, more of them or less noise could, more models could not"
)
UNFINISHED = "not finished: run the same command again"
LAWS = ("unlearned", "retrained")
Row = dict[str, Any]


def verdicts(cells: list[Row], search: Row, level: float) -> list[dict[str, str]]:
    found: list[tuple[str, str, str]] = []
    for arm in dict.fromkeys(cell["arm"] for cell in cells):
        rows = {cell["public"]: cell for cell in cells if cell["arm"] == arm and "norm" in cell}
        learnt = [
            judge_learning(row, change(row["retrained"], [0.0, 0.0], level), search)
            for row in list(rows.values())[:1]
        ]
        compared = list(_compared(SIGMA[arm], rows, level))
        if learnt and learnt[0][2] != "holds":
            compared = [(claim, told, UNLEARNT) for claim, told, _ in compared]
        found += learnt + compared
        found += [
            (f"{SIGMA[arm]}, {cell['public']}", f"{cell['models']} models", UNFINISHED)
            for cell in cells
            if cell["arm"] == arm and cell["blocks_left"]
        ]
    return [dict(zip(("claim", "found", "verdict"), one, strict=True)) for one in found]


def _compared(name: str, rows: dict[str, Row], level: float) -> Iterator[tuple[str, str, str]]:
    for place, law in enumerate(LAWS):
        for of, against, says in (
            ("with", "without", "public data lowers accuracy"),
            ("flipped", "with", "flipped labels lower it further"),
        ):
            if of in rows and against in rows:
                moved = change(rows[of][law], rows[against][law], level)
                paper = PAPER[of][place] - PAPER[against][place]
                models = len(rows[of][law])
                yield _lower(f"{name}, {law}: {says}", moved, paper, models)
                if of == "with":
                    yield _small(f"{name}, {law}", moved, models)
    for public, row in rows.items():
        yield _gap(f"{name}, {public}", row, level)


def change(of: Sequence[float], against: Sequence[float], level: float) -> Interval:
    """Of the mean, between independent samples of models."""
    both = [np.asarray(values, dtype=float) for values in (of, against)]
    value = float(both[0].mean() - both[1].mean())
    error = float(np.sqrt(sum(values.var(ddof=1) / len(values) for values in both)))
    reach = float(norm.ppf((1 + level) / 2)) * error
    return Interval(value, value - reach, value + reach)


def points(found: Interval) -> str:
    low, high = 100 * found.low, 100 * found.high
    return f"{100 * found.value:+.2f} points [{low:+.2f}, {high:+.2f}]"


def _lower(claim: str, moved: Interval, paper: float, models: int) -> tuple[str, str, str]:
    verdict = (
        f"cannot conclude at this scale: {models_needed(moved, models)} models of each law could"
    )
    if moved.high < 0:
        verdict = "holds"
    elif moved.low > 0:
        verdict = "does not hold: it rises"
    return claim, f"{points(moved)} (paper {paper:+.2f})", verdict


def _small(where: str, moved: Interval, models: int) -> tuple[str, str, str]:
    more = models_needed(moved, models, -SMALL)
    verdict = f"cannot conclude at this scale: {more} models of each law could"
    if moved.low > -SMALL:
        verdict = "holds"
    elif moved.high < -SMALL:
        verdict = "does not hold"
    return f"{where}: what public data cost is small, less than two points", points(moved), verdict


def _gap(where: str, row: Row, level: float) -> tuple[str, str, str]:
    """Signed (E37); the paper's own differences are given without errors."""
    gap = change(row["unlearned"], row["retrained"], level)
    unlearned, retrained = PAPER[row["public"]]
    most = max(abs(100 * gap.low), abs(100 * gap.high))
    verdict = (
        f"cannot conclude at this scale: less than {most:.2f} points either way; "
        f"{models_needed(gap, len(row['unlearned']))} models of each law could tell the sign"
    )
    if gap.high < 0:
        verdict = "unlearned models are worse"
    elif gap.low > 0:
        verdict = "unlearned models are better"
    found = f"unlearned - retrained {points(gap)} (paper {unlearned - retrained:+.2f})"
    return f"{where}: unlearned against retrained", found, verdict
