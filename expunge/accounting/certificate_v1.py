"""Certificates of schema 1, from before reservations were enumerated: read, never issued.

They are held against their own history as they always were: sentences found by their first words,
canonical form sorted JSON as Python prints it.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from expunge.accounting.account import Account, account
from expunge.accounting.assumptions import Regime
from expunge.accounting.certificate import (
    Claim,
    Constant,
    ConstantRecord,
    HistoryRecord,
    orders_of,
    records_of,
)
from expunge.accounting.issue import NOT_CLAIMED, claim_in_words
from expunge.errors import Refused

__all__ = ["CertificateV1"]


class CertificateV1(BaseModel):
    """A claim about one model, as earlier versions stated it."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    schema_version: Literal["1"]
    claim: Claim
    strategy: str
    observer: Literal["final", "all"]
    earlier_releases: Literal["none known", "covered", "not covered"]
    comparator: str
    regime: Regime
    assumptions: dict[Constant, ConstantRecord]
    history: HistoryRecord
    forgotten: int = Field(ge=0)
    scope: list[str]
    declared: list[str]
    not_claimed: list[str]
    requests: list[str]
    model_sha256: str | None
    commitments: dict[str, str]
    fingerprints: dict[str, str]

    @staticmethod
    def write(value: object) -> str:
        """The canonical form of schema 1."""
        return json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )

    def body(self) -> dict[str, Any]:
        """Everything that a fingerprint covers."""
        return self.model_dump(mode="json", exclude={"fingerprints"})

    def supported_body(self) -> dict[str, Any]:
        """The body that this certificate's own history supports.

        Raises:
            InvalidInput, Refused: the history supports no certificate.
        """
        assumptions, history = records_of(self.assumptions, self.history, self.claim.delta)
        orders = orders_of(self.claim)
        delta = self.claim.delta
        judged = account(assumptions, history, delta=delta, orders=orders, foreign=())
        if judged.best is None or judged.epsilon is None:
            raise Refused(judged.best_reason)
        figures = judged.bounds[judged.best]
        uncovered = self.earlier_releases == "not covered"
        releases = "covered" if history.released_early else "none known"
        claim = {
            "epsilon": judged.epsilon,
            "delta": self.claim.delta,
            "bound": judged.best,
            "mu": figures.mu,
            "renyi": figures.renyi,
            "vacuous": judged.vacuous,
            "statement": _statement(judged, self, uncovered),
        }
        follows = {
            "claim": claim,
            "observer": judged.observer,
            "earlier_releases": "not covered" if uncovered else releases,
            "comparator": judged.comparator if self.strategy == "langevin" else self.comparator,
            "regime": judged.regime,
            "assumptions": judged.assumptions,
            "scope": [*judged.scope, *self.declared],
            "not_claimed": list(NOT_CLAIMED),
        }
        if self.strategy in ("langevin", "noise_first"):
            follows["forgotten"] = max(phase.forgotten for phase in history.phases)
        return self.body() | json.loads(json.dumps(follows, allow_nan=False))


def _statement(judged: Account, stated: CertificateV1, uncovered: bool) -> list[str]:
    declared: Sequence[str] = stated.declared
    lines = [f"{line}." for line in declared if line.startswith("EXPERIMENT ONLY")]
    if judged.assumed:
        names = ", ".join(judged.assumed)
        lines.append(
            f"This certificate rests on constants that were declared, not enforced: {names}."
        )
    if judged.vacuous:
        lines.append("VACUOUS: epsilon is above 20, or delta above one over the records.")
    if uncovered:
        lines.append("EARLIER RELEASES NOT COVERED.")
    lines += [f"C{line[1:]}." for line in declared if line.startswith("conditional on")]
    return [*lines, claim_in_words(judged, stated.forgotten, stated.claim.delta)]
