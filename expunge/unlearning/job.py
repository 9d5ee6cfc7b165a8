"""What every strategy is given, for every kind of model: the roster, the target, the observer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Self

from torch import Tensor

from expunge.accounting.target import EpsilonDelta, Observer
from expunge.core.sparse_rows import SparseRows
from expunge.unlearning.roster import Roster
from expunge.unlearning.secrecy import Secret

__all__ = ["Job"]


@dataclass(frozen=True, repr=False, kw_only=True)
class Job(Secret):
    """The learning problem as it stands.

    Args:
        roster: Which records there are; those of the last request have left it, but their values
            are not erased yet.
        target: What every certificate must meet.
        seed: None draws from the operating system; an integer is for experiments only.
        adaptive_requests: Whoever asks may have looked at models that were handed out (THEORY 8).
    """

    roster: Roster
    target: EpsilonDelta
    observer: Observer
    seed: int | None = None
    adaptive_requests: bool = False

    @property
    def counts_every_model(self) -> bool:
        """Whether every model handed out, the learned one too, counts in the history."""
        return self.observer == "all" or self.adaptive_requests

    def stored_values(self) -> Iterator[Tensor]:
        """The values that the model rests on, of which changes are noticed as a whole."""
        raise NotImplementedError

    @property
    def row_columns(self) -> tuple[Tensor | SparseRows, ...]:
        """Those with a row for each record, in order, of which changes are noticed by block."""
        return ()

    def without(self, rows: Iterable[int]) -> Self:
        """The problem after one more request, for these rows; their values are not touched."""
        return replace(self, roster=self.roster.without(rows))
