"""Tables of the comparison, from the JSON alone."""

from pathlib import Path
from typing import Any

__all__ = ["error", "estimates", "finer", "mismatches", "report", "utilities"]

Row = dict[str, Any]


def report(result: dict[str, Any], folder: Path) -> str:
    """Write tables.md, and return it."""
    parts = [estimates(result), utilities(result)]
    if result["mismatch"]:
        parts.append(mismatches(result))
    text = "\n\n".join(parts)
    (folder / "tables.md").write_text(text + "\n")
    return text


def estimates(result: dict[str, Any]) -> str:
    """D_2 by every method; errors are standard errors, from 95 % intervals."""
    lines = [
        "| norm | public | init | K | predicted | coupled | independent models | models | "
        "error, one ensemble / coupled | predicted / independent | logits on probes | seconds: "
        "predicted, coupled |",
        "|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for row in result["rows"]:
        told, seen, rough = row["predicted"], row["coupled"], row["hotelling"]
        ratio = "-"
        if rough["value"] > 0.2:
            ratio = f"{told['value'] / rough['value']:.3f}"
        times = f"{told['seconds']:.1f}, {seen['seconds']:.1f}"
        beyond = any("outside its range" in note for note in told["notes"])
        lines.append(
            f"| {row['norm']:g} | {row['public']:,} | {row['init']} | {row['unlearn_steps']} "
            f"| {told['value']:.5g}{' (outside its range)' if beyond else ''} "
            f"| {seen['value']:.5g} +- {error(seen):.1g} | {rough['value']:.4g} +- "
            f"{error(rough):.1g} | {row['ensembles']} x {row['models']:,} | {finer(row):,.0f} "
            f"| {ratio} | {row['probes']['value']:.3g} | {times} |"
        )
    return "\n".join(lines)


def utilities(result: dict[str, Any]) -> str:
    """Private test loss, unlearned minus retrained, signed (E37)."""
    lines = [
        "| norm | public | init | K | unlearned | retrained | difference | relative | accuracy |",
        "|---:|---:|---|---:|---:|---:|---:|---:|---|",
    ]
    for row in result["rows"]:
        cost = row["utility"]
        lines.append(
            f"| {row['norm']:g} | {row['public']:,} | {row['init']} | {row['unlearn_steps']} "
            f"| {cost['unlearned']:.5g} | {cost['retrained']:.5g} "
            f"| {cost['difference']:+.2g} +- {cost['standard_error']:.1g} "
            f"| {cost['relative']:+.2%} | {cost['accuracy'][0]:.3f} / {cost['accuracy'][1]:.3f} |"
        )
    return "\n".join(lines)


def mismatches(result: dict[str, Any]) -> str:
    lines = [
        "| public | private | told apart | KL at least | D_2 at least | D_inf (99 %) | |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for row in result["mismatch"]:
        beyond = row["d_infinity"]["value"]
        note = next((n for n in row["d_infinity"]["notes"] if "cannot" in n), "")
        lines.append(
            f"| {row['public']} | {row['private']} | {row['accuracy']:.1%} "
            f"| {row['kl']['value']:.3g} | {row['renyi_2']['value']:.3g} "
            f"| {'-' if beyond is None else f'{beyond:.3g}'} | {note} |"
        )
    return "\n".join(lines)


def finer(row: Row) -> float:
    """How many times the error of coupled pairs goes into that of one ensemble."""
    return error(row["hotelling"]) * row["ensembles"] ** 0.5 / error(row["coupled"])


def error(estimate: Row) -> float:
    low, high = estimate["interval"]
    return (high - low) / 2 / 1.96
