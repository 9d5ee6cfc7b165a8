"""What every way to choose the ridge loses, as a table from the JSON alone."""

from pathlib import Path
from typing import Any

import numpy as np

from experiments.public_settings.run import of_task

__all__ = ["mean_loss", "report"]

Row = dict[str, Any]
MEANT = {"given": "pairs", "columns": "tables' columns", "leaves": "tables' leaves"}


def report(result: Row, folder: Path) -> str:
    """Write SCALE.md, and return it."""
    scale, settings = result.get("scale", "run"), result["settings"]
    head = (
        f"Scale `{scale}` on {result['device']}, {result['seconds']:.0f} s. Accuracy in percent on "
        "private test rows, of tables AUC or R2, without noise; "
        f"{settings['share']:.0%} public records, at most "
        f"{settings['most']:,} records; {settings['seeds']} splits. `best` is the best ridge for "
        "the test rows, which nobody knows; the other columns are points lost against it."
    )
    text = "\n\n".join([head, _verdicts(result), table(result)])
    (folder / f"{scale}.md").write_text(text + "\n")
    return text


def _verdicts(result: Row) -> str:
    lines = ["| claim | found | verdict |", "|---|---|---|"]
    lines += [f"| {r['claim']} | {r['found']} | {r['verdict']} |" for r in result["verdicts"]]
    return "\n".join(lines)


def table(result: Row) -> str:
    """Losses by task and row norm, and their means."""
    fixed = [f"{l2:g}" for l2 in result["settings"]["fixed"]]
    lines = [
        "| pair | public records | row_norm | records | best | best l2 | chosen l2 | public "
        f"| not rescaled | {' | '.join(fixed)} |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|" + "---:|" * len(fixed),
    ]
    for task in result["settings"]["tasks"]:
        for norm in result["settings"]["row_norms"]:
            rows = [row for row in of_task(result, task) if row["row_norm"] == norm]
            if rows:
                lines.append(_line(f"{_name(task)} | {task['public']} | {norm}", rows, fixed))
    for features in ("given", "columns", "leaves"):
        if any(row.get("features", "given") == features for row in result["rows"]):
            names = ("chosen", "not_rescaled", *fixed)
            cells = " | ".join(f"{100 * mean_loss(result, name, features):.1f}" for name in names)
            lines.append(f"| mean of {MEANT[features]} | | | | | | | {cells} |")
    return "\n".join(lines)


def mean_loss(result: Row, name: str, features: str = "given") -> float:
    """What a choice loses on average over all rows of a kind; a fixed ridge by its number."""
    rows = [row for row in result["rows"] if row.get("features", "given") == features]
    return float(np.mean([_lost(row, name) for row in rows]))


def _name(task: Row) -> str:
    features = task.get("features", "given")
    return task["pair"] if features == "given" else f"{task['pair']}, {features}"


def _lost(row: Row, name: str) -> float:
    return row["best"] - (row[name] if name in row else row["fixed"][name])


def _line(head: str, rows: list[Row], fixed: list[str]) -> str:
    def median(name: str) -> float:
        return float(np.median([row[name] for row in rows]))

    best = 100 * float(np.mean([row["best"] for row in rows]))
    lost = [np.mean([_lost(row, name) for row in rows]) for name in ("chosen", "not_rescaled")]
    lost += [np.mean([_lost(row, name) for row in rows]) for name in fixed]
    cells = " | ".join(f"{100 * each:.1f}" for each in lost)
    records = rows[0]["records"]
    values = f"{records:,} | {best:.1f} | {median('best_l2'):.1e} | {median('chosen_l2'):.1e}"
    return f"| {head} | {values} | {cells} |"
