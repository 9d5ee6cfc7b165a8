"""Certificates are issued here: the best bound of a history, with what limits its claim.

Whatever is written follows from (assumptions, history, stated facts), except the time, so that
`recompute` gives the same certificate again.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from expunge.accounting import checker
from expunge.accounting.account import Account, account, order_key
from expunge.accounting.assumptions import Assumptions
from expunge.accounting.attack_power import attack_in_words, round_up_text
from expunge.accounting.bounds import GDP
from expunge.accounting.bounds.foreign import is_foreign
from expunge.accounting.canonical import fingerprints
from expunge.accounting.certificate import SCHEMA_VERSION, Certificate
from expunge.accounting.conversions import gdp_for_epsilon
from expunge.accounting.document import validate
from expunge.accounting.history import History, Phase
from expunge.accounting.kinds import KINDS
from expunge.accounting.reservations import Reservation, reservations_of, sentence
from expunge.accounting.stated import MOMENT, Stated, complete, counts_in_words
from expunge.errors import InvalidInput, Refused

__all__ = ["NOT_CLAIMED", "claim_in_words", "issue", "now", "recompute"]

NOT_CLAIMED = (
    "that the records' subjects are anonymous, or that other records do not describe them",
    "anything about logs, backups, caches, embeddings, or models released before",
    "anything about choices made by looking at private records outside the stated history",
    "that the stated assumptions hold, where their mark is assumed",
)


def issue(
    assumptions: Assumptions,
    history: History,
    *,
    delta: float,
    orders: Sequence[float] = (2.0, 8.0),
    stated: Stated | None = None,
    bound: str | None = None,
    proven: bool | None = None,
) -> Certificate:
    """Issue a certificate of the best bound, or of another package's bound that is asked for.

    Whether a package is installed changes no certificate that does not ask for its bound.

    Args:
        proven: Whether to prove the shift bound; by default where python-flint is installed.

    Raises:
        Refused: no bound certifies this history, or the one that was asked for does not.
        InvalidInput: the stated facts contradict the history; no package offers the bound.
    """
    stated = stated or Stated()
    judged = account(
        assumptions,
        history,
        delta=delta,
        orders=orders,
        bound=bound,
        foreign=(),
        witness=stated.witness and stated.witness.record(),
        proven=proven,
    )
    if judged.best is None or judged.epsilon is None:
        raise Refused(judged.best_reason)
    stated = complete(stated, assumptions, history)
    stated = stated.model_copy(update={"issued": stated.issued or now()})
    reservations = _reservations(judged, history, stated)
    claim = _claim(judged, reservations, stated, delta, orders)
    body: dict[str, Any] = stated.model_dump(mode="json") | {
        "schema_version": SCHEMA_VERSION,
        "claim": claim,
        **_proof(judged, claim),
        "reservations": reservations,
        "observer": judged.observer,
        "comparator": stated.comparator or judged.comparator,
        "regime": judged.regime,
        "assumptions": judged.assumptions,
        "history": {
            "normaliser": history.normaliser,
            "normaliser_count": history.normaliser_count,
            "phases": [_phase(phase) for phase in history.phases],
        },
        "scope": [*judged.scope, *counts_in_words(stated, history), *stated.declared],
        "not_claimed": list(NOT_CLAIMED),
    }
    body = json.loads(json.dumps(body, allow_nan=False))
    unsealed = validate(Certificate, body | {"fingerprints": {}})
    return unsealed.model_copy(update={"fingerprints": fingerprints(unsealed.body())})


def recompute(certificate: Certificate) -> Certificate:
    """The certificate that this one's own history and stated facts support.

    Raises:
        InvalidInput, Refused: they support no certificate.
    """
    assumptions, history = certificate.records_of_history()
    facts = {name: getattr(certificate, name) for name in Stated.model_fields}
    stated = Stated.model_validate(facts)
    delta, orders = certificate.delta, certificate.orders
    bound = certificate.claim.bound if is_foreign(certificate.claim.bound) else None
    return issue(
        assumptions,
        history,
        delta=delta,
        orders=orders,
        stated=stated,
        bound=bound,
        proven=certificate.proof == "proven" and checker.available(),
    )


def now() -> str:
    """The current time in UTC, to the second."""
    return datetime.now(UTC).strftime(MOMENT)


def _reservations(judged: Account, history: History, stated: Stated) -> list[Reservation]:
    assert stated.earlier_releases is not None
    return reservations_of(
        judged,
        history,
        earlier_releases=stated.earlier_releases,
        provenance=stated.provenance,
        covers_adaptive_requests=stated.capacity is not None,
        known_strategy=stated.strategy in KINDS,
    )


def _claim(
    judged: Account,
    reservations: Sequence[Reservation],
    stated: Stated,
    delta: float,
    orders: Sequence[float],
) -> dict[str, Any]:
    """The best bound's figures, or the budget's; in numbers and in words."""
    assert judged.best is not None
    figures = judged.bounds[judged.best]
    claim: dict[str, Any] = {
        "epsilon": figures.epsilon,
        "delta": delta,
        "bound": judged.best,
        "mu": figures.mu,
        "renyi": figures.renyi,
        "vacuous": judged.vacuous,
    }
    claim |= _budget_figures(stated.budget, judged, delta, orders)
    statement = [
        *(sentence(reservation, judged) for reservation in reservations),
        claim_in_words(judged, stated.forgotten or 0, delta, stated.budget),
        attack_in_words(claim["epsilon"], delta, claim["mu"]),
    ]
    return claim | {"statement": statement}


def _proof(judged: Account, claim: dict[str, Any]) -> dict[str, Any]:
    """The witness of a claim by the shift bound, and whether the checker has proven the claim.

    Raises:
        Refused: the checker does not confirm the claim's figures.
    """
    if claim["bound"] != "shift":
        return {"proof": "recomputed", "witness": None}
    figures = judged.bounds["shift"]
    if figures.proof == "proven":
        try:
            checker.check_figures(
                claim["mu"], epsilon=claim["epsilon"], delta=claim["delta"], renyi=claim["renyi"]
            )
        except InvalidInput as error:
            raise Refused(f"the checker does not confirm the claim: {error}") from error
    witness = None if figures.witness is None else figures.witness.document()
    return {"proof": figures.proof, "witness": witness}


def _phase(phase: Phase) -> dict[str, Any]:
    record = asdict(phase)
    if isinstance(phase.batch_size, tuple):
        record["batch_size"] = list(phase.batch_size)
    return record


def _budget_figures(
    budget: float | None, judged: Account, delta: float, orders: Sequence[float]
) -> dict[str, Any]:
    """The figures of the budget, if one was fixed at fit: a GDP filter covers that, and no less.

    Raises:
        Refused: the history is beyond the budget.
        InvalidInput: another package's bound was asked for.
    """
    if budget is None:
        return {}
    if is_foreign(judged.best):
        raise InvalidInput("bound", "a budget is counted by the shift bound alone")
    figures = judged.bounds["shift"]
    if figures.mu is None or figures.epsilon is None or figures.epsilon > budget:
        raise Refused(f"the history is beyond the budget of epsilon {budget:g} fixed at fit")
    whole = GDP(max(figures.mu, gdp_for_epsilon(budget, delta)))
    return {
        "epsilon": budget,
        "bound": "shift",
        "mu": whole.mu,
        "renyi": {order_key(order): whole.renyi(order) for order in orders},
    }


def claim_in_words(
    judged: Account, forgotten: int, delta: float, budget: float | None = None
) -> str:
    """The claim as a sentence, its epsilon rounded up."""
    plural = " was" if forgotten == 1 else "s were"
    epsilon = (judged.epsilon or 0.0) if budget is None else budget
    sees = "the final model" if judged.observer == "final" else "all models marked as released"
    return (
        f"Whoever sees {sees} cannot tell, beyond epsilon = {round_up_text(epsilon)} "
        f"at delta = {delta:g}, whether {forgotten:,} record{plural} forgotten or never used."
    )
