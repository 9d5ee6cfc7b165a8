"""Batches: requests that one model is to honour at once, and whether each gets a certificate."""

from collections import Counter
from collections.abc import Sequence

from sqlalchemy import insert, select

from expunge.errors import InvalidInput
from expunge.ledger.record_entries import check_printable
from expunge.ledger.request_entries import RequestEntries
from expunge.ledger.schema import Request, RequestBatch, batches

__all__ = ["BatchEntries"]


class BatchEntries(RequestEntries):
    """What the ledger says of requests that share a model."""

    def add_batch(self, asked: Sequence[tuple[str, Sequence[str]]], *, each: bool) -> RequestBatch:
        """Record pending requests, by their names, that one model is to honour at once.

        Raises:
            InvalidInput: as for `add_request`, or a name or an id that is there twice.
        """
        for name, given in Counter(name for name, _ in asked).items():
            if given > 1:
                raise InvalidInput("request", f"the name {name!r} is there twice")
        for name, ids in asked:
            if not ids:
                raise InvalidInput("ids", f"none given in {name!r}")
            check_printable(ids, name)
            self.check_name(name)
        every = [record for _, ids in asked for record in ids]
        self._check_ids(every)
        self._check_remainder(len(every))
        batch = RequestBatch(tuple(self.record(asked)), each)
        if len(asked) > 1:
            self._make_later()
            first, *_ = batch.numbers
            rows = [{"request": number, "first": first, "each": each} for number in batch.numbers]
            self._connection.execute(insert(batches), rows)
        return batch

    def batch_of(self, request: Request) -> RequestBatch:
        """The requests that are honoured together with this one, in their order."""
        for numbers, each in self.batches().values():
            if request.number in numbers:
                return RequestBatch(tuple(map(self.request, numbers)), each)
        return RequestBatch((request,))

    def batches(self) -> dict[int, tuple[list[int], bool]]:
        """The requests of each batch in their order, by the first, and whether each is certified.

        A request that a model honours alone is in none.
        """
        if not self._has(batches):
            return {}
        made: dict[int, tuple[list[int], bool]] = {}
        for row in self._connection.execute(select(batches).order_by(batches.c.request)):
            made.setdefault(row.first, ([], bool(row.each)))[0].append(row.request)
        return made
