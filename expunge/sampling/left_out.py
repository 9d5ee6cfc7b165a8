"""Records that a step leaves out, because nothing finite can be made of them.

    g_i  ->  g_i where its squared length is a finite number, 0 elsewhere

A step that refused instead would tell whoever waits for a model something about one record (THEORY
5.1 d). The map above looks at one record alone and is as long as a clipped gradient at most, so
that the clipped regime's constants hold as they are; what a user declares of a record's gradient
is declared of this map. How many records it concerns is told to the operator alone.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from expunge.errors import RecordsWarning

__all__ = ["LeftOut", "sum_usable"]


@dataclass(frozen=True)
class LeftOut:
    """The records that some step left out.

    Args:
        fitting: What a module or a loss raises is raised, because it is the caller's mistake. At a
            request it leaves a record out as well.
        rows: Their numbers.
    """

    fitting: bool = True
    rows: set[int] = field(default_factory=set)

    def add(self, rows: Tensor) -> None:
        self.rows.update(rows.tolist())

    def warn(self, records: int) -> None:
        """Tell the operator how many of so many records were left out, if any were."""
        if self.rows:
            warnings.warn(
                f"{len(self.rows):,} of {records:,} records had no finite loss or gradient in some "
                "step, and counted as nothing there. This is for you alone: it depends on private "
                "records",
                RecordsWarning,
                stacklevel=2,
            )


def sum_usable(compute: Callable[[Tensor], Tensor], rows: Tensor, left_out: LeftOut) -> Tensor:
    """What `compute` makes of these rows, a sum over them, without those that ruin it.

    Found by halves, so that the others keep their share.
    """
    try:
        total = compute(rows)
    except torch.OutOfMemoryError:
        raise
    except Exception:  # whatever a module or a loss of the user's does with a value
        if left_out.fitting:
            raise
        total = None
    if total is not None and bool(torch.isfinite(total).all()):
        return total
    if len(rows) == 1:
        left_out.add(rows)
        return torch.zeros(()) if total is None else torch.zeros_like(total)
    first, second = rows.chunk(2)
    return sum_usable(compute, first, left_out) + sum_usable(compute, second, left_out)
