"""The report: one HTML file that opens without a network, drawn from JSON.

First who could still learn what, and what retraining would have cost; then what was certified, on
what it rests, how the models do, and the certificate itself.
"""

import base64
import json
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from expunge.accounting.attack_power import round_up_text
from expunge.report import (
    attack_figure,
    confusion_figure,
    cost_figure,
    sandwich_figure,
    trade_off_figure,
)

__all__ = ["page"]

COVERED = {
    ("final", "not covered"): (
        "Somebody who kept a model from before the deletion can still compare the two and learn "
        "about the deleted records. This certificate does not cover them; only strategies for "
        "observer “all” do. Whoever sees the new model alone learns no more than is stated here."
    ),
    ("final", "none known"): (
        "Whoever sees the new model alone learns no more than is stated here. No earlier model is "
        "known to have been handed out; if one was, its holder is not covered."
    ),
    ("all", "covered"): (
        "Even somebody who holds every model that was released, the one from before the deletion "
        "included, learns no more than is stated here."
    ),
}


def page(document: dict[str, Any]) -> str:
    """Render the report as one HTML page.

    Args:
        document: `title`, `data`, `records`, `certificate` (or None), `strategies`, `retraining` (a
            sentence), `evaluations` with `evaluated_on`, `trade_offs` (or None), `audit` (or None).
    """
    certificate = document["certificate"]
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["rounded_up"] = round_up_text
    template = environment.from_string(files("expunge.report").joinpath("page.html").read_text())
    return template.render(
        **document,
        who=None if certificate is None else _who(certificate),
        figures=_figures(document),
        raw=None if certificate is None else json.dumps(certificate, indent=1),
    )


def _who(certificate: dict[str, Any]) -> str:
    observer, earlier = certificate["observer"], certificate["earlier_releases"]
    return COVERED.get((observer, earlier), COVERED["final", "not covered"])


def _figures(document: dict[str, Any]) -> dict[str, str | None]:
    """Each figure as a data URI; None where there is nothing to draw."""
    certificate, drawn = document["certificate"], {}
    if certificate is not None:
        drawn["attack"] = attack_figure.draw(certificate["claim"])
        if document["strategies"]:
            drawn["cost"] = cost_figure.draw(document["strategies"], certificate["strategy"])
    confusions = [each for each in document["evaluations"] if "confusion" in each]
    if confusions:
        drawn["confusion"] = confusion_figure.draw(confusions)
    if document["audit"] is not None:
        drawn["audit"] = sandwich_figure.draw(document["audit"])
    if document["trade_offs"] is not None:
        drawn["trade_offs"] = trade_off_figure.draw(document["trade_offs"], "svg")
    uris = {
        name: "data:image/svg+xml;base64," + base64.b64encode(content).decode()
        for name, content in drawn.items()
    }
    return dict.fromkeys(("attack", "audit", "cost", "confusion", "trade_offs")) | uris
