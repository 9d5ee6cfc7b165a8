"""The lease: who works on the requests, under which number."""

from sqlalchemy import insert, select, update

from expunge.ledger.connected import Connected
from expunge.ledger.moment import now
from expunge.ledger.schema import Lease, Overtaken, lease

__all__ = ["LeaseEntries"]

WORK = "work"  # the name of the one lease


class LeaseEntries(Connected):
    """What the ledger says of who works."""

    def lease(self) -> Lease | None:
        """The last lease that was taken; None before the first."""
        if not self._has(lease):
            return None
        row = self._connection.execute(_THE_LEASE).first()
        return None if row is None else Lease(row.number, row.holder, row.taken)

    def take_lease(self, holder: str) -> Lease:
        """Take the lease from whoever had it, under the next number."""
        row = self._connection.execute(_THE_LEASE.with_for_update()).first()
        taken = Lease(1 if row is None else row.number + 1, holder, now())
        change = insert(lease) if row is None else update(lease).where(lease.c.name == WORK)
        self._connection.execute(change.values(name=WORK, **vars(taken)))
        return taken

    def check_lease(self, held: Lease) -> None:
        """Check that nobody has taken the lease since.

        Raises:
            Overtaken: somebody has.
        """
        row = self._connection.execute(_THE_LEASE.with_for_update()).first()
        if row is None or row.number != held.number:
            number = None if row is None else row.number
            raise Overtaken(f"lease {held.number} was taken over by lease {number}")

    def return_lease(self, held: Lease) -> None:
        """Give the lease back, unless somebody has taken it."""
        ours = lease.c.name == WORK, lease.c.number == held.number
        self._connection.execute(update(lease).where(*ours).values(holder=None))


_THE_LEASE = select(lease).where(lease.c.name == WORK)
