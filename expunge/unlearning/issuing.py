"""The certificate of a request, or of several that one model honours, for every kind of model."""

import hashlib
from collections.abc import Sequence

from expunge.accounting.certificate import Certificate
from expunge.accounting.issue import issue, now
from expunge.accounting.stated import BatchPlace, Retained, Stated
from expunge.errors import NoCertificate
from expunge.unlearning.fitted import Fitted

__all__ = ["certify", "certify_batch"]


def certify(fitted: Fitted, request: str | None) -> Certificate:
    """Issue the next certificate of a fit.

    The hash is of the model's file. The file of a model without noise holds a salt, so its hash is
    a commitment, which tells nothing to whoever does not have the file.

    Args:
        fitted: The state after the request; its certificate is still that of the request before.
        request: The name to publish; earlier ones are on the certificates before, by `previous`.
    """
    return _issue(fitted, _state(fitted, [] if request is None else [request]))


def certify_batch(fitted: Fitted, names: Sequence[str | None], *, each: bool) -> list[Certificate]:
    """Issue what a model needs that honours several requests at once: one certificate, or one each.

    Those for each say the same, of the same model; each names the one before by its digest.

    Args:
        fitted: As for `certify`.
        names: One for each request in their order: what to publish, None for nothing.
    """
    published, count = [[] if name is None else [name] for name in names], len(names)
    if count == 1 or not each:
        batch = BatchPlace(of=count, place=None) if count > 1 else None
        together = [name for some in published for name in some]
        return [_issue(fitted, _state(fitted, together).model_copy(update={"batch": batch}))]
    stated = _state(fitted, []).model_copy(update={"issued": now()})
    issued: list[Certificate] = []
    for place, requests in enumerate(published, start=1):
        own = {"requests": requests, "batch": BatchPlace(of=count, place=place)}
        if issued:
            own |= {"sequence": issued[-1].sequence + 1, "previous": issued[-1].sha256}
        issued.append(_issue(fitted, stated.model_copy(update=own)))
    return issued


def _state(fitted: Fitted, requests: list[str]) -> Stated:
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


def _issue(fitted: Fitted, stated: Stated) -> Certificate:
    """Issue a certificate, and check it against what the fit promised.

    Raises:
        NoCertificate: it is not what was promised.
    """
    outcome = fitted.outcome
    assert outcome.assumptions is not None
    assert outcome.history is not None
    delta = fitted.job.target.delta
    certificate = issue(outcome.assumptions, outcome.history, delta=delta, stated=stated)
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
