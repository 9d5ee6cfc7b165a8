"""Several requests that one model honours: all of them or none, and a certificate for each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from expunge.accounting.certificate import Certificate
from expunge.accounting.issue import now
from expunge.accounting.stated import BatchPlace
from expunge.core.checks import flag
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.holding import Holding
from expunge.unlearning.ids import as_list
from expunge.unlearning.issuing import issue_for, stated_of
from expunge.unlearning.requests import let_go

__all__ = ["BatchRequests", "certify_batch", "check_names", "honour_batch"]

State = TypeVar("State", bound=Fitted)
Handed = TypeVar("Handed")


class BatchRequests(Holding[State, Handed]):
    """Whoever holds a fitted state that honours several requests at once."""

    def forget_batch(
        self, requests: Iterable[Any], names: Sequence[str] | None = None, *, each: bool = True
    ) -> list[Certificate]:
        """Honour several requests by one model, all or none; returns their certificates.

        Args:
            requests: The ids of each, one or several; no id is in two of them.
            names: A name of each to publish: its certificate states it.
            each: A certificate for each request, in their order; else one for all of them.

        Raises:
            ValueError, NoCertificate: as for `forget`; nothing was changed.
        """
        each, accept = flag("each", each), self.accept
        with self.replacing() as keep:
            answer = honour_batch(
                self.fitted_, requests, names, each=each, accept=accept, keep=keep
            )
        return answer[1]


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
        accept, keep: As for `requests.honour`.

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
        return let_go(
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
        return [issue_for(fitted, stated_of(fitted, together).model_copy(update={"batch": batch}))]
    stated = stated_of(fitted, []).model_copy(update={"issued": now()})
    issued: list[Certificate] = []
    for place, requests in enumerate(published, start=1):
        own = {"requests": requests, "batch": BatchPlace(of=count, place=place)}
        if issued:
            own |= {"sequence": issued[-1].sequence + 1, "previous": issued[-1].sha256}
        issued.append(issue_for(fitted, stated.model_copy(update=own)))
    return issued


def check_names(names: Any, count: int) -> Sequence[str | None]:
    """Names of so many requests; None for each where none are given.

    Raises:
        ValueError: they are not one text for each, or one is there twice.
    """
    if names is None:
        return [None] * count
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) != count:
        raise ValueError(f"names: must be one for each of the {count} requests")
    for name in names:
        if not (isinstance(name, str) and name):
            raise ValueError(f"names: must be texts, not {name!r}")
    if len(set(names)) != count:
        raise ValueError("names: one is given twice")
    return names
