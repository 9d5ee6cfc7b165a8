"""The certificate of an outcome, whatever it is a model of."""

import hashlib
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
    def salt(self) -> str | None: ...

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
    model: The released file. That of a model without noise must hold its salt: its hash is a
        commitment then, which tells nothing to whoever does not have the file.
    covered: No earlier model left the house, or the history accounts for those that did.
    declared: Lines of the caller's, after the outcome's own.
    """
    assert outcome.assumptions is not None
    assert outcome.history is not None
    assert outcome.salt is None or outcome.salt.encode() in model
    digest = hashlib.sha256(model).hexdigest()
    return issue(
        outcome.assumptions,
        outcome.history,
        delta=delta,
        strategy=strategy,
        forgotten=forgotten,
        requests=requests,
        uncovered_releases=not covered,
        comparator=outcome.comparator,
        model_sha256=None if outcome.salt else digest,
        commitments={"model": digest} if outcome.salt else {},
        declared=(*outcome.declared, *declared),
    )
