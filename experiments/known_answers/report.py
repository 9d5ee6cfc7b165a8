"""Both tables as Markdown, from the JSON alone."""

from pathlib import Path
from typing import Any

__all__ = ["report"]


def report(result: dict[str, Any], folder: Path) -> str:
    """Write hotelling.md and discriminator.md and return both."""
    tables = {"hotelling.md": _hotelling(result), "discriminator.md": _discriminator(result)}
    for name, table in tables.items():
        (folder / name).write_text(table + "\n")
    return "\n\n".join(tables.values())


def _hotelling(result: dict[str, Any]) -> str:
    lines = [
        "| d | covariance | true D_2 | mean of estimates (sd) | intervals that cover | band "
        "| scalar metric: mean | covers |",
        "|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["hotelling"]:
        low, high = row["band"]
        lines.append(
            f"| {row['dimension']:,} | {row['spectrum']} | {row['truth']:g} "
            f"| {row['mean']:.4f} ({row['spread']:.4f}) "
            f"| {row['covered']} of {row['repetitions']} | {low} to {high} "
            f"| {row['scalar_mean']:.3f} | {row['scalar_covered']} |"
        )
    return "\n".join(lines)


def _discriminator(result: dict[str, Any]) -> str:
    lines = [
        "| d | true D_2 | on its training samples | held out | gap |",
        "|---:|---:|---:|---:|---:|",
    ]
    for row in result["discriminator"]:
        gap = row["trained"] - row["held_out"]
        lines.append(
            f"| {row['dimension']:,} | {row['truth']:g} | {row['trained']:.3f} "
            f"| {row['held_out']:.3f} | {gap:.3f} |"
        )
    return "\n".join(lines)
