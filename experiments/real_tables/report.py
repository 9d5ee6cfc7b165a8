"""Tables of scores and one figure, from the JSON alone; seconds count by their ratio only."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.real_tables.verdicts import BEST, gaps, leads
from experiments.tables import select

__all__ = ["ARMS", "draw", "report"]

ARMS = (
    "linear",
    "trees",
    "trees and ranges",
    BEST,
    "LightGBM on private rows",
    "LightGBM on public rows",
)
CERTIFIED = ARMS[:3]
STYLES = {
    "linear": ("#1b7837", "^"),
    "trees": ("#b2182b", "o"),
    "trees and ranges": ("#762a83", "D"),
    BEST: ("#333333", "s"),
    "LightGBM on public rows": ("#2166ac", "v"),
}
Row = dict[str, Any]


def report(result: Row, folder: Path) -> str:
    """Write tables.md and, where rows grow, growth.png; return the tables."""
    tables = [_scores(result), _gaps(result), _leads(result), _verdicts(result), _costs(result)]
    if result.get("growth"):
        tables.append(_growth(result))
        draw(result).savefig(folder / "growth.png", dpi=150, metadata={"Software": None})
    text = "\n\n".join(table for table in tables if table)
    (folder / "tables.md").write_text(text + "\n")
    return text


def draw(result: Row) -> Figure:
    """Scores against the number of rows, public ones a fixed share of them."""
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    rows = sorted(result["growth"], key=_count)
    for arm, (colour, marker) in STYLES.items():
        scores = [row["scores"][arm] for row in rows]
        axes.plot([_count(row) for row in rows], scores, color=colour, marker=marker, label=arm)
    axes.set_xscale("log")
    share = result["settings"]["public_share"]
    axes.set_xlabel(f"training rows of {rows[0]['table']}, {share:.0%} of them public")
    axes.set_ylabel(rows[0]["measure"])
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure


def _scores(result: Row) -> str:
    """Means over seeds of what each arm scores."""
    lines = [
        f"| table | public rows | measure | public + private | {' | '.join(ARMS)} |",
        "|---|---|---|---:|" + "---:|" * len(ARMS),
    ]
    for table, kind, rows in _cells(result):
        means = " | ".join(f"{np.mean([row['scores'][arm] for row in rows]):.3f}" for arm in ARMS)
        counts = f"{rows[0]['public']:,} + {rows[0]['private']:,}"
        lines.append(f"| {table} | {kind} | {rows[0]['measure']} | {counts} | {means} |")
    return "\n".join(lines)


def _gaps(result: Row) -> str:
    """How many tables each arm is within .01 of the best on, and its median gap."""
    lines = ["| arm | public rows | median gap | within .01 |", "|---|---|---:|---:|"]
    for arm in CERTIFIED:
        for kind in result["settings"]["kinds"]:
            behind = [*gaps(result, arm, kind).values()]
            near = sum(each <= 0.01 for each in behind)
            lines.append(f"| {arm} | {kind} | {np.median(behind):.3f} | {near} of {len(behind)} |")
    return "\n".join(lines)


def _leads(result: Row) -> str:
    """How far trees are ahead of the linear model, with the spread over seeds."""
    lines = ["| table | public rows | seeds | trees - linear | trees and ranges - linear |"]
    lines.append("|---|---|---:|---:|---:|")
    for kind in result["settings"]["kinds"]:
        means = {arm: leads(result, arm, kind) for arm in CERTIFIED[1:]}
        for table in means[CERTIFIED[1]]:
            rows = select(result["rows"], table=table, kind=kind)
            told = " | ".join(
                f"{means[arm][table]:+.4f} ({_least(rows, arm):+.4f} at least)"
                for arm in CERTIFIED[1:]
            )
            lines.append(f"| {table} | {kind} | {len(rows)} | {told} |")
    return "\n".join(lines)


def _verdicts(result: Row) -> str:
    lines = ["| claim | found | verdict |", "|---|---|---|"]
    lines += [
        f"| {each['claim']} | {each['found']} | {each['verdict']} |"
        for each in result.get("verdicts", [])
    ]
    return "\n".join(lines)


def _costs(result: Row) -> str:
    """What forgetting a share of the private rows takes, in refits of LightGBM beside it."""
    share = result["settings"]["forget_share"]
    lines = [
        f"| arm | one request for {share:.0%}, in refits of LightGBM on all rows |",
        "|---|---:|",
    ]
    for arm in CERTIFIED:
        ratios = [
            row["seconds"][arm]["deletion"] / max(1e-3, row["seconds"][BEST]["fit"])
            for row in result["rows"]
        ]
        low, middle, high = np.quantile(ratios, [0.1, 0.5, 0.9])
        lines.append(f"| {arm} | {middle:.1f} ({low:.1f} to {high:.1f}) |")
    return "\n".join(lines)


def _growth(result: Row) -> str:
    arms = list(STYLES)
    lines = [
        f"| rows of {result['growth'][0]['table']} | {' | '.join(arms)} | gap of trees |",
        "|---:|" + "---:|" * (len(arms) + 1),
    ]
    for row in sorted(result["growth"], key=_count):
        scores = " | ".join(f"{row['scores'][arm]:.4f}" for arm in arms)
        gap = row["scores"][BEST] - row["scores"]["trees"]
        lines.append(f"| {_count(row):,} | {scores} | {gap:.4f} |")
    return "\n".join(lines)


def _least(rows: list[Row], arm: str) -> float:
    return min(row["scores"][arm] - row["scores"]["linear"] for row in rows)


def _count(row: Row) -> int:
    return row["public"] + row["private"]


def _cells(result: Row) -> list[tuple[str, str, list[Row]]]:
    settings = result["settings"]
    cells = [(table, kind) for table in settings["tables"] for kind in settings["kinds"]]
    found = [(*cell, select(result["rows"], table=cell[0], kind=cell[1])) for cell in cells]
    return [cell for cell in found if cell[2]]
