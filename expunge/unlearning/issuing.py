"""The certificate of an outcome, whatever it is a model of."""

import hashlib
from collections.abc import Sequence
from typing import Protocol

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.certificate import Certificate
from expunge.accounting.history import History
from expunge.accounting.issue import issue
from expunge.accounting.reservations import Provenance
from expunge.accounting.stated import Retained, Stated

__all__ = ["Certifiable", "CertifiedFit", "certify"]


class Certifiable(Protocol):
    """What a certificate needs to know of an outcome."""

    @property
    def assumptions(self) -> Assumptions | None: ...

    @property
    def history(self) -> History | None: ...

    @property
    def salt(self) -> str | None: ...

    @property
    def capacity(self) -> int | None: ...

    @property
    def declared(self) -> tuple[str, ...]: ...

    @property
    def retained(self) -> tuple[str, ...]: ...


class CertifiedFit(Protocol):
    """What a certificate needs to know of the fit that it belongs to; fixed when it was made."""

    @property
    def strategy_name(self) -> str: ...

    @property
    def delta(self) -> float: ...

    @property
    def budget(self) -> float:
        """The epsilon that every certificate must meet."""
        ...

    @property
    def records(self) -> int:
        """How many records the first model was trained on, public ones included."""
        ...

    @property
    def covered(self) -> bool:
        """Whether the history accounts for every earlier model that was handed out."""
        ...

    @property
    def provenance(self) -> Provenance: ...

    @property
    def lineage(self) -> str: ...

    @property
    def certificate(self) -> Certificate | None:
        """The one before."""
        ...


def certify(
    outcome: Certifiable,
    model: bytes,
    fitted: CertifiedFit,
    *,
    forgotten: int,
    request: str | None,
    declared: Sequence[str],
) -> Certificate:
    """The next certificate of this fit.

    Args:
        model: The file that its hash names. The file of a model without noise holds a salt, so its
            hash is a commitment, which tells nothing to whoever does not have the file.
        declared: Lines of the caller's, after the outcome's own.
    """
    assert outcome.assumptions is not None
    assert outcome.history is not None
    assert outcome.salt is None or outcome.salt.encode() in model
    digest, before = hashlib.sha256(model).hexdigest(), fitted.certificate
    stated = Stated(
        strategy=fitted.strategy_name,
        earlier_releases=None if fitted.covered else "not covered",
        records=fitted.records,
        forgotten=forgotten,
        capacity=outcome.capacity,
        budget=None if outcome.capacity is None else fitted.budget,
        provenance=fitted.provenance,
        retained=[Retained(what=what) for what in outcome.retained],
        declared=[*outcome.declared, *declared],
        requests=[*(before.requests if before else []), *([request] if request else [])],
        model_sha256=None if outcome.salt else digest,
        commitments={"model": digest} if outcome.salt else {},
        workspace=fitted.lineage,
        generation=1 if before is None else before.generation + 1,
        sequence=1 if before is None else before.sequence + 1,
        previous=None if before is None else before.sha256,
    )
    return issue(outcome.assumptions, outcome.history, delta=fitted.delta, stated=stated)
