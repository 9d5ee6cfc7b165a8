"""A block of recurrent networks advanced together, each run of models on rows of its own.

    weights <- Proj( (1 - eta l2) weights - eta gradient + noise_std xi )

as in `plain.py`, which would take one order of the records after another: a time step of a few
LSTMs leaves a GPU idle, so the rows of all orders go through one gradient.
"""

from dataclasses import replace

import torch
from torch import Tensor

from expunge.sampling.problem import Problem, Records
from expunge.sampling.recurrent import Recurrent
from expunge.sampling.updates import lstm_kernels
from expunge.sampling.updates.plain import Plain, Precision, products_in

__all__ = ["Stacked"]


class Stacked(Plain):
    """A block of LSTM classifiers that advance together, each run of models on its own rows.

    Args:
        weights: (models, parameters), advanced in place.
        first: Number of the first model.
    """

    def __init__(self, problem: Problem, precision: Precision, weights: Tensor, first: int):
        super().__init__(problem, precision, weights, first)
        assert isinstance(problem.loss, Recurrent)
        half = precision == "bfloat16" and lstm_kernels.serves(problem.loss.hidden)
        self.loss = replace(problem.loss, half=True) if half else problem.loss

    def step(self, records: Records, rows: Tensor | None, runs: list[slice], key: int) -> None:
        """One step; run i of models sees rows[i], or all records if None."""
        seen = records
        if rows is not None:
            seen = Records(records.features[rows[0]], records.targets[rows[0]])
        if rows is not None and len(runs) > 1:
            sizes = torch.tensor([run.stop - run.start for run in runs], device=rows.device)
            own = rows.repeat_interleave(sizes, dim=0)  # (models, rows)
            seen = Records(records.features[own], records.targets[own])
        with products_in(self.precision):
            gradient = self.loss.gradient(self.weights, *seen)
        self._advance(slice(0, len(self.weights)), gradient, key)
