"""The frontier's figures and tables, from the JSON alone."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments.frontier.figures import draw_frontier, draw_growth, draw_public
from expunge.report.picture import save

__all__ = [
    "all_table",
    "auto_table",
    "comparison_table",
    "final_table",
    "growth_table",
    "report",
]

Row = dict[str, Any]


def report(result: dict[str, Any], folder: Path) -> str:
    """Draw the three figures, write every table as Markdown, and return them."""
    for name, draw in (
        ("frontier", draw_frontier),
        ("public", draw_public),
        ("growth", draw_growth),
    ):
        save(draw(result), folder / f"{name}.png")
    tables = {
        "comparison": comparison_table(result),
        "auto": auto_table(result),
        "final": final_table(result),
        "all": all_table(result),
        "growth": growth_table(result),
    }
    for name, table in tables.items():
        (folder / f"{name}.md").write_text(table + "\n")
    return "\n\n".join(tables.values())


def comparison_table(result: dict[str, Any]) -> str:
    """`langevin` beside the published figures: one deletion, K = 1, accuracy in percent."""
    published = {
        (r["method"], r["epsilon"]): r["accuracy"]
        for r in result["published"]
        if result["data"][0]["source"] == "MNIST"
    }
    kinds = list(dict.fromkeys((r["rows"], r["learn_steps"]) for r in result["comparison"]))
    header = ["epsilon", "descend-to-delete", "Langevin unlearning"]
    header += [f"ours, {rows}, T = {steps:,}" for rows, steps in kinds]
    header += ["runs", "sigma", "certified epsilon"]
    body = []
    for epsilon in result["settings"]["compared_epsilons"]:
        rows = [r for r in result["comparison"] if r["epsilon"] == epsilon]
        known = [published.get((method, epsilon)) for method in ("descend-to-delete", header[2])]
        body.append(
            [
                f"{epsilon:g}",
                *("-" if value is None else f"{value:.1f}" for value in known),
                f"**{_accuracy(rows[0])}**",
                *(_accuracy(row) for row in rows[1:]),
                str(rows[0]["runs"]),
                f"{rows[0]['sigma']:.3g}",
                f"{rows[0]['certified']:.6f}",
            ]
        )
    return _table(header, body)


def auto_table(result: dict[str, Any]) -> str:
    """`auto` for observer `final` beside non-private retraining, and the largest distance."""
    epsilons = result["settings"]["epsilons"]
    header = ["task", "public", "forgotten", "retrained", *_columns(epsilons), "largest gap"]
    body = []
    for place, rows in _places(_of(result["cells"], observer="final", strategy="auto")):
        (yardstick,) = (
            row
            for row in _of(result["cells"], strategy="retrain", task=place[0])
            if (row["share"], row["deletion"]) == place[1:3]
        )
        found = {row["epsilon"]: row for row in rows}
        gap = max(abs(row["accuracy"] - yardstick["accuracy"]) for row in rows)
        body.append(
            [
                *_named(place, yardstick),
                f"{yardstick['accuracy']:.2f}",
                *(f"{found[epsilon]['accuracy']:.2f}" for epsilon in epsilons),
                f"{gap:.2f}",
            ]
        )
    return _table(header, body)


def final_table(result: dict[str, Any]) -> str:
    """Noisy descent for observer `final`."""
    rows = [r for r in _of(result["cells"], observer="final") if "unlearn_steps" in r]
    return _grid(result, rows)


def all_table(result: dict[str, Any]) -> str:
    """What joint certificates leave: the observer also holds the model from before."""
    return _grid(result, _of(result["cells"], observer="all"))


def growth_table(result: dict[str, Any]) -> str:
    """A fixed private set and deletion, and more and more public records; observer `all`."""
    rows = _of(result["growth"], observer="all")
    keys = list(dict.fromkeys((row["deletion"], row["epsilon"]) for row in rows))
    kinds = [
        (strategy, *key)
        for strategy in ("langevin", "langevin_center")
        for key in keys
        if any(row["strategy"] == strategy for row in rows)
    ]
    names = {"langevin": "langevin", "langevin_center": "around public"}
    header = ["public", "without noise", "public only"]
    header += [f"{names[s]}: {_deletion(d)}, epsilon {e:g}" for s, d, e in kinds]
    body = []
    for public in dict.fromkeys(row["public"] for row in rows):
        here = _of(rows, public=public)
        found = {(r["strategy"], r["deletion"], r["epsilon"]): _accuracy(r) for r in here}
        only = here[0]["public_only"]
        body.append(
            [
                f"{public:,}",
                f"{here[0]['without_noise']:.2f}",
                "-" if only is None else f"{only:.2f}",
                *(found.get(kind, "-") for kind in kinds),
            ]
        )
    return _table(header, body)


def _grid(result: dict[str, Any], rows: Sequence[Row]) -> str:
    epsilons = result["settings"]["epsilons"]
    header = ["task", "public", "forgotten", "strategy", "lambda", "T", "K", *_columns(epsilons)]
    body = []
    for place, some in _places(rows):
        found = {row["epsilon"]: row for row in some}
        first = some[0]
        body.append(
            [
                *_named(place, first),
                first["strategy"],
                f"{first['ridge']:g}",
                f"{first['learn_steps']:,}",
                str(first["unlearn_steps"]),
                *(_accuracy(found[epsilon]) for epsilon in epsilons),
            ]
        )
    return _table(header, body)


def _places(rows: Iterable[Row]) -> list[tuple[tuple[Any, ...], list[Row]]]:
    """Rows that differ in epsilon only, together."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        key = (
            row["task"],
            row["share"],
            row["deletion"],
            row["strategy"],
            row.get("unlearn_steps"),
        )
        groups.setdefault(key, []).append(row)
    return list(groups.items())


def _named(place: tuple[Any, ...], row: Row) -> list[str]:
    return [place[0], f"{place[1]:.0%}", f"{_deletion(place[2])} ({row['forget']:,})"]


def _deletion(deletion: int | float) -> str:
    return "1 record" if deletion == 1 else f"{deletion:.0%}"


def _columns(epsilons: Sequence[float]) -> list[str]:
    return [f"{epsilon:g}" for epsilon in epsilons]


def _accuracy(row: Row) -> str:
    error = row["standard_error"]
    return f"{row['accuracy']:.2f}" + ("" if error is None else f" +- {error:.2f}")


def _of(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def _table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
