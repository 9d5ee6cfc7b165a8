"""Models and certificates, what made them current, and what of it is honoured."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import func, insert, select, update

from expunge.ledger.batch_entries import BatchEntries
from expunge.ledger.moment import now
from expunge.ledger.schema import (
    JournalEntry,
    Model,
    Overtaken,
    Request,
    State,
    additions,
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

    def _commit(self, request: Request) -> None:
        waiting = requests.c.number == request.number, requests.c.state == "pending"
        moved = self._connection.execute(update(requests).where(*waiting).values(state="committed"))
        if moved.rowcount != 1:
            raise Overtaken(f"request {request.number} is no longer pending")

    def close_committed(self) -> None:
        """Call honoured what is committed: the files that were to be erased for it are."""
        for table in (requests, *(each for each in (journal, additions) if self._has(each))):
            committed = update(table).where(table.c.state == "committed")
            self._connection.execute(committed.values(state="honoured"))

    def has_committed(self) -> bool:
        """Whether a request, an addition or a refresh still has files to erase."""
        done = any(each.state == "committed" for each in (*self.journal(), *self.additions()))
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
