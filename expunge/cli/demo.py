"""`expunge demo`: the required-noise figure and a plan, start to finish."""

from pathlib import Path
from typing import Annotated

import typer

from expunge.cli.output import print_json, write_whole

__all__ = ["demo"]


def demo(
    output: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("demo"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """How public data shrinks the noise a certificate needs, drawn and planned."""
    from expunge.accounting import Assumptions
    from expunge.accounting.calibration import EpsilonDelta, Setting
    from expunge.accounting.planning import plan as price
    from expunge.accounting.trade_offs import trade_offs
    from expunge.cli.plan import print_plan
    from expunge.report.trade_off_figure import draw

    loss = Assumptions(strong_convexity=0.0119, smoothness=0.2619, lipschitz=1.0)
    setting = Setting(
        loss, private=3000, public=3000, forget=900, step_size=1 / 0.2619, learn_steps=10_000
    )
    target = EpsilonDelta(1.0, 1e-5)
    planned = price(setting, target, unlearn_steps=100)
    curves = trade_offs(
        setting,
        target,
        unlearn_steps=100,
        sigma=planned.figures.sigma or 1.0,
        public_counts=(0, 3000, 30_000),
    )
    output.mkdir(parents=True, exist_ok=True)
    figure = output / "required_noise.png"
    write_whole(figure, draw(curves, "png"))
    if json:
        print_json({**planned.document(), "figure": str(figure)})
        return
    print_plan(planned)
    print(f"\nfigure: {figure}")
