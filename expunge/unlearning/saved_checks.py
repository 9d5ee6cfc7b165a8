"""What is read from disk, held against what it came from: parts of a state that belong together.

Digests find what was changed. This finds parts that are whole and contradict each other, such as a
document whose history is not the certificate's.
"""

from expunge.accounting.account import account
from expunge.accounting.certificate import Certificate
from expunge.accounting.verification import differences, file_differences
from expunge.store.index import digest
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.outcome import Outcome

__all__ = ["check_certificate"]


def check_certificate(fitted: Fitted, model: str) -> None:
    """Check that state, document and certificate belong together.

    Args:
        model: The hash of the model's file, as the index has it.

    Raises:
        ValueError: they do not.
    """
    job, certificate = fitted.job, fitted.certificate
    if digest(fitted.model_bytes) != model:
        raise ValueError("the weights are not those that the index names")
    certified = bool(job.roster.forgotten)
    if len(fitted.issued) != job.roster.request or (certificate is not None) != certified:
        raise ValueError(f"{len(fitted.issued)} certificates for {job.roster.request} requests")
    if certificate is None:
        return
    if certificate.sha256 != fitted.issued[-1]:
        raise ValueError("the certificate is not the last one issued")
    altered = differences(certificate)
    if altered:
        raise ValueError(f"the certificate's {altered[0].field}: {altered[0].problem}")
    if file_differences(certificate, model):
        raise ValueError("the weights are not those that the certificate is about")
    if not _is_about(certificate, fitted.outcome):
        raise ValueError("the certificate is about another history")
    stated = (certificate.forgotten, certificate.strategy, certificate.delta)
    if stated != (job.roster.forgotten, fitted.strategy.name, job.target.delta):
        raise ValueError("the certificate is about another request")


def _is_about(certificate: Certificate, outcome: Outcome) -> bool:
    """Whether it states the outcome's own constants and phases."""
    if outcome.assumptions is None or outcome.history is None:
        return False
    judged = account(outcome.assumptions, outcome.history, delta=certificate.claim.delta)
    stated = {name: value.model_dump() for name, value in certificate.assumptions.items()}
    return judged.assumptions == stated and certificate.records_of_history()[1] == outcome.history
