"""Rows of results and the tables that several reports make of them."""

from collections.abc import Sequence
from typing import Any

__all__ = ["SIZE", "checks", "select", "verdict_table"]

Row = dict[str, Any]
SIZE = (
    "Whether public data alone lowers D_2 depends on how many private rows are retained "
    "(experiment `retained_rows`): verdicts on it hold for the numbers named and differ between "
    "scales."
)


def select(rows: Sequence[Row], **fixed: Any) -> list[Row]:
    """The rows whose fields have these values."""
    return [row for row in rows if all(row[name] == value for name, value in fixed.items())]


def verdict_table(result: Row) -> str:
    """The table of what the paper says, what was found, and the verdict."""
    lines = ["| the paper says | found | verdict |", "|---|---|---|"]
    lines += [f"| {r['claim']} | {r['found']} | {r['verdict']} |" for r in result["verdicts"]]
    return "\n".join(lines)


def checks(result: Row) -> str:
    """The table of every estimator on one split."""
    lines = [
        "| pair | public | forgotten | K | predicted | coupled pairs | independent models "
        "| discriminator: held out / on its training samples | certified |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["checks"]:
        seen, rough, read = row["coupled"], "-", "-"
        if row["hotelling"]:
            rough = f"{row['hotelling']['value']:.3g} +- {_error(row['hotelling']):.1g}"
        if row["discriminator"]:
            held, trained = (row["discriminator"][name] for name in ("held_out", "trained"))
            read = f"{held:.3g} / {trained:.3g}"
        lines.append(
            f"| {row['pair']} | {row['public']:,} | {row['forget']:,} | {row['unlearn_steps']} "
            f"| {row['predicted']:.4g} | {seen['value']:.4g} +- {_error(seen):.1g} "
            f"| {rough} | {read} | {row['certified']:.3g} |"
        )
    return "\n".join(lines)


def _error(estimate: Row) -> float:
    low, high = estimate["interval"]
    return (high - low) / 2 / 1.96
