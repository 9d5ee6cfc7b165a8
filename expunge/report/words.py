"""What a certificate's and a plan's values mean, in words for people who do not compute.

No words here claim more than the values do: a value that has none is shown as it is.
"""

import math
from datetime import datetime
from typing import Any, NamedTuple

__all__ = [
    "COVERED",
    "Constant",
    "chance_of",
    "constants_of",
    "limits_of",
    "longest_weights",
    "moment",
    "noise_in_words",
    "reading_of",
    "scope_of",
]

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
LIMITS = {
    "assumed constants": "It rests on figures that were declared and never checked.",
    "requests must not depend on released models": "Whoever chose the records to delete must not "
    "have looked at a model that was handed out.",
    "experiment only": "The noise is seeded, so that it can be replayed and subtracted: an "
    "experiment, no protection.",
    "vacuous": "The figures are too weak to say anything.",
    "earlier releases not covered": "Earlier models that were handed out: whoever kept one can "
    "compare it with the new one.",
    "label set from private records": "That a label exists at all was learned from private "
    "records.",
    "state may have been used twice": "That nobody honoured another request from a copy of the "
    "saved state is the operator's word.",
    "bound of another package": "The theorem is another package's, which vouches for it.",
    "strategy of another package": "The procedure is another package's, which vouches for it.",
}
KNOWN = {
    "enforced": "made true by the program",
    "public": "computed from public records",
    "assumed": "declared by the operator, not checked",
}
MEANINGS = {
    "strong_convexity": "curvature of the loss is at least",
    "smoothness": "curvature of the loss is at most",
    "lipschitz": "one record pulls on the model with at most",
    "radius": "the weights stay within a distance of the origin of",
    "clip": "each record's pull is cut off at",
    "weight_decay": "weights are pulled to zero with",
    "initial_distance": "before the noise, the two models that are compared lie apart by at most",
    "initial_log_sobolev": "spread of the law that learning starts from",
}


SCOPE = {  # how a line of a certificate begins, and what it says
    "the phase is the release: the identity map plus one exact draw": "one exact draw of noise is "
    "all that hides the records; before it, the model lies within a proven distance of the exact "
    "solution",
    "this model only; r successive ones seen together have sqrt(r) times its mu": "this model "
    "only: whoever sees several models in a row learns more, of r models in the measure mu the "
    "square root of r times as much",
}


class Constant(NamedTuple):
    """A figure that a certificate rests on."""

    meaning: str
    value: str
    known: str
    mark: str


def constants_of(assumptions: dict[str, dict[str, Any]]) -> list[Constant]:
    """What a certificate rests on, without figures that assume nothing: those that are 0 or none.

    A curvature of 0 says that nothing is assumed of the loss: one draw of noise needs no curvature.
    """
    return [
        Constant(
            MEANINGS.get(name, name.replace("_", " ")),
            f"{constant['value']:.4g}",
            KNOWN[constant["mark"]],
            constant["mark"],
        )
        for name, constant in assumptions.items()
        if constant["value"]
    ]


def limits_of(certificate: dict[str, Any]) -> list[str]:
    """What a certificate does not cover, the gravest first."""
    return [str(LIMITS.get(name, name)) for name in certificate["reservations"]]


def scope_of(certificate: dict[str, Any]) -> list[str]:
    """How far a certificate goes, line by line; one that needs no translation as it is."""
    return [
        next((words for start, words in SCOPE.items() if line.startswith(start)), line)
        for line in certificate["scope"]
    ]


def longest_weights(l2: float, at_zero: float) -> float:
    """The norm that no trained model's weights exceed, whatever its records are.

    l2/2 |theta|^2 <= the objective at the best weights <= the loss of weights that are all zero.

    Args:
        at_zero: That loss, at most: log C for C classes, Y^2/2 for targets of at most Y.
    """
    return math.sqrt(2 * at_zero / l2)


def noise_in_words(noise: float | None, longest: float | None) -> str:
    """What noise of this standard deviation leaves of a model.

    >>> noise_in_words(0.0, 60.0), noise_in_words(974.0, 60.0)
    ('none', 'drowns the model: useless')

    Args:
        longest: No trained model has longer weights; None where that is not known.
    """
    if noise is None:
        return "not known"
    if noise == 0:
        return "none"
    if longest is None:
        return f"{noise:.2g}"
    share = noise / longest
    if share >= 1:
        return "drowns the model: useless"
    if share >= 0.1:
        return "heavy: the model is much worse"
    return "shows in the model" if share >= 0.01 else "hardly shows"


def reading_of(evaluation: dict[str, Any], before: dict[str, Any] | None = None) -> str | None:
    """What to think of an accuracy, beside always saying the commonest label.

    Args:
        before: Of the model before the deletion, on the same rows.
    """
    if "accuracy" not in evaluation or not evaluation["records"]:
        return None
    accuracy, blind = evaluation["accuracy"], _blind(evaluation)
    spread = 2 * math.sqrt(blind * (1 - blind) / evaluation["records"])
    often = f"always saying the commonest label is right {100 * blind:.1f} % of the time"
    if accuracy > blind + spread:
        return often
    if before is not None and before.get("accuracy", 0.0) > max(accuracy, blind) + spread:
        return f"USELESS: the noise drowns the model; {often}"
    if accuracy <= blind:
        return f"USELESS: {often}"
    return f"hardly better than guessing: {often}"


def _blind(evaluation: dict[str, Any]) -> float:
    """How often whoever always says the commonest label is right."""
    rows = [sum(row) for row in evaluation["confusion"]]
    return max(rows) / max(1, sum(rows))


def chance_of(delta: float) -> str:
    """A small probability as one in so many.

    >>> chance_of(1e-5)
    '1 in 100,000'
    """
    return f"1 in {1 / delta:,.0f}"


def moment(text: str) -> str:
    """A time of a ledger or a certificate, for people.

    >>> moment("2026-01-02T03:04:05Z")
    '2 January 2026, 03:04 UTC'
    """
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{when.day} {MONTHS[when.month - 1]} {when:%Y, %H:%M} UTC"


MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
