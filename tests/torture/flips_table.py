"""The tables about bit flips in docs/reliability.md (`tables`)."""

from collections import Counter
from typing import Any

__all__ = ["flips_table"]

Lines = list[dict[str, Any]]


def flips_table(lines: Lines) -> str:
    """What was flipped where and what came of it; harmless flips by reason; where ids stay."""
    subjects = list(dict.fromkeys(line["subject"] for line in lines))
    rows = [_row(name, [line for line in lines if line["subject"] == name]) for name in subjects]
    rows.append(("**all**", *(sum(column) for column in list(zip(*rows, strict=True))[1:])))
    heads = (
        "where", "files", "random flips", "named by file", "harmless", "silent, or not named",
        "constants, settings and cells changed alone", "of these refused by file",
        "searches for a forgotten value", "hits",
    )  # fmt: skip
    reasons = Counter[str]()
    for line in lines:
        reasons.update(line.get("harmless", {}))
    ids = sorted({name for line in lines for name in line.get("ids_in", ())})
    return "\n\n".join(
        [
            _table(heads, rows),
            "Harmless flips, all of them in bytes of `ledger.sqlite` that hold nothing:",
            _table(("reason", "flips"), sorted(reasons.items())),
            f"Files that name a forgotten record by its id: {', '.join(f'`{n}`' for n in ids)}.",
        ]
    )


def _row(name: str, lines: Lines) -> tuple[Any, ...]:
    flips, targeted, search = (
        [line for line in lines if line["kind"] == kind] for kind in ("flips", "targeted", "search")
    )
    return (
        name,
        len(flips),
        sum(line["count"] for line in flips),
        sum(line["named"] for line in flips),
        sum(sum(line["harmless"].values()) for line in flips),
        sum(len(line["wrong"]) for line in flips),
        sum(line["count"] for line in targeted),
        sum(line["named"] for line in targeted) - sum(len(line["wrong"]) for line in targeted),
        sum(line["count"] for line in search),
        sum(len(line["wrong"]) for line in search),
    )


def _table(heads: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
