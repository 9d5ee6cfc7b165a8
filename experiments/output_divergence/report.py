"""Tables of the output-space divergence, from the JSON alone."""

from pathlib import Path
from typing import Any

from experiments.tables import verdict_table

__all__ = ["report"]

Row = dict[str, Any]


def report(result: Row, folder: Path) -> str:
    """Write SCALE.md and return it."""
    scale, settings = result.get("scale", "run"), result["settings"]
    chain = settings["chain"]
    head = (
        f"Scale `{scale}`: {settings['pair']}, {settings['retained']:,} private rows retained, "
        f"rows of norm {result['norm']:g}, zero init, full batch, T = {chain['learn_steps']}, K = "
        f"{settings['unlearn_steps']}, eta = {chain['step_size']:g}, sigma = {chain['sigma']:g}; "
        f"{settings['models']:,} independent models of each law."
    )
    text = "\n\n".join([head, verdict_table(result), table(result)])
    (folder / f"{scale}.md").write_text(text + "\n")
    return text


def table(result: Row) -> str:
    """D_2 of the outputs by kind and number of queries, beside the weights' and the certified."""
    lines = [
        "| forget set | public | asked | queries | D_2 of outputs | D_2 of weights | share "
        "| certified |",
        "|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        low, high = row["interval"]
        lines.append(
            f"| {row['forget_set']} | {row['public']:,} | {row['asked']} | {row['queries']} "
            f"| {row['value']:.3g} [{low:.3g}, {high:.3g}] | {row['weights']:.3g} "
            f"| {row['value'] / row['weights']:.0%} | {row['certified']:.3g} |"
        )
    return "\n".join(lines)
