"""Predictions of a committed result, made again on its first splits: minutes of a CPU.

    python -m experiments first-splits NAME --splits 1

Results of many splits that were made on another machine can be held against today's code this way.
The prediction and the certified bound of every point are compared, at the six digits that are kept.
"""

import importlib
import json
from dataclasses import replace
from typing import Any

from experiments.head_closeness import predictions
from experiments.head_problems import BASE, Point, Variant
from experiments.progress import show_progress
from experiments.reruns import Agreement, compare, write_note
from experiments.running import ROOT, commit, names

__all__ = ["hold_first_splits", "variants"]

Row = dict[str, Any]
SAME = ("pair", "variant", "public", "retained", "forget")  # points that designs share


def hold_first_splits(name: str, splits: int) -> Agreement:
    """Make the predictions of the first splits again, and note how far they agree."""
    found = json.loads((ROOT / name / "results" / "paper.json").read_text())
    rows = [row for row in found["rows"] if row["method"] == "linear noise"]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[field] for field in SAME), []).append(row)
    settings = importlib.import_module(f"experiments.{name}.settings").SCALES["paper"]
    old, new = [], []
    for group in show_progress(list(groups.values()), name):
        made = _again(replace(settings, splits=splits), name, group)
        for row in group:
            old.append(_kept(row, splits))
            new.append(made[row["unlearn_steps"]])
    agreement = compare(old, new)
    result = f"{name}, paper: predictions on {splits} of {settings.splits} splits"
    write_note(result, found["commit"], commit(ROOT.parent, names()), agreement)
    return agreement


def variants(name: str) -> dict[str, Variant]:
    """The predictable variants of an experiment by their names in rows."""
    module = importlib.import_module(f"experiments.{name}.settings")
    if hasattr(module, "VARIANTS"):
        return module.VARIANTS
    return {"base": BASE, **module.SCALES["paper"].factors}


def _again(settings: Any, name: str, group: list[Row]) -> dict[int, Row]:
    """What is compared of one point, by K."""
    row = group[0]
    ks = sorted({one["unlearn_steps"] for one in group})
    made = predictions(
        replace(settings, unlearn_steps=tuple(ks)),
        row["pair"],
        row["design"],
        row["variant"],
        variants(name)[row["variant"]],
        [Point(row["public"], row["retained"], row["forget"])],
    )
    return {one["unlearn_steps"]: _kept(one, settings.splits) for one in made}


def _kept(row: Row, splits: int) -> Row:
    return {"certified": row["certified"], "values": row["values"][:splits]}
