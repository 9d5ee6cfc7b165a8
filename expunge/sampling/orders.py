"""Which records each step of each model sees: by position, so that any layout sees the same.

An order's epoch is a permutation of all records, those absent from a regime skipped; a step takes
the next `size` records, and what does not fill a batch at an epoch's end is left out. A record's
place depends on its own number only, so what remains keeps its relative order after a deletion.
"""

from torch import Tensor

from expunge.core import counters
from expunge.sampling.problem import Batch, IndependentBatches, NoBatches

__all__ = ["Orders"]


class Orders:
    """The orders of one block of models in one regime; the current epoch is kept.

    Args:
        key: The key of the stream of permutations.
        present: (records,) bool, which of them the regime has.
        first: The number of the block's first model.
        models: How many models the block has.
    """

    def __init__(self, batch: Batch, key: int, present: Tensor, first: int, models: int):
        self.batch, self.key, self.present = batch, key, present
        each = batch.models_per_order if isinstance(batch, IndependentBatches) else models
        if first % each and isinstance(batch, IndependentBatches):
            raise ValueError(f"a block must start at a multiple of {each} models, not at {first}")
        self.runs = [slice(i, min(i + each, models)) for i in range(0, models, each)]
        self._first = first // each if isinstance(batch, IndependentBatches) else 0
        self._count = int(present.sum())
        self._number = present.cumsum(0) - 1  # of a record among those present
        self._epoch: tuple[int, Tensor] | None = None

    def rows(self, step: int) -> Tensor | None:
        """Row numbers among those present, (orders, size), one order for each of `runs`.

        None when every step sees all rows.
        """
        if isinstance(self.batch, NoBatches):
            return None
        size = self.batch.size
        epoch, place = divmod(step, self._count // size)
        if self._epoch is None or self._epoch[0] != epoch:
            key = counters.stream(self.key, "epoch", epoch)
            mixed = counters.permutations(key, self._first, len(self.runs), self.present)
            self._epoch = epoch, mixed
        return self._number[self._epoch[1][:, place * size : (place + 1) * size]]
