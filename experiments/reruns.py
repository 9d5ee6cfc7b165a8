"""A result that was made again, held against the one it replaces, number by number.

    python -m experiments again NAME FOLDER --scale SCALE

Times, machines and commits differ and are not compared. What agreed is noted in one file, so that a
reader of the new result knows what became of the old one.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from experiments.running import RERUNS, ROOT

__all__ = ["NOTES", "Agreement", "compare", "reruns", "take_over", "write_note"]

NOTES = ROOT.parent / RERUNS
OF_THE_RUN = {
    "commit", "device", "judged", "packages", "part_seconds", "sampling_seconds", "seconds",
    "verdicts", "versions",
}  # fmt: skip
MISSING = object()


@dataclass(frozen=True)
class Agreement:
    """How far two results agree.

    Args:
        numbers: That were compared.
        differing: Of them, not equal to the last bit.
        largest: Relative difference, of the larger of the two; and where it is.
        otherwise: Places where something else than a number differs.
    """

    numbers: int
    differing: int
    largest: float
    where: str
    otherwise: tuple[str, ...] = ()


def reruns() -> dict[str, dict[str, Any]]:
    """What is noted, by experiment and scale."""
    return json.loads(NOTES.read_text()) if NOTES.exists() else {}


def compare(old: Any, new: Any) -> Agreement:
    """Hold two results against each other.

    >>> compare({"rows": [1.0, 2.0], "seconds": 3}, {"rows": [1.0, 2.5], "seconds": 4})
    Agreement(numbers=2, differing=1, largest=0.2, where='/rows/1', otherwise=())
    """
    numbers, apart, otherwise = 0, {}, []
    for place, first, second in _leaves(old, new, ""):
        if _is_number(first) and _is_number(second):
            numbers += 1
            if first != second:
                apart[place] = abs(first - second) / max(abs(first), abs(second))
        elif first != second:
            otherwise.append(place)
    where = max(apart, key=apart.__getitem__, default="")
    return Agreement(numbers, len(apart), apart.get(where, 0.0), where, tuple(otherwise))


def take_over(name: str, scale: str, made: Path) -> Agreement:
    """Put a result in place of the committed one and note how far the two agree."""
    place = ROOT / name / "results" / f"{scale}.json"
    old, new = (json.loads(path.read_text()) for path in (place, made))
    found = compare(old, new)
    write_note(f"{name}, {scale}", old["commit"], new["commit"], found)
    place.write_text(made.read_text())
    return found


def write_note(result: str, before: str, now: str | None, found: Agreement) -> None:
    """Note how far a result of one commit agrees with that of another."""
    notes = {**reruns(), result: {"before": before, "now": now, **asdict(found)}}
    NOTES.write_text(json.dumps(dict(sorted(notes.items())), indent=1) + "\n")


def _leaves(old: Any, new: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted((old.keys() | new.keys()) - OF_THE_RUN):
            yield from _leaves(old.get(key, MISSING), new.get(key, MISSING), f"{place}/{key}")
    elif isinstance(old, list) and isinstance(new, list):
        for number, (first, second) in enumerate(zip_longest(old, new, fillvalue=MISSING)):
            yield from _leaves(first, second, f"{place}/{number}")
    else:
        yield place, old, new


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
