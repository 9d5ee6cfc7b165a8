"""Rows in memory with room behind them, so that adding a few takes time in proportion to those."""

from typing import Any

from torch import Tensor

from expunge.core.sparse_rows import SparseRows

__all__ = ["Growing", "SparseRoom", "room_for"]

SHARE = 8  # of the rows there are, one in so many is the room behind them


class Growing:
    """Memory that begins with some rows; further ones are written behind them.

    What has been handed out is never written to: whoever adds to fewer rows than there are gets
    memory of their own.

    Args:
        rows: (rows, ...) as they lie; not copied.
    """

    def __init__(self, rows: Tensor) -> None:
        self.memory, self.used = rows, len(rows)

    def longer(self, rows: Tensor, more: Tensor) -> "tuple[Growing, Tensor]":
        """These rows, which are the first here, and more behind them; and the memory they are in.

        The same memory if it has room; new memory, with room, if not.
        """
        whole = len(rows) + len(more)
        if len(rows) != self.used or whole > len(self.memory):
            room = rows.new_zeros(whole + whole // SHARE, *rows.shape[1:])
            room[: len(rows)] = rows
            return Growing(room)._filled(len(rows), more)
        return self._filled(len(rows), more)

    def _filled(self, first: int, more: Tensor) -> "tuple[Growing, Tensor]":
        self.used = first + len(more)
        self.memory[first : self.used] = more.to(self.memory)
        return self, self.memory[: self.used]

    def shorten(self, rows: int) -> None:
        """Overwrite what lies behind so many rows: they were added, and what followed failed."""
        self.memory[rows : self.used] = 0
        self.used = rows


class SparseRoom:
    """The same of sparse rows, which need not lie in one piece: they stay where they are."""

    def longer(self, rows: SparseRows, more: SparseRows) -> "tuple[SparseRoom, SparseRows]":
        """These rows and more behind them, in the same memory."""
        return self, rows.joined(more)

    def shorten(self, rows: int) -> None:
        """Nothing to overwrite: what was added is held by nobody."""


def room_for(rows: Any) -> Growing | SparseRoom:
    """What further rows join."""
    return SparseRoom() if isinstance(rows, SparseRows) else Growing(rows)
