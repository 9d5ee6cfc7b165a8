"""What was run, where, and how long it took: three tables of docs/paper_reproduced.md."""

from importlib import import_module
from typing import Any

from docs.committed import results
from experiments.reruns import reruns
from experiments.running import names
from experiments.timing import LIMIT, seconds_of, times

__all__ = ["EXPERIMENTS_SHOWN", "reruns_table", "runs_table", "times_table"]

EXPERIMENTS_SHOWN = (
    "required_noise",
    "errata",
    "known_answers",
    "evidence",
    "unlearn_or_retrain",
    "renyi_vs_public_data",
    "initial_divergence",
    "alignment_utility",
    "ulira_digits",
    "ulira_reviews",
    "flipped_labels",
    "sandwich",
    "frontier",
    "mass_unlearning",
    "retained_rows",
    "output_divergence",
    "networks",
    "audit_power",
)


def runs_table() -> str:
    """Scale, machine and seconds behind each result; a smaller one beside it if that is cleaner."""
    lines = ["| experiment | scale run | machine | seconds | commit |", "|---|---|---|---:|---|"]
    for name in EXPERIMENTS_SHOWN:
        found = results(name)
        lines.append(_run(name, found) if found else f"| `{name}` | {_awaited(name)} | | | |")
        if found and _is_dirty(found) and (smaller := results(name, "cpu")):
            lines += [] if _is_dirty(smaller) else [_run(name, smaller)]
        if larger := results(name, "large"):
            lines.append(_run(name, larger))
    return "\n".join(lines)


def _run(name: str, found: dict[str, Any]) -> str:
    seconds = found.get("seconds")
    total = sum(seconds.values()) if isinstance(seconds, dict) else seconds
    shown = "not recorded" if total is None else f"{total:,.0f}"
    machine = found.get("device", "not recorded")
    commit = found["commit"] + (f", judged {found['judged']}" if "judged" in found else "")
    return f"| `{name}` | {found['scale']} | {machine} | {shown} | {commit} |"


def _is_dirty(found: dict[str, Any]) -> bool:
    return found["commit"].endswith("-dirty")


def _awaited(name: str) -> str:
    return f"**not yet run**: `python -m experiments run {name} --scale paper`"


def reruns_table() -> str:
    """Results that were made again, and how far they agree with those before."""
    lines = [
        "| result | before | again | numbers | differ | by at most, relative |",
        "|---|---|---|---:|---:|---:|",
    ]
    for result, note in reruns().items():
        name, scale = result.split(", ", 1)
        most = "equal to the last bit"
        if note["differing"]:
            most = f"{note['largest']:.0e} at `{note['where']}`"
        lines.append(
            f"| `{name}`, {scale} | {note['before']} | {note['now']} | {note['numbers']:,} "
            f"| {note['differing']:,} | {most} |"
        )
    return "\n".join(lines)


def times_table() -> str:
    """Seconds of every experiment at the scale `cpu`, as noted, or else as its result says.

    Where `cpu` and `paper` run the same, the result of either says it.
    """
    lines = [
        "| experiment | seconds | processor seconds | threads | commit |",
        "|---|---:|---:|---:|---|",
    ]
    noted = times()
    return "\n".join([*lines, *(_time(name, noted.get(name)) for name in names())])


def _time(name: str, noted: dict[str, Any] | None) -> str:
    if noted is not None:
        processor = noted["processor_seconds"]
        spent = "of kept blocks" if processor is None else f"{processor:,.0f}"
        took = _within(noted["seconds"], processor if noted["threads"] == 1 else None)
        return f"| `{name}` | {took} | {spent} | {noted['threads']} | {noted['commit']} |"
    found = results(name, "cpu")
    scales = import_module(f"experiments.{name}.settings").SCALES
    if found is None and scales["cpu"] == scales.get("paper"):
        found = results(name, "paper")
    if found is None or not seconds_of(found):
        return f"| `{name}` | not measured | | | |"
    return f"| `{name}` | {_within(seconds_of(found), None)} | | | {found['commit']} |"


def _within(seconds: float, alone: float | None) -> str:
    """The seconds of a clock, marked if neither they nor those of an idle core keep the limit."""
    kept = min(seconds, seconds if alone is None else alone) <= LIMIT
    return f"{seconds:,.0f}" if kept else f"**{seconds:,.0f}**"
