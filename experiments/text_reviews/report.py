"""The tables of accuracies and of seconds, from the JSON alone; seconds count as ratios."""

from pathlib import Path
from typing import Any

__all__ = ["report"]


def report(result: dict[str, Any], folder: Path) -> str:
    text = "\n\n".join([_scores(result), _costs(result)])
    (folder / "tables.md").write_text(text + "\n")
    return text


def _scores(result: dict[str, Any]) -> str:
    """Accuracy on test reviews, one column for each kind of features."""
    rows = result["rows"]
    lines = [
        f"| accuracy on {rows[0]['test']:,} test reviews | {_names(result)} |",
        "|---|" + "---:|" * len(rows),
    ]
    for arm in rows[0]["accuracy"]:
        shares = " | ".join(f"{row['accuracy'][arm]:.4f}" for row in rows)
        lines.append(f"| {arm} | {shares} |")
    return "\n".join(lines)


def _costs(result: dict[str, Any]) -> str:
    """What a deletion costs as a share of a refit, beside it in one run."""
    rows = result["rows"]
    lines = [
        f"| a deletion's time over a refit's | {_names(result)} |",
        "|---|" + "---:|" * len(rows),
    ]
    for place, deletion in enumerate(rows[0]["deletions"]):
        shares = []
        for row in rows:
            refit = row["seconds"]["scikit-learn, same ridge"]
            shares.append(f"1/{refit / max(1e-9, row['deletions'][place]['seconds']):.1f}")
        lines.append(f"| request {place + 1}: {deletion['records']:,} | {' | '.join(shares)} |")
    return "\n".join(lines)


def _names(result: dict[str, Any]) -> str:
    return " | ".join(f"{row['features']}, {row['width']:,} features" for row in result["rows"])
