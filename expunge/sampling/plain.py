"""A block of models advanced in plain PyTorch: the reference, for every loss and device.

    weights <- Proj( (1 - eta l2) weights - eta gradient + noise_std xi )

Models go through a step in tiles whose scores, gradients and noise stay in the cache.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Literal

import torch
from torch import Tensor

from expunge.core import counters
from expunge.core.projection import l2_ball
from expunge.sampling import heads
from expunge.sampling.networks import Network
from expunge.sampling.problem import Problem, Records

__all__ = ["Plain", "Precision"]

Precision = Literal["float64", "float32", "tf32", "bfloat16"]
TILE = {"cpu": 64, "cuda": 2048}  # models


class Plain:
    """Args:
    weights: (models, *shape), advanced in place.
    first: Number of the first model.
    """

    def __init__(self, problem: Problem, precision: Precision, weights: Tensor, first: int):
        self.problem, self.weights, self.first = problem, weights, first
        self.precision: Precision = precision

    def snapshot(self) -> Tensor:
        """The models as they are now."""
        return self.weights.clone()

    def step(self, records: Records, rows: Tensor | None, runs: list[slice], key: int) -> None:
        """One step; run i of models sees rows[i], or all records if None."""
        tile = TILE[self.weights.device.type]
        with _products(self.precision):
            for i, run in enumerate(runs):
                seen = records
                if rows is not None:
                    seen = Records(records.features[rows[i]], records.targets[rows[i]])
                gradient = self._gradient_on(seen)
                for start in range(run.start, run.stop, tile):
                    part = slice(start, min(start + tile, run.stop))
                    self._advance(part, gradient(self.weights[part]), key)

    def _gradient_on(self, seen: Records) -> Callable[[Tensor], Tensor]:
        loss = self.problem.loss
        if isinstance(loss, Network):
            return lambda weights: loss.gradient(weights, *seen)
        half = self.precision == "bfloat16"
        return heads.gradient_on(loss, *seen, half=half)

    def _advance(self, part: slice, gradient: Tensor, key: int) -> None:
        problem, weights = self.problem, self.weights[part]
        weights.mul_(1 - problem.step_size * problem.loss.l2)
        weights.sub_(gradient, alpha=problem.step_size)
        if problem.noise_std:
            shape = len(weights), weights[0].numel()
            xi = counters.normals(key, self.first + part.start, *shape, weights.device)
            weights.view(shape).add_(xi, alpha=problem.noise_std)
        if problem.radius is not None:
            norms = torch.linalg.vector_norm(weights.flatten(1), dim=1)
            if bool((norms > problem.radius).any()):
                weights.copy_(l2_ball(problem.radius)(weights))


@contextlib.contextmanager
def _products(precision: Precision) -> Iterator[None]:
    """float32 products on CUDA in full or in tf32."""
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32" if precision == "tf32" else "ieee"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.fp32_precision = before
