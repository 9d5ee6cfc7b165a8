"""The table, from the JSON alone."""

from pathlib import Path
from typing import Any

__all__ = ["report"]


def report(result: dict[str, Any], folder: Path) -> str:
    lines = [
        "| strategy | models of each law | certified epsilon | canaries reach "
        "| sound, flagged | a tenth of the noise, caught | unlearning skipped, caught |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        counts = " | ".join(
            _told(row, name) for name in ("sound", "a tenth of the noise", "unlearning skipped")
        )
        lines.append(
            f"| {row['strategy']} | {row['models']:,} | {row['certified_epsilon']:.3f} "
            f"| {row['reach']:.0%} | {counts} |"
        )
    table = "\n".join(lines)
    (folder / "power.md").write_text(table + "\n")
    return table


def _told(row: dict[str, Any], name: str) -> str:
    """At 95 %, and where it was counted at the confidence that decides."""
    told = f"{row['caught'][name]} of {row['repetitions']}"
    return f"{told}, {row['contradicted'][name]} decided" if "contradicted" in row else told
