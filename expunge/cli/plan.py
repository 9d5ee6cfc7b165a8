"""`expunge plan`: what a deletion will cost, before anything is run."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from expunge.cli.output import number, print_json
from expunge.core.whole_file import write_whole

if TYPE_CHECKING:
    from expunge.accounting.planning import Plan
    from expunge.accounting.setting import Setting

__all__ = ["forget_count", "plan"]

FORMATS = (".png", ".svg", ".pdf")


def plan(
    private: Annotated[int, typer.Option(help="Private records, before the deletion.")],
    forget: Annotated[str, typer.Option(help="Records to delete: 300, or 0.1 of the private.")],
    epsilon: Annotated[float, typer.Option(help="Target epsilon.")],
    delta: Annotated[float, typer.Option(help="Target delta.")],
    smoothness: Annotated[float, typer.Option(help="L of the objective, ridge included.")],
    lipschitz: Annotated[float, typer.Option(help="M, a bound on every record's gradient.")],
    learn_steps: Annotated[int, typer.Option(help="T, the steps of learning and of retraining.")],
    public: Annotated[int, typer.Option(help="Public records, never deleted.")] = 0,
    strong_convexity: Annotated[
        float | None, typer.Option(help="m; 0 is convex, absent assumes no convexity.")
    ] = None,
    radius: Annotated[float | None, typer.Option(help="R of the projection, if any.")] = None,
    step_size: Annotated[str, typer.Option(help="eta, or auto for 1/L.")] = "auto",
    unlearn_steps: Annotated[int | None, typer.Option(help="K; sigma is solved for.")] = None,
    sigma: Annotated[float | None, typer.Option(help="sigma; K is solved for.")] = None,
    normaliser: Annotated[
        Literal["mean", "fixed"], typer.Option(help="What summed gradients are divided by.")
    ] = "mean",
    observer: Annotated[
        Literal["final", "all"],
        typer.Option(
            help="Whoever sees only the model after deletion, or whoever sees all models."
        ),
    ] = "final",
    plot: Annotated[Path | None, typer.Option(help="Draw the trade-off: .png, .svg, .pdf.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Find noise, steps and public data for a target; say whether to unlearn or retrain."""
    from expunge.accounting import Assumptions, InvalidInput
    from expunge.accounting.planning import plan as price
    from expunge.accounting.setting import Setting
    from expunge.accounting.target import EpsilonDelta

    if plot is not None and plot.suffix.lower() not in FORMATS:
        raise InvalidInput("--plot", f"must end in one of {', '.join(FORMATS)}")
    with _name_the_option():
        loss = Assumptions(
            strong_convexity=strong_convexity,
            smoothness=smoothness,
            lipschitz=lipschitz,
            radius=radius,
        )
        setting = Setting(
            loss,
            private=private,
            public=public,
            forget=forget_count(forget, private),
            step_size=_step_size(step_size, smoothness),
            learn_steps=learn_steps,
            normaliser=normaliser,
            observer=observer,
        )
        target = EpsilonDelta(epsilon, delta)
        planned = price(setting, target, unlearn_steps=unlearn_steps, sigma=sigma)
    if plot is not None:
        write_whole(plot, _drawing(planned, plot.suffix[1:].lower()))
    if json:
        print_json(planned.document())
    else:
        print_plan(planned)


@contextmanager
def _name_the_option() -> Iterator[None]:
    """Make complaints name the option instead of the record's field behind it."""
    from expunge.accounting import InvalidInput

    try:
        yield
    except InvalidInput as error:
        field = error.field.removeprefix("--").split(".")[-1].replace("-", "_")
        field = {"steps": "learn_steps", "samples": "private"}.get(field, field)
        raise InvalidInput("--" + field.replace("_", "-"), error.problem) from error


