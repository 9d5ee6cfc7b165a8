"""The tables of docs/reliability.md, from the committed results of the tortures.

A table stands between `<!-- NAME: begin -->` and `<!-- NAME: end -->`, and is made from
results/NAME.jsonl by the function of that name in `TABLES`.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.torture.flips_table import flips_table

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reliability.md"
RESULTS = Path(__file__).parent / "results"

VERBS = ("forget", "add", "refresh", "fit", "audit", "sample", "report", "export")
Lines = list[dict[str, Any]]


def kills_table(lines: Lines) -> str:
    """What was killed where, and what came of it."""
    killed = [kill for line in lines for kill in line["kills"]]
    verbs = list(dict.fromkeys(line["verb"] for line in lines))
    touched = {
        verb: sorted({line["touch"] for line in lines if line["verb"] == verb and line["touch"]})
        for verb in VERBS
        if verb in verbs
    }
    few, many = (limit(line["submitters"] for line in lines) for limit in (min, max))
    rows = [
        ("rounds, each with so many processes that ask at once", f"{len(lines)}, {few} to {many}"),
        *(
            (f"different file-changing calls of `{verb}` that a process died at", len(touches))
            for verb, touches in touched.items()
        ),
        ("such calls that no process died at yet", lines[-1]["touches_left"]),
        ("kills at such a call", sum(" at touch " in kill for kill in killed)),
        ("kills at random moments", sum(" after " in kill for kill in killed)),
        ("kills in all", len(killed)),
        ("requests that the ledger accepted", sum(line["accepted"] for line in lines)),
        (
            "unfinished before the next request came",
            sum(line["left_unfinished"] for line in lines),
        ),
        ("lost, doubled, not certified, not erased, or a reader in trouble", _wrong(lines)),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {what} | {number} |" for what, number in rows)])


def _wrong(lines: Lines) -> int:
    return sum(len(line["wrong"]) for line in lines)


TABLES: dict[str, Callable[[Lines], str]] = {
    "kills": kills_table,
    "flips": flips_table,
}


def page_with_tables(text: str) -> str:
    """The page with every table made anew."""
    for name, table in TABLES.items():
        lines = [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text().splitlines()]
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        pattern = re.compile(f"{begin}.*?{end}", re.DOTALL)
        assert pattern.search(text), f"no place for the table {name}"
        made = f"{begin}\n{table(lines)}\n{end}"
        text = pattern.sub(lambda _, made=made: made, text)
    return text


def write() -> None:
    """Write the tables into the page."""
    PAGE.write_text(page_with_tables(PAGE.read_text()))
