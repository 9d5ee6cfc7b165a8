"""All or nothing: a request, the new state and its certificate, for every kind of model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from expunge.accounting.certificate import Certificate
from expunge.errors import InvalidInput, NoCertificate, NotConverged
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.ids import as_list, check_names, check_request
from expunge.unlearning.issuing import certify, certify_batch
from expunge.unlearning.job import Job
from expunge.unlearning.outcome import ROWS, Outcome

__all__ = ["exchange", "honour", "honour_batch", "join", "refresh"]

State = TypeVar("State", bound=Fitted)


def honour(
    fitted: State,
    ids: Any,
    request: str | None = None,
    accept: Callable[[State], None] = lambda _: None,
    keep: Callable[[State], None] = lambda _: None,
) -> tuple[State, Certificate]:
    """Delete these records, one id or several: the state after it, and its certificate.

    Their values are erased from the row store once everything has succeeded; the earlier state
    refuses from then on. Another thread waits.

    Args:
        request: A name of this request to publish: its certificate states it.
        accept: Looks at the new state before anything is erased, and raises what it objects to.
        keep: Takes the new state as the request's last step (`Holding.replacing`).

    Raises:
        ValueError: an id that is unknown, public, repeated or already forgotten, named.
        NoCertificate: nothing was changed; the message says why.
    """
    check_request(request)
    with fitted.rows.busy:
        rows = fitted.job.roster.rows_of(ids)
        made, (certificate,) = _let_go(
            fitted, rows, lambda after: [certify(after, request)], accept, keep
        )
        return made, certificate


def honour_batch(
    fitted: State,
    requests: Iterable[Any],
    names: Sequence[str] | None = None,
    *,
    each: bool = True,
    accept: Callable[[State], None] = lambda _: None,
    keep: Callable[[State], None] = lambda _: None,
) -> tuple[State, list[Certificate]]:
    """Honour several requests by one model: the state after all of them, and the certificates.

    All of them or none.

    Args:
        requests: The ids of each, one or several; no id is in two of them.
        names: A name of each to publish: its certificate states it.
        each: A certificate for each request, in their order; else one for all of them.
        accept, keep: As for `honour`.

    Raises:
        ValueError: no requests, names that are not one for each, or ids as for `honour`.
        NoCertificate: nothing was changed; the message says why.
    """
    asked = _listed(requests)
    published = check_names(names, len(asked))
    with fitted.rows.busy:
        roster = fitted.job.roster
        for ids in asked:
            roster.rows_of(ids)  # says what is wrong with one request
        rows = roster.rows_of([id_ for ids in asked for id_ in ids])
        return _let_go(
            fitted, rows, lambda after: certify_batch(after, published, each=each), accept, keep
        )


def _listed(requests: Iterable[Any]) -> list[list[Any]]:
    """The ids of each request.

    Raises:
        ValueError: there are no requests, or they are no collection.
    """
    if isinstance(requests, str | bytes | Mapping) or not isinstance(requests, Iterable):
        raise ValueError(f"requests: must be a list with the ids of each, not {requests!r:.40}")
    asked = [as_list(ids) for ids in requests]
    if not asked:
        raise ValueError("requests: none given")
    return asked


def _let_go(
    fitted: State,
    rows: Sequence[int],
    issue: Callable[[State], list[Certificate]],
    accept: Callable[[State], None],
    keep: Callable[[State], None],
) -> tuple[State, list[Certificate]]:
    """The state without these rows, and its certificates; only then are the rows erased."""
    fitted.check_request(rows)
    after = _after(fitted, fitted.job.without(rows), fitted.strategy.forget)
    certificates = issue(after)
    accept(after)
    secret = after.outcome.secret
    kept = [values for name, values in secret.items() if name.startswith(ROWS)]
    # Everything succeeded: only now does anything change.
    with fitted.rows.erasing(rows, kept):
        made = after.with_certificates(certificates, rows)
        keep(made)
    return made, [certificate.model_copy(deep=True) for certificate in certificates]


def join(
    fitted: State,
    columns: Sequence[Any],
    ids: Any,
    *,
    again: bool = False,
    request: str | None = None,
    accept: Callable[[State], None] = lambda _: None,
    keep: Callable[[State], None] = lambda _: None,
) -> tuple[State, Certificate | None]:
    """Add records: the state after it, and its certificate; None while nothing was forgotten.

    The earlier state refuses from then on. Another thread waits.

    Args:
        columns: Their values, as the row store has them, checked and within their bounds.
        ids: One for each; None goes on with row numbers.
        again: Ids that were forgotten may come back, as new records.
        request, accept, keep: As for `honour`.

    Raises:
        ValueError: an id that is there, has been forgotten, or is given twice, named.
        NoCertificate: nothing was changed; the message says why.
    """
    check_request(request)
    _check_room(fitted)
    with fitted.rows.busy:
        before = fitted.job.roster
        roster = before.with_more(ids, len(columns[-1]), again=again)
        fitted.check_request([before.records - 1])  # its block goes on with the new rows
        with fitted.rows.adding(columns) as longer:  # nothing has changed if anything here fails
            after = _after(fitted, fitted.job.with_more(roster, longer), fitted.strategy.add)
            certificate = certify(after, request) if roster.forgotten else None
            accept(after)
            made = after.with_certificates([certificate] if certificate else [], roster.last_joined)
            keep(made)
        return made, None if certificate is None else certificate.model_copy(deep=True)


def exchange(
    fitted: State,
    gone: Any,
    columns: Sequence[Any],
    ids: Any,
    *,
    request: str | None = None,
    accept: Callable[[State], None] = lambda _: None,
    keep: Callable[[State], None] = lambda _: None,
) -> tuple[State, Certificate]:
    """Delete some records and add others, in one request: the state after it, and its certificate.

    For records that are to be corrected. The earlier state refuses from then on.

    Args:
        gone: The ids of those that leave.
        columns, ids: Of those that join, as for `join`; ids of those that leave may come back.
        request, accept, keep: As for `honour`.

    Raises:
        ValueError: as `honour` and `join`.
        NoCertificate: nothing was changed; the message says why.
    """
    check_request(request)
    _check_room(fitted)
    if not hasattr(fitted.strategy, "exchange"):
        raise NoCertificate(
            f"exchange: strategy {fitted.strategy.name!r} cannot, because its history tells who "
            "joined by how many records there were; forget first, then add"
        )
    with fitted.rows.busy:
        before = fitted.job.roster
        rows = before.rows_of(gone)
        roster = before.exchanged(rows, ids, len(columns[-1]))
        touched = [*rows, before.records - 1]  # whose block goes on with the new rows
        fitted.check_request(touched)
        with fitted.rows.exchanging(rows, columns) as (longer, erase):
            after = _after(fitted, fitted.job.with_more(roster, longer), fitted.strategy.exchange)
            certificate = certify(after, request)
            accept(after)
            secret = after.outcome.secret
            erase([values for name, values in secret.items() if name.startswith(ROWS)])
            made = after.with_certificates([certificate], [*rows, *roster.last_joined])
            keep(made)
        return made, certificate.model_copy(deep=True)


def _check_room(fitted: Fitted) -> None:
    """Check that records can join this kind of model.

    Raises:
        NoCertificate: it is a network.
    """
    if not (fitted.job.row_columns or fitted.job.rows_on_disk):
        raise NoCertificate("add: no records can join a network; fit again with all of them")


def refresh(fitted: State) -> State:
    """The same model, its secret state made anew from the records that are there.

    What records forgotten since helped to make is not in it any more. Another thread waits.

    Raises:
        InvalidInput: the strategy keeps no such state.
        NoCertificate: nothing was changed; the message says why.
    """
    strategy = fitted.strategy
    if not hasattr(strategy, "refresh"):
        raise InvalidInput("refresh", f"strategy {strategy.name!r} keeps no anchor to replace")
    with fitted.rows.busy:
        fitted.check_unchanged()
        try:
            outcome = strategy.refresh(fitted.job, fitted.outcome)
        except NotConverged as error:
            raise NoCertificate(str(error)) from error
        return replace(fitted, outcome=outcome.lay_out(), fingerprint=None)


def _after(fitted: State, job: Job, verb: Callable[[Any, Outcome], Outcome]) -> State:
    """The state after a request, made from records that are as they were.

    Raises:
        NoCertificate: the strategy gave none, or read records that have changed.
    """
    try:
        after = fitted.after(job, verb(job, fitted.outcome))
    except Exception as error:
        fitted.check_unchanged()  # which says better what is wrong
        if isinstance(error, NotConverged):
            raise NoCertificate(str(error)) from error
        raise
    if after.outcome.read_every_row and not job.rows_on_disk:  # whose chunks have digests
        fitted.check_unchanged()
    return after