def forget_count(text: str, private: int) -> int:
    """An integer is a count; a number with a decimal point in (0, 1] a share, rounded up.

    >>> forget_count("300", 3000), forget_count("0.1", 30), forget_count("1.0", 30)
    (300, 3, 30)
    """
    from expunge.accounting import InvalidInput

    if re.fullmatch(r"[0-9]{1,20}", text):
        return int(text)
    if not re.fullmatch(r"[0-9]{0,20}\.[0-9]{0,40}", text) or text == ".":
        raise InvalidInput("--forget", f"{text!r} is neither a count nor a decimal share")
    share = Fraction(f"0{text}" if text.startswith(".") else text.removesuffix("."))
    if not 0 < share <= 1:
        raise InvalidInput("--forget", f"{text}: a share of the private records is in (0, 1]")
    return math.ceil(share * private)


def _step_size(text: str, smoothness: float) -> float:
    from expunge.accounting import InvalidInput

    try:
        if text != "auto":
            return float(text)
    except ValueError as error:
        raise InvalidInput("--step-size", f"{text!r} is neither auto nor a number") from error
    if not smoothness > 0 or not math.isfinite(smoothness):
        raise InvalidInput("--smoothness", "must be finite and positive for an automatic step size")
    return 1 / smoothness


def _drawing(planned: "Plan", kind: str) -> bytes:
    from expunge.accounting.trade_offs import trade_offs
    from expunge.report.trade_off_figure import draw

    figures, setting = planned.figures, planned.setting
    curves = trade_offs(
        setting,
        planned.target,
        unlearn_steps=figures.unlearn_steps or 0,
        sigma=figures.sigma or 1.0,
        public_counts=_public_counts(setting),
    )
    return draw(curves, kind)


def _public_counts(setting: "Setting") -> list[int]:
    private = setting.private
    return sorted({0, private, 10 * private, setting.public})


def print_plan(planned: "Plan") -> None:
    """Tables for people: the verdict, the strategies, and what other bounds would have cost."""
    from rich.console import Console
    from rich.table import Table

    console, figures, setting = Console(), planned.figures, planned.setting
    target = planned.target
    console.print(
        f"Forget {setting.forget:,} of {setting.private:,} private records, with "
        f"{setting.public:,} public ones, at epsilon {target.level:g}, delta {target.delta:g} "
        f"(observer: {setting.observer})"
    )
    console.print(f"verdict: [bold]{figures.verdict}[/bold]" + _verdict_note(planned))
    table = Table(title="by bound", title_justify="left")
    for heading in ("bound", "sigma", "K", "epsilon", "public needed", "verdict"):
        table.add_column(heading, justify="left" if heading == "bound" else "right", no_wrap=True)
    for name, row in planned.bounds.items():
        if row.refused is None:
            cells = (row.sigma, row.unlearn_steps, row.epsilon, row.public_needed)
            table.add_row(name, *map(number, cells), row.verdict)
    console.print(table)
    for name, row in planned.bounds.items():
        if row.refused is not None:
            console.print(f"  [dim]{name}: {row.refused}[/dim]")
    table = Table(title="strategies, cheapest first", title_justify="left")
    for heading in ("strategy", "steps", "of retraining", "epsilon", "sigma", "noise left"):
        table.add_column(
            heading, justify="left" if heading == "strategy" else "right", no_wrap=True
        )
    for s in planned.strategies:
        if s.excluded is None:
            share = "-" if s.cost_of_retraining is None else f"{s.cost_of_retraining:.1%}"
            cells = (number(s.epsilon), number(s.sigma), number(s.release_noise_std))
            table.add_row(s.name, number(s.steps), share, *cells)
    console.print(table)
    for s in planned.strategies:
        if s.excluded is not None:
            console.print(f"  [dim]{s.name} excluded: {s.excluded}[/dim]")
    if planned.document()["vacuous"]:
        console.print("[bold red]VACUOUS[/bold red]: epsilon above 20, or delta above 1/n")


def _verdict_note(planned: "Plan") -> str:
    figures, setting = planned.figures, planned.setting
    if figures.verdict == "none":
        return (
            f": the released model needs sigma {number(figures.sigma_needed)} "
            f"or {number(figures.public_needed)} public records"
        )
    if figures.unlearn_steps is None:
        return ": no number of unlearning steps meets the target at this sigma"
    return (
        f": sigma {number(figures.sigma)}, {number(figures.unlearn_steps)} unlearning steps "
        f"against {number(setting.learn_steps)} of retraining"
    )
