"""A wrapper that proves every certificate right after it was issued."""

import functools
from collections.abc import Callable

from expunge.accounting import checker
from expunge.accounting.certificate import Certificate
from expunge.accounting.number_checks import MOST_STEPS

__all__ = ["check_certificate", "issue_proven"]


def check_certificate(certificate: Certificate) -> None:
    """Fail unless the checker proves the claim; claims by other bounds carry no witness."""
    claim = certificate.claim
    if claim.bound != "shift":
        assert certificate.witness is None
        assert certificate.proof == "recomputed"
        return
    assumptions, history = certificate.records_of_history()
    if certificate.witness is None:  # only where its numbers are beyond what JSON keeps
        assert sum(phase.steps for phase in history.phases) >= MOST_STEPS
        return
    assert claim.mu is not None
    mu = checker.prove_mu(assumptions, history, certificate.witness.record())
    assert mu <= claim.mu, f"{mu!r} is proven, but {claim.mu!r} is claimed"
    checker.check_figures(claim.mu, epsilon=claim.epsilon, delta=claim.delta, renyi=claim.renyi)


def issue_proven(issue: Callable[..., Certificate]) -> Callable[..., Certificate]:
    """The function that issues certificates, with the checker after it."""

    @functools.wraps(issue)
    def checked(*given: object, **named: object) -> Certificate:
        certificate = issue(*given, **named)
        if checker.available():  # some tests pretend that it is not
            check_certificate(certificate)
        return certificate

    return checked
