"""What a fit promised, held against every certificate, whatever the strategy did."""

from expunge.accounting.certificate import Certificate
from expunge.errors import NoCertificate
from expunge.unlearning.fitted import Fitted

__all__ = ["check_promise"]


def check_promise(fitted: Fitted, certificate: Certificate) -> None:
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
