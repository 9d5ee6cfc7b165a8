"""The certificate of an outcome, whatever it is a model of."""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Protocol

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.certificate import Certificate, issue
from expunge.accounting.history import History

__all__ = ["Certifiable", "issued"]


class Certifiable(Protocol):
    """What a certificate needs to know of an outcome."""

    @property
    def assumptions(self) -> Assumptions | None: ...

    @property
    def history(self) -> History | None: ...

    @property
    def comparator(self) -> str | None: ...

    @property
    def noise_free(self) -> bool: ...

    @property
    def declared(self) -> tuple[str, ...]: ...


def issued(
    outcome: Certifiable,
    model: bytes,
    *,
    delta: float,
    strategy: str,
    forgotten: int,
    requests: Sequence[str],
    covered: bool,
    declared: Sequence[str],
) -> Certificate:
    """Args:
    model: The released file; a model without noise gets a salted commitment, because its plain
        hash would tell who is in it.
    covered: No earlier model left the house, or the history accounts for those that did.
    declared: Lines of the caller's, after the outcome's own.
    """
    assert outcome.assumptions is not None
    assert outcome.history is not None
    salted = hashlib.sha256(secrets.token_bytes(32) + model).hexdigest()
    return issue(
        outcome.assumptions,
        outcome.history,
        delta=delta,
        strategy=strategy,
        forgotten=forgotten,
        requests=requests,
        uncovered_releases=not covered,
        comparator=outcome.comparator,
        model_sha256=None if outcome.noise_free else hashlib.sha256(model).hexdigest(),
        commitments={"model": salted} if outcome.noise_free else {},
        declared=(*outcome.declared, *declared),
    )
