"""How far long work is: rows, how many a second, and how long the rest will take."""

import time
from collections.abc import Callable

from expunge.core.part_engine import Observed, PartEngine

__all__ = ["RowRate", "watched_passes"]

Progress = Callable[[str], None]
OFTEN = 0.2  # seconds between two lines


class RowRate:
    """Tells how far some work on rows is.

    Args:
        what: The work, in a word or two.
        total: How many rows there are; None where nobody knows before the end.
        said: Told a line now and then.
    """

    def __init__(self, what: str, total: int | None, said: Progress) -> None:
        self.what, self.total, self.said = what, total, said
        self._began = self._told = time.monotonic()

    def at(self, rows: int) -> None:
        """So many rows are done."""
        now = time.monotonic()
        if now - self._told < OFTEN and rows != self.total:
            return
        self._told, each = now, rows / max(1e-9, now - self._began)
        line = f"{self.what}: {rows:,}"
        if self.total is None:
            self.said(f"{line} rows, {each:,.0f} a second")
            return
        left = (self.total - rows) / max(1e-9, each)
        self.said(f"{line} of {self.total:,} rows, {each:,.0f} a second, {_shown(left)} left")


def watched_passes(engine: PartEngine, rows: int, what: str, said: Progress) -> PartEngine:
    """An engine that tells how far each pass over so many rows is; not how many there were.

    That a solver took many or few is nobody's business (THEORY 5.1 d).
    """
    rate = RowRate(what, rows, said)

    def tell(done: int, parts: int) -> None:
        nonlocal rate
        if done == 0:
            rate = RowRate(what, rows, said)
        else:
            rate.at(rows * done // parts)

    return Observed(engine, tell)


def _shown(seconds: float) -> str:
    """A duration.

    >>> _shown(0.2), _shown(75), _shown(7300)
    ('0 s', '1 min 15 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
