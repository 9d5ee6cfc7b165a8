"""The violins of [fig:mia_results] and the tables behind them, from the JSON alone."""

from pathlib import Path
from typing import Any

from experiments.review_reports import SIGMA, scale_run, search_table
from experiments.tables import verdict_table
from expunge.report.ulira_figure import draw

__all__ = ["attack_table", "report"]

SHOWN = (1, 5, 10, 15)
Row = dict[str, Any]


def report(result: Row, folder: Path) -> str:
    """Write SCALE.png and SCALE.md, and return the tables."""
    scale = result.get("scale", "run")
    panels = _panels(result["cells"], result["settings"])
    if panels:
        (folder / f"{scale}.png").write_bytes(draw(panels, "png", unit="epochs"))
    head = (
        f"{scale_run(result)} T and K count epochs (appendix; the text says iterations), with "
        f"independent orders; {_attacks(result['settings'])} of each size, intervals by drawing "
        "shadow and test models again: conditional on the data and the forget set. With public "
        "data an epoch has more steps, in proportion to the records: each K is more unlearning, "
        "too. Apart: mean score of "
        "unlearned models minus that of retrained ones, in standard deviations, of all models. "
        f"{result['settings']['test']} test models of each law show at most epsilon = "
        f"{result['ceiling']:.2f}, whatever the attack."
    )
    note = [result["settings"]["note"]] if result["settings"]["note"] else []
    text = "\n\n".join(
        [head, *note, verdict_table(result), attack_table(result), search_table(result)]
    )
    (folder / f"{scale}.md").write_text(text + "\n")
    return text


def attack_table(result: Row) -> str:
    lines = [
        "| sigma | public | forgotten | models | K | confidence | right | sure and right "
        "| apart | test accuracy: unlearned / retrained |",
        "|---|---|---:|---:|---|---:|---:|---:|---:|---:|",
    ]
    for cell in result["cells"]:
        start = (
            f"| {cell['sigma']:g} ({SIGMA[cell['arm']]}) | {cell['public']} | {cell['forget']} "
            f"| {cell['models']} "
        )
        if "steps" not in cell:
            lines.append(f"{start}| not yet | | | | | |")
            continue
        shown = [row for row in cell["steps"] if row["unlearn_epochs"] in SHOWN]
        named = [(str(row["unlearn_epochs"]), row) for row in shown or cell["steps"]]
        named.append(("never unlearned", cell["never_unlearned"]))
        if cell["null"] is not None:
            named.append(("null: retrained twice", cell["null"]))
        accuracy = cell["test_accuracy"]
        both = " / ".join(f"{accuracy[law]['mean']:.1%}" for law in ("unlearned", "retrained"))
        for name, row in named:
            low, high = row["interval"]
            near, far = row["gap_interval"]
            lines.append(
                f"{start}| {name} | {row['confidence']:.3f} [{low:.3f}, {high:.3f}] "
                f"| {row['accuracy']:.0%} | {row['confident']:.0%} "
                f"| {row['gap']:+.2f} [{near:+.2f}, {far:+.2f}] | {both} |"
            )
    return "\n".join(lines)


def _attacks(settings: Row) -> str:
    """A block of models is as large as an attack."""
    blocks = settings["blocks"]
    return "one attack" if blocks == 1 else f"{blocks} attacks"


def _panels(cells: list[Row], settings: Row) -> list[list[Row]]:
    """Rows by sigma and forget set, without and with public data; then those without a partner in
    twos, an odd one of which is left out."""
    rows, alone = [], []
    for arm, forget in dict.fromkeys((cell["arm"], cell["forget"]) for cell in cells):
        both = [
            _panel(cell, settings)
            for cell in cells
            if (cell["arm"], cell["forget"]) == (arm, forget) and "steps" in cell
        ]
        if len(both) == 2:
            rows.append(both)
        else:
            alone += both
    return rows + [alone[place : place + 2] for place in range(0, len(alone) - 1, 2)]


def _panel(cell: Row, settings: Row) -> Row:
    """Confidences are quantiles, of the tests of both laws in every attack that there was."""
    size = settings["shadow"] + settings["test"]
    tests = 2 * settings["test"] * max(1, cell["models"] // size)
    attacks = [
        {
            "unlearn_steps": row["unlearn_epochs"],
            "confidences": row["confidences"],
            "tests": tests,
        }
        for row in cell["steps"]
    ]
    what = f"sigma {cell['sigma']:g}, {cell['forget']} forgotten, {cell['public']} public data"
    return {
        "title": what,
        "with_public": cell["public"] == "with",
        "verdict": f"trend: {cell['trend']['verdict'].split(':')[0]}",
        "attacks": attacks,
    }
