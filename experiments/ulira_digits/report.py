"""The violins of [fig:mia_results] and the tables behind them, from the JSON alone."""

from pathlib import Path
from typing import Any

from expunge.report.ulira_figure import draw

__all__ = ["over_steps", "report", "retained", "verdicts"]

SHOWN = (1, 5, 10, 15)


def report(result: dict[str, Any], folder: Path) -> str:
    """Write ulira.png and tables.md, and return the tables."""
    cells = result["cells"]
    panels = [
        [_panel(cell) for cell in cells if cell["with_public"] is public]
        for public in (False, True)
    ]
    (folder / "ulira.png").write_bytes(draw(panels, "png"))
    text = "\n\n".join([verdicts(result), over_steps(result), retained(result)])
    (folder / "tables.md").write_text(text + "\n")
    return text


def verdicts(result: dict[str, Any]) -> str:
    """Whether confidence falls with K, and with public data."""
    lines = [
        "| forgotten | public | confidence at K = 1 | change for each step | verdict | "
        "change by public data | never unlearned |",
        "|---:|---|---:|---:|---|---:|---:|",
    ]
    helped = {one["forget"]: one for one in result["public"]}
    for cell in result["cells"]:
        trend, by = cell["trend"], helped[cell["forget"]]
        low, high = trend["interval"]
        public = "with" if cell["with_public"] else "without"
        change = f"{by['difference']:+.3f} +- {by['standard_error']:.3f}"
        control = cell["positive_control"]["confidence"]["mean"]
        lines.append(
            f"| {cell['forget']} | {public} | {0.5 + trend['excess']:.3f} "
            f"| {trend['slope']:+.4f} [{low:+.4f}, {high:+.4f}] | {trend['verdict']} "
            f"| {change if cell['with_public'] else ''} | {control:.3f} |"
        )
    return "\n".join(lines)


def over_steps(result: dict[str, Any]) -> str:
    """Attacks by K, with the null control and what the large attack proves."""
    settings = result["settings"]
    lines = [
        "| forgotten | public | K | D_2 predicted (rows of norm 1) | confidence | accuracy | AUC | "
        "null: accuracy | epsilon at least (large attack) | "
        f"most that {settings['test']} test models show |",
        "|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for cell in result["cells"]:
        for row in cell["steps"]:
            if row["unlearn_steps"] not in SHOWN:
                continue
            public = "with" if cell["with_public"] else "without"
            accuracy, null = row["accuracy"], ""
            if row["null"] is not None:
                found = row["null"]["accuracy"]
                null = f"{found['mean']:.3f} +- {found['standard_error']:.3f}"
            lines.append(
                f"| {cell['forget']} | {public} | {row['unlearn_steps']} "
                f"| {row['predicted_renyi_2']:.3g} | {row['confidence']['mean']:.3f} "
                f"| {accuracy['mean']:.3f} +- {accuracy['standard_error']:.3f} "
                f"| {row['auc']['mean']:.3f} "
                f"| {null} "
                f"| {row['large_attack']['epsilon_lower_bound']:.3g} | {row['ceiling']:.2g} |"
            )
    return "\n".join(lines)


def retained(result: dict[str, Any]) -> str:
    """What retained records show of their membership."""
    lines = [
        "| forgotten | public | K | AUC, unlearned | retrained | difference | null | verdict |",
        "|---:|---|---:|---:|---:|---:|---:|---|",
    ]
    for cell in result["cells"]:
        for row in cell["retained"]:
            (low, high), null = row["interval"], row["null"]
            public = "with" if cell["with_public"] else "without"
            lines.append(
                f"| {cell['forget']} | {public} | {row['unlearn_steps']} "
                f"| {row['unlearned']:.4f} | {row['retrained']:.4f} "
                f"| {row['difference']:+.1e} [{low:+.1e}, {high:+.1e}] | {null:+.1e} "
                f"| {row['verdict']} |"
            )
    return "\n".join(lines)


def _panel(cell: dict[str, Any]) -> dict[str, Any]:
    public = "with public data" if cell["with_public"] else "without public data"
    records = "1 record" if cell["forget"] == 1 else f"{cell['forget']} records"
    verdict = cell["trend"]["verdict"].split(":")[0]
    return {
        "title": f"{records}, {public}",
        "with_public": cell["with_public"],
        "verdict": f"trend: {verdict}",
        "attacks": cell["steps"],
    }
