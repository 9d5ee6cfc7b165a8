"""What limits a claim: an enumerated list that follows from the certificate's own facts.

`reservations` is a function of (account, history, stated facts), so `verify` recomputes it; the
sentences are made from it, never the other way round. THEORY 2.10, 2.11 and 8; DESIGN 7.
"""

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

from expunge.accounting.account import Account
from expunge.accounting.bounds.foreign import is_foreign
from expunge.accounting.history import History

__all__ = ["EarlierReleases", "Origin", "Provenance", "Reservation", "reservations_of", "sentence"]

EarlierReleases = Literal["none known", "covered", "not covered"]
Reservation = Literal[
    "assumed constants",
    "requests must not depend on released models",
    "experiment only",
    "vacuous",
    "earlier releases not covered",
    "label set from private records",
    "state may have been used twice",
    "bound of another package",
    "strategy of another package",
]
Origin = Literal["declared", "public", "private"]


class Provenance(BaseModel):
    """Where noise, labels and state came from; None where that was not stated."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    noise: Literal["operating system", "seeded"] | None = None
    labels: Origin | None = None
    state: Literal["sole", "copied"] | None = None


def reservations_of(
    judged: Account,
    history: History,
    *,
    earlier_releases: EarlierReleases,
    provenance: Provenance,
    covers_adaptive_requests: bool,
    known_strategy: bool = True,
) -> list[Reservation]:
    """Every reservation that these facts call for, the gravest first."""
    facts: dict[Reservation, bool] = {
        "assumed constants": bool(judged.assumed),
        "requests must not depend on released models": not covers_adaptive_requests
        and earlier_releases != "none known"
        and _keeps_earlier_noise(history),
        "experiment only": provenance.noise == "seeded",
        "vacuous": judged.vacuous,
        "earlier releases not covered": earlier_releases == "not covered",
        "label set from private records": provenance.labels == "private",
        "state may have been used twice": provenance.state == "copied",
        "bound of another package": is_foreign(judged.best),
        "strategy of another package": not known_strategy,
    }
    return [name for name in get_args(Reservation) if facts[name]]


def sentence(reservation: Reservation, judged: Account) -> str:
    """The sentence that a certificate states for a reservation."""
    if reservation == "assumed constants":
        names = ", ".join(judged.assumed)
        return f"This certificate rests on constants that were declared, not enforced: {names}."
    if reservation == "bound of another package":
        package = (judged.best or "").split(":")[0]
        return (
            f"The bound {judged.best} is the word of the package {package}; whoever verifies this "
            "certificate needs that package."
        )
    return SENTENCES[reservation]


SENTENCES: dict[Reservation, str] = {
    "requests must not depend on released models": "REQUESTS MUST NOT DEPEND ON RELEASED MODELS: "
    "whoever chose the records to delete must not have looked at a model that was handed out.",
    "experiment only": "EXPERIMENT ONLY: the noise is seeded and can be replayed.",
    "vacuous": "VACUOUS: epsilon is above 20, or delta above one over the records.",
    "earlier releases not covered": "EARLIER RELEASES NOT COVERED.",
    "label set from private records": "Conditional on the label set, which was taken from private "
    "records.",
    "strategy of another package": "What the model is compared with, and how many records were "
    "forgotten, is the word of the strategy's package.",
    "state may have been used twice": "That no other request was honoured from a saved or "
    "copied state is the operator's word.",
}


def _keeps_earlier_noise(history: History) -> bool:
    """Whether noise drawn before the last request is still in the model.

    Every phase before the last request trained on its records, which count as forgotten now.
    Fresh noise alone makes the claim conditional on the requests, whoever chose them (THEORY 8).
    """
    return any(phase.sigma > 0 and phase.forgotten > 0 for phase in history.phases)
