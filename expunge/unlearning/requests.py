"""All or nothing: a request, the new state and its certificate, for every kind of model."""

from collections.abc import Callable
from typing import Any, TypeVar

from expunge.accounting.certificate import Certificate
from expunge.errors import NoCertificate, NotConverged
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.ids import check_request
from expunge.unlearning.issuing import certify
from expunge.unlearning.outcome import ROWS

__all__ = ["honour"]

State = TypeVar("State", bound=Fitted)


def honour(
    fitted: State,
    ids: Any,
    request: str | None = None,
    accept: Callable[[State], None] = lambda _: None,
) -> tuple[State, Certificate]:
    """Delete these records, one id or several: the state after it, and its certificate.

    Their values are erased from the row store once everything has succeeded; the earlier state
    refuses from then on. Another thread waits.

    Args:
        request: A name of this request to publish: its certificate states it.
        accept: Looks at the new state before anything is erased, and raises what it objects to.

    Raises:
        ValueError: an id that is unknown, public, repeated or already forgotten, named.
        NoCertificate: nothing was changed; the message says why.
    """
    check_request(request)
    with fitted.rows.busy:
        rows = fitted.job.roster.rows_of(ids)
        fitted.check_unchanged()
        job = fitted.job.without(rows)
        try:
            after = fitted.after(job, fitted.strategy.forget(job, fitted.outcome))
        except NotConverged as error:
            raise NoCertificate(str(error)) from error
        certificate = certify(after, request)
        accept(after)
        secret = after.outcome.secret
        kept = [values for name, values in secret.items() if name.startswith(ROWS)]
        # Everything succeeded: only now does anything change.
        with fitted.rows.erasing(rows, kept):
            return after.with_certificate(certificate), certificate.model_copy(deep=True)
