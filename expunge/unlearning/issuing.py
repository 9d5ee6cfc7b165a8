"""The certificate of a request, for every kind of model."""

import hashlib

from expunge.accounting.certificate import Certificate
from expunge.accounting.issue import issue
from expunge.accounting.stated import Retained, Stated
from expunge.errors import NoCertificate
from expunge.unlearning.fitted import Fitted

__all__ = ["certify"]


def certify(fitted: Fitted, request: str | None) -> Certificate:
    """Issue the next certificate of a fit.

    The hash is of the model's file. The file of a model without noise holds a salt, so its hash is
    a commitment, which tells nothing to whoever does not have the file.

    Args:
        fitted: The state after the request; its certificate is still that of the request before.
        request: The name to publish; earlier ones are on the certificates before, by `previous`.
    """
    outcome, before, model = fitted.outcome, fitted.certificate, fitted.model_bytes
    assert outcome.assumptions is not None
    assert outcome.history is not None
    assert outcome.salt is None or outcome.salt.encode() in model
    digest, target = hashlib.sha256(model).hexdigest(), fitted.job.target
    stated = Stated(
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
        requests=[] if request is None else [request],
        model_sha256=None if outcome.salt else digest,
        commitments={"model": digest} if outcome.salt else {},
        workspace=fitted.lineage,
        generation=fitted.job.roster.request,
        sequence=1 if before is None else before.sequence + 1,
        previous=None if before is None else fitted.issued[-1],
    )
    certificate = issue(outcome.assumptions, outcome.history, delta=target.delta, stated=stated)
    _check_promise(fitted, certificate)
    return certificate


def _check_promise(fitted: Fitted, certificate: Certificate) -> None:
    """Check that a certificate is what the fit promised, whatever the strategy did.

    Raises:
        NoCertificate: it is for another observer, or misses a target that its strategy must meet.
    """
    job, claim = fitted.job, certificate.claim
    if job.observer == "all" and certificate.observer != "all":
        raise NoCertificate(
            f"observer 'all' was promised, and the history of {fitted.strategy.name} covers "
            f"observer {certificate.observer!r} only"
        )
    met = claim.epsilon is not None and claim.epsilon <= job.target.level
    if not (met or getattr(fitted.strategy, "may_miss_target", False)):
        raise NoCertificate(
            f"epsilon {claim.epsilon} of {fitted.strategy.name} is above the target "
            f"{job.target.level:g}"
        )
