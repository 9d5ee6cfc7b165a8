"""A block of linear heads advanced by the Triton kernels: softmax and logistic losses on CUDA.

A step is `residuals` of `kernels` or `hopper` (features, weights -> bfloat16), the library's
product of residuals and features, and `kernels.update`. Products take bfloat16 factors and
accumulate in float32; weights and noise are float32, the former as `kernels.Halves`. Models are
stored in units: those that share rows, or as many as a buffer of residuals holds; tile order is
within a unit.
"""

import torch
from torch import Tensor
from torch.nn.functional import embedding

from expunge.losses import Logistic, Softmax
from expunge.sampling.problem import IndependentBatches, NoBatches, Problem, Records
from expunge.sampling.updates import hopper, kernels
from expunge.sampling.updates.kernels import WIDEST, Halves, Split

__all__ = ["Fused"]

RESIDUALS = 2**31  # numbers in a buffer of residuals: 4 GiB


class Fused:
    """A block of linear heads that Triton kernels advance on CUDA.

    Args:
        weights: (models, outputs, features) float32 on CUDA: where the models start.
        first: Number of the first model.
    """

    def __init__(self, problem: Problem, weights: Tensor, first: int):
        self.problem, self.first = problem, first
        self.models, _, width = weights.shape
        self.split, scheme = _split(problem), problem.scheme
        columns, tile = self.split.columns, self.split.tile
        rows = len(problem.retained()) if isinstance(scheme, NoBatches) else scheme.size
        if isinstance(scheme, IndependentBatches):
            self.unit = scheme.models_per_order
            self.together = max(1, RESIDUALS // (rows * columns * self.unit))
        else:
            parts = -(-self.models * rows * columns // RESIDUALS)
            self.unit = -(-self.models // (parts * tile)) * tile
            self.together = 1
        self.units = -(-self.models // self.unit)
        shape = self.units, self.unit * columns, width
        self.halves = Halves.zeros(*shape, device=weights.device)
        self.gradient = torch.zeros(shape, dtype=torch.bfloat16, device=weights.device)
        self.residuals = torch.empty(
            min(self.together, self.units) * rows * self.unit * columns,
            dtype=torch.bfloat16,
            device=weights.device,
        )
        self._seen: tuple[Tensor, Tensor] | None = None
        kernels.launch_split(weights, self.halves, self.split, self.unit)

    def snapshot(self) -> Tensor:
        """The models as they are now: (models, outputs, features) float32."""
        shape = self.models, *self.problem.shape
        out = torch.empty(shape, device=self.gradient.device)
        kernels.launch_join(self.halves, out, self.split, self.unit)
        return out

    @staticmethod
    def serves(problem: Problem) -> bool:
        """Whether the kernels know this loss and these shapes."""
        if not (kernels.available() and isinstance(problem.loss, Softmax | Logistic)):
            return False
        outputs, width = problem.shape
        return outputs <= WIDEST and width % 8 == 0 and _split(problem).wide_enough

    def step(self, records: Records, rows: Tensor | None, runs: list[slice], key: int) -> None:
        """Advance all models by one step; run i of models sees rows[i], or all records if None."""
        features, targets = self._half(records.features)[None], records.targets[None]
        if rows is not None:
            features, targets = embedding(rows, features[0]), targets[0, rows]
        for start in range(0, self.units, self.together):
            units = slice(start, min(start + self.together, self.units))
            own = units if len(runs) > 1 else slice(0, 1)
            self._differentiate(units, features[own], targets[own])
        problem = self.problem
        kernels.launch_update(
            self.halves,
            self.gradient,
            self.split,
            models=self.models,
            key=key,
            first=self.first,
            unit=self.unit,
            shrink=1 - problem.step_size * problem.loss.l2,
            rate=problem.step_size / features.shape[1],
            noise_std=problem.noise_std,
            radius=problem.radius,
        )

    def _differentiate(self, units: slice, features: Tensor, targets: Tensor) -> None:
        """Compute the sum over rows of each unit's gradients, in tile order."""
        number, rows, columns = units.stop - units.start, features.shape[1], self.gradient.shape[1]
        residuals = self.residuals[: number * rows * columns].view(number, rows, columns)
        by = hopper if hopper.serves(features, residuals, self.split) else kernels
        by.launch_residuals(features, self.halves.rounded[units], targets, residuals, self.split)
        torch.bmm(residuals.transpose(1, 2), features, out=self.gradient[units])

    def _half(self, features: Tensor) -> Tensor:
        """The tensor in bfloat16; the last conversion is kept."""
        if self._seen is None or self._seen[0] is not features:
            self._seen = features, features.bfloat16()
        return self._seen[1]


def _split(problem: Problem) -> Split:
    scheme = problem.scheme
    together = scheme.models_per_order if isinstance(scheme, IndependentBatches) else 0
    return Split.of(problem.shape[0], together)
