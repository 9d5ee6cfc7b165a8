"""All or nothing: a request, the new state and its certificate, for every kind of model."""

from typing import Any, TypeVar

from expunge.accounting.certificate import Certificate
from expunge.errors import NoCertificate, NotConverged
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.ids import check_request
from expunge.unlearning.issuing import certify
from expunge.unlearning.outcome import ROWS

__all__ = ["honour"]

State = TypeVar("State", bound=Fitted)


def honour(fitted: State, ids: Any, request: str | None = None) -> tuple[State, Certificate]:
    """Delete these records, one id or several; return the state after it and its certificate.

    Their values are erased from the row store once everything has succeeded; the earlier state
    refuses from then on.

    Args:
        request: What the operator calls this request; the certificate names it.

    Raises:
        ValueError: an id is unknown, public, repeated or already forgotten; it is named.
        NoCertificate: no certificate could be issued and nothing was changed; the message says why.
    """
    check_request(request)
    rows = fitted.job.roster.rows_of(ids)
    fitted.check_unchanged()
    job = fitted.job.without(rows)
    try:
        after = fitted.after(job, fitted.strategy.forget(job, fitted.outcome))
    except NotConverged as error:
        raise NoCertificate(str(error)) from error
    certificate = certify(after, request)
    # Everything succeeded: only now does anything change.
    fitted.rows.erase(rows)
    for name, values in after.outcome.secret.items():
        if name.startswith(ROWS):
            values[rows] = 0
    return after.with_certificate(certificate), certificate.model_copy(deep=True)
