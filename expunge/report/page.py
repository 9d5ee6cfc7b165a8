"""The report: one HTML file that opens without a network, drawn from JSON.

First what an attacker could tell and what is not covered; then who asked, how the model does, on
what the number rests, what an attack found, what it cost, and how to check it all.
"""

import json
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

import expunge
from expunge.accounting.attack_power import attack_in_words, round_up_text
from expunge.report import (
    attack_figure,
    confusion_figure,
    cost_figure,
    sandwich_figure,
    trade_off_figure,
)
from expunge.report.picture import inline
from expunge.report.words import (
    COVERED,
    chance_of,
    constants_of,
    limits_of,
    moment,
    noise_in_words,
    reading_of,
    scope_of,
)

__all__ = ["page"]

CURVED = "The loss is bowl-shaped: it has one best model, which learning comes back to."
REGIMES = {
    "strongly convex": CURVED,
    "convex": "Nothing is supposed about the shape of the loss beyond convexity.",
    "nonconvex": "Nothing is supposed about the shape of the loss but its smoothness.",
    "clipped": "Every record's pull is cut off, whatever the loss.",
}
ONE_DRAW = "One draw of noise around the solution is all that is certified; nothing is supposed of "
ONE_DRAW += "the steps before it."


class _Drawn(NamedTuple):
    """A figure for wide pages and for narrow ones."""

    wide: Markup
    narrow: Markup


def page(document: dict[str, Any]) -> str:
    """Render the report as one HTML page.

    Args:
        document: `title`, `data`, `operator` (or None), `written`, `model` (number and created, or
            None), `requests` with `names_published`, `joined` and `fits` (may be missing),
            `records`, `certificate` (or None), `checked` (a sentence), `commands`, `strategies`
            with `longest` (of weights, or None), `retraining` (a sentence), `evaluations` (each
            with `on`), `trade_offs` (or None), `audit` (or None).
    """
    certificate, audit = document["certificate"], document["audit"]
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {"rounded_up": round_up_text, "moment": moment, "chance": chance_of}
    sources = files("expunge.report")
    template = environment.from_string(sources.joinpath("page.html").read_text("utf-8"))
    judged = _judged(document["evaluations"])
    values: dict[str, Any] = document | {
        "joined": document.get("joined", []),
        "fits": document.get("fits", []),
        "style": Markup(sources.joinpath("page.css").read_text("utf-8")),
        "version": expunge.__version__,
        "evaluations": judged,
        "useless": _useless(judged),
        "excluded": any(price["excluded"] for price in document["strategies"]),
        "strategies": [
            price | {"noise": noise_in_words(price["release_noise_std"], document["longest"])}
            for price in document["strategies"]
        ],
        "figures": _figures(document),
        "beyond": None if audit is None else sandwich_figure.beyond(audit),
        "raw": None if certificate is None else json.dumps(certificate, indent=1),
    }
    if certificate is not None:
        claim = certificate["claim"]
        attack = attack_in_words(claim["epsilon"], claim["delta"], claim["mu"])
        values |= {
            "attack": attack,
            "statement": [line for line in claim["statement"] if line != attack],
            "who": COVERED.get(
                (certificate["observer"], certificate["earlier_releases"]),
                COVERED["final", "not covered"],
            ),
            "limits": limits_of(certificate),
            "scope": scope_of(certificate),
            "constants": constants_of(certificate["assumptions"]),
            "regime": _regime(certificate),
        }
    return template.render(values)


def _regime(certificate: dict[str, Any]) -> str:
    """What is supposed of the loss, in words."""
    known = certificate["assumptions"]
    still = all(
        known.get(name, {}).get("value") == 0 for name in ("strong_convexity", "smoothness")
    )
    return ONE_DRAW if still else REGIMES[certificate["regime"]]


def _judged(evaluations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each evaluation with what to think of it, beside the first on the same rows."""
    first: dict[str, dict[str, Any]] = {}
    found = []
    for evaluation in evaluations:
        before = first.setdefault(evaluation["on"], evaluation)
        reading = reading_of(evaluation, None if before is evaluation else before)
        found.append(evaluation | {"reading": reading})
    return found


def _useless(judged: list[dict[str, Any]]) -> str | None:
    """The sentence that opens the page where the current model, listed last, is useless."""
    useless = [one for one in judged if (one["reading"] or "").startswith("USELESS")]
    current = [one for one in useless if one["name"] in ("after", "fitted", "now")]
    if not current:
        return None
    told = current[-1]
    return f"This model is useless on {told['on']}: {told['reading'].split(': ', 1)[1]}."


def _figures(document: dict[str, Any]) -> dict[str, _Drawn | None]:
    """Each figure for wide pages and narrow ones; None where there is nothing to draw."""
    certificate, audit, drawn = document["certificate"], document["audit"], {}

    def add(name: str, label: str, draw: Any, *arguments: Any) -> None:
        drawn[name] = _Drawn(
            *(
                Markup(inline(draw(*arguments, "svg", narrow=narrow), f"{name}-{narrow:d}", label))
                for narrow in (False, True)
            )
        )

    if certificate is not None:
        claim = certificate["claim"]
        words = attack_in_words(claim["epsilon"], claim["delta"], claim["mu"])
        add("attack", f"Limit of any test, above guessing. {words}", attack_figure.draw, claim)
        able = cost_figure.possible(document["strategies"])
        if able:
            passes = ", ".join(f"{one['name']} {one['steps']:,}" for one in able)
            taken = certificate["strategy"]
            add("cost", f"Passes over the records: {passes}.", cost_figure.draw, able, taken)
    confusions = [each for each in document["evaluations"] if "confusion" in each]
    if confusions:
        told = ", ".join(f"{one['name']} {one['accuracy']:.1%} right" for one in confusions)
        add("confusion", f"Confusion matrices: {told}.", confusion_figure.draw, confusions)
    if audit is not None:
        label = f"Attack, estimate and certificate on one axis of epsilon: {audit['verdict']}."
        add("audit", label, sandwich_figure.draw, audit)
    if document["trade_offs"] is not None:
        label = "Required noise over the share forgotten, and its price over epsilon, for several "
        label += "counts of public records: more of them need less noise."
        add("trade_offs", label, trade_off_figure.draw, document["trade_offs"])
    return dict.fromkeys(("attack", "audit", "cost", "confusion", "trade_offs")) | drawn
