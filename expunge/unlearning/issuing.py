"""The certificate of a request, for every kind of model."""

import hashlib

from expunge.accounting.certificate import Certificate
from expunge.accounting.issue import issue
from expunge.accounting.stated import Retained, Stated
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.promise import check_promise

__all__ = ["certify", "issue_for", "stated_of"]


def certify(fitted: Fitted, request: str | None) -> Certificate:
    """Issue the next certificate of a fit.

    The hash is of the model's file. The file of a model without noise holds a salt, so its hash is
    a commitment, which tells nothing to whoever does not have the file.

    Args:
        fitted: The state after the request; its certificate is still that of the request before.
        request: The name to publish; earlier ones are on the certificates before, by `previous`.
    """
    return issue_for(fitted, stated_of(fitted, [] if request is None else [request]))


def stated_of(fitted: Fitted, requests: list[str]) -> Stated:
    """What the next certificate of a fit states beside assumptions and history."""
    outcome, before, model = fitted.outcome, fitted.certificate, fitted.model_bytes
    assert outcome.salt is None or outcome.salt.encode() in model
    digest, target = hashlib.sha256(model).hexdigest(), fitted.job.target
    return Stated(
        strategy=fitted.strategy.name,
        comparator=getattr(fitted.strategy, "comparator", None),
        earlier_releases=None if fitted.covered else "not covered",
        records=fitted.job.roster.records,
        joined=fitted.job.roster.joined,
        forgotten=fitted.job.roster.forgotten,
        capacity=outcome.capacity,
        budget=None if outcome.capacity is None else target.level,
        provenance=fitted.provenance,
        retained=[Retained(what=what) for what in outcome.retained],
        declared=[*outcome.declared, *fitted.remarks],
        requests=requests,
        model_sha256=None if outcome.salt else digest,
        commitments={"model": digest} if outcome.salt else {},
        workspace=fitted.lineage,
        generation=fitted.job.roster.request,
        sequence=1 if before is None else before.sequence + 1,
        previous=None if before is None else fitted.issued[-1],
    )


def issue_for(fitted: Fitted, stated: Stated) -> Certificate:
    """Issue a certificate, and check it against what the fit promised.

    Raises:
        NoCertificate: it is not what was promised.
    """
    outcome = fitted.outcome
    assert outcome.assumptions is not None
    assert outcome.history is not None
    delta = fitted.job.target.delta
    certificate = issue(outcome.assumptions, outcome.history, delta=delta, stated=stated)
    check_promise(fitted, certificate)
    return certificate
