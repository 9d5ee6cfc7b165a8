"""Models and certificates, what made them current, and what of it is honoured."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import func, insert, select, update

from expunge.ledger.batch_entries import BatchEntries
from expunge.ledger.fits import begin_fit, honour_left_out, left_at
from expunge.ledger.moment import now
from expunge.ledger.newcomers import retire
from expunge.ledger.schema import (
    JournalEntry,
    Model,
    Overtaken,
    Request,
    State,
    additions,
    fits,
    journal,
    models,
    requests,
)
from expunge.ledger.schema import certificates as certified

__all__ = ["ModelEntries"]


class ModelEntries(BatchEntries):
    """What the ledger says of models."""

    def add_model(
        self,
        *,
        sha256: str,
        seal: str,
        evaluation: str | None = None,
        honours: Sequence[Request] = (),
        certificates: Sequence[str] = (),
    ) -> Model:
        """Record the new current model; commit the requests that it honours, mark their records.

        They are `honoured` once what knew their records is erased: `close_committed`.

        Raises:
            Overtaken: a request is no longer pending.
        """
        number = 1 + (self._scalar(select(func.max(models.c.number))) or 0)
        model = Model(
            number,
            sha256,
            now(),
            honours[0].number if honours else None,
            seal,
            evaluation,
        )
        # Digests of files with records that are gone would let somebody try what was in them.
        self._connection.execute(update(models).values(seal=""))
        self._connection.execute(insert(models), vars(model))
        for request in honours:
            self._commit(request)
        for document in certificates:
            row = {"model": number, "document": document}
            self._connection.execute(insert(certified), row)
        return model

    def begin_fit(
        self,
        blocks: Iterable[list[dict[str, Any]]],
        *,
        sha256: str,
        seal: str,
        evaluation: str | None = None,
        name: str | None = None,
        back: Sequence[str] = (),
        released_before: bool,
    ) -> Model:
        """Record a new fit and its model; nothing of the one before is current any more.

        Whoever the new tables lack has left: their request, which nobody made yet, is committed,
        and so are pending ones whose records have all left.

        Args:
            blocks: The records of the new tables, as `fits.begin_fit` takes them.
            name: What to call that request.
            back: Ids that were forgotten and are in the new tables.
            released_before: A model of an earlier fit was handed out.

        Raises:
            InvalidInput: the name is taken.
        """
        self._make_later()
        if back:
            retire(self._connection, self.rows_of(back))
        model = self.add_model(sha256=sha256, seal=seal, evaluation=evaluation)
        fit, left = begin_fit(
            self._connection, self._where, blocks, model.number, released_before=released_before
        )
        if left:
            self.record([(self.check_name(name), left)])
        honour_left_out(self._connection, fit)
        self.erase_earlier(model)
        return model

    def left_at(self) -> Mapping[int, int]:
        """The first model of the fit that honoured a request, by the request's number."""
        return left_at(self._connection)

    def _commit(self, request: Request) -> None:
        waiting = requests.c.number == request.number, requests.c.state == "pending"
        moved = self._connection.execute(update(requests).where(*waiting).values(state="committed"))
        if moved.rowcount != 1:
            raise Overtaken(f"request {request.number} is no longer pending")

    def close_committed(self) -> None:
        """Call honoured what is committed: the files that were to be erased for it are."""
        for table in (requests, *(each for each in (journal, additions, fits) if self._has(each))):
            committed = update(table).where(table.c.state == "committed")
            self._connection.execute(committed.values(state="honoured"))

    def has_committed(self) -> bool:
        """Whether a request, an addition or a refresh still has files to erase."""
        entries = (*self.journal(), *self.additions(), *self.fits())
        done = any(each.state == "committed" for each in entries)
        return done or bool(self.requests("committed"))

    def refresh_model(self, model: Model, *, seal: str) -> Model:
        """Record that a model has new secret state; it and its certificate stay as they are."""
        if not self._has(journal):
            journal.create(self._connection)  # a ledger of an earlier version
        this = models.c.number == model.number
        self._connection.execute(update(models).where(this).values(seal=seal))
        row = {"what": "refresh", "model": model.number, "done": now(), "state": "committed"}
        self._connection.execute(insert(journal), row)
        return replace(model, seal=seal)

    def journal(self) -> list[JournalEntry]:
        """What was done without a request, the oldest first."""
        if not self._has(journal):
            return []
        rows = self._connection.execute(select(journal).order_by(journal.c.number))
        return [JournalEntry(**row._mapping) for row in rows]

    def models(self) -> list[Model]:
        """Models, the oldest first; the last is current."""
        rows = self._connection.execute(select(models).order_by(models.c.number))
        return [Model(**row._mapping) for row in rows]

    def certificates(self, state: State | None = None) -> dict[int, str]:
        """Canonical JSON of every certificate, by number.

        Args:
            state: Only those of requests and additions in this state.
        """
        query = select(certified.c.number, certified.c.document)
        if state is not None:
            numbers = {request.number for request in self.requests(state)}
            made = {model.number for model in self.models() if model.request in numbers}
            made |= {each.model for each in self.additions() if each.state == state}
            query = query.where(certified.c.model.in_(made))
        rows = self._connection.execute(query.order_by(certified.c.number))
        return {row.number: row.document for row in rows}

    def chains(self) -> list[dict[int, str]]:
        """The certificates of each fit, the first one's first: each fit begins a chain anew."""
        begins = [1, *(fit.model for fit in self.fits())]
        chains: list[dict[int, str]] = [{} for _ in begins]
        query = select(certified).order_by(certified.c.number)
        for row in self._connection.execute(query):
            chains[bisect_right(begins, row.model) - 1][row.number] = row.document
        return chains

    def certificate_of(self, model: Model) -> str | None:
        """The certificate of a model, the last where it has several."""
        query = select(certified.c.document).where(certified.c.model == model.number)
        return self._scalar(query.order_by(certified.c.number.desc()))

    def certificates_by_request(self) -> dict[int, int]:
        """The number of the certificate that each request has, by the request's."""
        made, numbers = self.batches(), {}
        for row in self._connection.execute(
            select(certified.c.number, certified.c.model).order_by(certified.c.number)
        ):
            numbers.setdefault(row.model, []).append(row.number)
        answers: dict[int, int] = {}
        for model in self.models():
            if model.request is not None and model.number in numbers:
                asked, each = made.get(model.request, ([model.request], True))
                own = numbers[model.number] if each else numbers[model.number] * len(asked)
                answers |= dict(zip(asked, own, strict=True))
        return answers

    def erase_earlier(self, than: Model) -> None:
        """Forget hash and scores of earlier models: both tell who was among their records."""
        earlier = models.c.number < than.number
        erased = {"sha256": "erased", "evaluation": None}
        self._connection.execute(update(models).where(earlier).values(**erased))
