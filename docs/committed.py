"""Committed results, and rows that hold the paper's claims against them.

A row is made by hand from a JSON under experiments/, or taken over from the verdicts that an
experiment states of its own rows.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Claim", "agreement", "need", "results", "rows_of_verdicts"]

ERRATUM = re.compile(r"\bE\d+\b")
EXPERIMENTS = Path(__file__).parents[1] / "experiments"


class Claim(NamedTuple):
    """A row: where the paper says what, its number and ours, and whether they agree."""

    where: str
    says: str
    paper: str
    ours: str
    agree: str
    why: str


def results(name: str, *scales: str) -> dict[str, Any] | None:
    """The committed results of an experiment: of these scales, or the largest there is."""
    for scale in scales or ("paper", "cpu"):
        path = EXPERIMENTS / name / "results" / f"{scale}.json"
        if path.exists():
            return json.loads(path.read_text())
    return None


def need(name: str, *scales: str) -> dict[str, Any]:
    """The committed results of an experiment that the page cannot do without."""
    found = results(name, *scales)
    assert found is not None, f"experiments/{name}/results has no JSON"
    return found


def rows_of_verdicts(
    name: str, where: str, shown: dict[str, str], *, scale: str | None = None
) -> Iterator[Claim]:
    """Statements that an experiment judged, by the paper's words for them.

    Args:
        shown: What an experiment's own statement ends with, and the paper's number for it.
        scale: Of the results; the largest there is if None.
    """
    found = need(name, *([scale] if scale else []))
    for row in found["verdicts"]:
        for ending, paper in shown.items():
            if row["claim"].endswith(ending):
                agree, _, why = row["verdict"].partition(": ")
                if agree.startswith("not "):  # finished, run at this scale
                    continue
                why = ERRATUM.sub(r"[\g<0>](errata.md)", why or agree)
                yield Claim(where, row["claim"], paper, row["found"], agreement(agree), why)


def agreement(verdict: str) -> str:
    """Yes, in part, no or cannot conclude, of the first words of a verdict."""
    if verdict.startswith("does not hold"):
        return "**no**"
    if verdict.startswith("cannot conclude"):
        return "cannot conclude"
    return "yes" if verdict == "holds" else "in part"
