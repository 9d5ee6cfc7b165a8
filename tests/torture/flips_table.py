"""The tables about bit flips in docs/reliability.md, from the committed results.

python -m tests.torture.flips_table     writes them into the page
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

__all__ = ["flips_table", "page_with_table", "write"]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reliability.md"
RESULTS = Path(__file__).parent / "results/flips.jsonl"
BEGIN, END = "<!-- flips: begin -->", "<!-- flips: end -->"

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


def page_with_table(text: str) -> str:
    """The page with the tables made anew."""
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    made = f"{BEGIN}\n{flips_table(lines)}\n{END}"
    pattern = re.compile(f"{BEGIN}.*?{END}", re.DOTALL)
    assert pattern.search(text), "no place for the table"
    return pattern.sub(lambda _: made, text)


def write() -> None:
    """Write the tables into the page."""
    PAGE.write_text(page_with_table(PAGE.read_text()))


if __name__ == "__main__":
    write()
