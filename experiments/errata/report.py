"""The errata's counter-examples as two tables and a figure, from the JSON alone."""

from pathlib import Path
from typing import Any

__all__ = ["report", "theorem_table", "variational_table"]


def report(result: dict[str, Any], folder: Path) -> str:
    """Write tables.md beside the JSON and return it."""
    tried = result["settings"]["random_settings"]
    broken = result["violations"]
    text = (
        f"{theorem_table(result)}\n\n"
        f"Random settings where the bound is below the exact divergence, of {tried:,}: "
        f"printed {broken['printed']:,}, log_sobolev {broken['log_sobolev']:,}, "
        f"shift {broken['shift']:,}.\n\n"
        f"{variational_table(result)}\n"
    )
    (folder / "tables.md").write_text(text)
    return text


def theorem_table(result: dict[str, Any]) -> str:
    lines = [
        "| setting | exact D_2 | as printed | exact / printed | corrected | shift |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in result["theorem"]:
        ratio = f"{row['exact'] / row['printed']:.3g}x" if row["printed"] else "infinite"
        lines.append(
            f"| {row['name']} | {row['exact']:.4g} | {row['printed']:.3g} | {ratio} "
            f"| {row['log_sobolev']:.4g} | {row['shift']:.4g} |"
        )
    return "\n".join(lines)


def variational_table(result: dict[str, Any]) -> str:
    lines = ["| d | exact D_2 | with the log | as printed |", "|---:|---:|---:|---:|"]
    for row in result["variational"]:
        lines.append(
            f"| {row['distance']:g} | {row['exact']:.4g} | {row['with_log']:.4g} "
            f"| {row['printed']:.4g} |"
        )
    return "\n".join(lines)
