"""The tables of scores, from the JSON alone; seconds count only from a machine of one's own."""

from pathlib import Path
from typing import Any

import numpy as np

from experiments.tables import select

__all__ = ["gap", "report"]

ARMS = (
    "linear",
    "trees",
    "trees and ranges",
    "LightGBM on all rows",
    "LightGBM on private rows",
    "LightGBM on public rows",
)
BEST = "LightGBM on all rows"


def report(result: dict[str, Any], folder: Path) -> str:
    text = "\n\n".join([_scores(result), _gaps(result)])
    (folder / "tables.md").write_text(text + "\n")
    return text


def gap(row: dict[str, Any], arm: str) -> float:
    """How far an arm is behind LightGBM on all rows; negative where it is ahead."""
    return row["scores"][BEST] - row["scores"][arm]


def _scores(result: dict[str, Any]) -> str:
    """Means over seeds of what each arm scores."""
    lines = [
        f"| table | public rows | measure | public + private | {' | '.join(ARMS)} |",
        "|---|---|---|---:|" + "---:|" * len(ARMS),
    ]
    for table, kind in _cells(result):
        rows = select(result["rows"], table=table, kind=kind)
        means = " | ".join(f"{np.mean([row['scores'][arm] for row in rows]):.3f}" for arm in ARMS)
        counts = f"{rows[0]['public']:,} + {rows[0]['private']:,}"
        lines.append(f"| {table} | {kind} | {rows[0]['measure']} | {counts} | {means} |")
    return "\n".join(lines)


def _gaps(result: dict[str, Any]) -> str:
    """How many tables each arm is within .01 of the best on, and its median gap."""
    lines = ["| arm | public rows | median gap | within .01 |", "|---|---|---:|---:|"]
    for arm in ARMS[:3]:
        for kind in result["settings"]["kinds"]:
            gaps = [
                float(np.mean([gap(row, arm) for row in rows]))
                for rows in (
                    select(result["rows"], table=table, kind=kind)
                    for table in result["settings"]["tables"]
                )
            ]
            near = sum(each <= 0.01 for each in gaps)
            lines.append(f"| {arm} | {kind} | {np.median(gaps):.3f} | {near} of {len(gaps)} |")
    return "\n".join(lines)


def _cells(result: dict[str, Any]) -> list[tuple[str, str]]:
    settings = result["settings"]
    return [(table, kind) for table in settings["tables"] for kind in settings["kinds"]]
