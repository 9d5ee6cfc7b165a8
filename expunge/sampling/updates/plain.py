"""A block of models advanced by PyTorch's products: the reference, for every loss and device.

    weights <- Proj( (1 - eta l2) weights - eta gradient + noise_std xi )

Models go through a step in tiles whose scores, gradients and noise stay in the cache. On a CPU
linear heads are shared out among threads that use one core each and never wait for one another.
Compiled loops update float32 if they serve: `cpu_kernels.py`, `kernels.py`.
"""

import contextlib
import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import torch
from torch import Tensor

from expunge.core.projection import l2_ball
from expunge.losses import Logistic, Softmax, Squared
from expunge.sampling.networks import Network
from expunge.sampling.problem import Problem, Records
from expunge.sampling.updates import cpu_kernels, kernels
from expunge.sampling.updates.head_gradients import gradient_on

__all__ = ["Plain", "Precision", "products_in"]

Precision = Literal["float64", "float32", "tf32", "bfloat16"]
TILE = {"cpu": 64, "cuda": 2048}  # models of the usual size
USUAL = 24 * 384  # weights
WORTH = 2**19  # products of a run in a step, for its models to be shared out among threads


class Plain:
    """A block of models that PyTorch's own products advance, for every loss and device.

    Args:
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
        """Advance all models by one step; run i of models sees rows[i], or all records if None."""
        with products_in(self.precision):
            for i, run in enumerate(runs):
                seen = records
                if rows is not None:
                    seen = Records(records.features[rows[i]], records.targets[rows[i]])
                threads = self._threads(seen, run)
                if threads == 1:
                    self._share(seen, run, key)
                else:
                    work = functools.partial(self._share, seen, key=key)
                    _each_in_a_thread(work, _shares(run, threads))

    def _share(self, seen: Records, share: slice, key: int) -> None:
        """Advance some models by one step, tile by tile."""
        tile, gradient = self._tile(), self._gradient_on(seen)
        for start in range(share.start, share.stop, tile):
            part = slice(start, min(start + tile, share.stop))
            self._advance(part, gradient(self.weights[part]), key)

    def _tile(self) -> int:
        """How many models to take at a time: more if they are small, up to 64 times as many."""
        tile = TILE[self.weights.device.type]
        if isinstance(self.problem.loss, Network):
            return tile
        return tile * min(64, max(1, USUAL // self.weights[0].numel()))

    def _threads(self, seen: Records, run: slice) -> int:
        """How many threads share a run; losses other than linear heads leave that to torch."""
        heads_alone = isinstance(self.problem.loss, Softmax | Logistic | Squared)
        models, cores = run.stop - run.start, torch.get_num_threads()
        products = len(seen.features) * self.weights[run].numel()
        on_cpu = self.weights.device.type == "cpu"
        return cores if on_cpu and heads_alone and models >= cores and products >= WORTH else 1

    def _gradient_on(self, seen: Records) -> Callable[[Tensor], Tensor]:
        loss = self.problem.loss
        if isinstance(loss, Network):
            return lambda weights: loss.gradient(weights, *seen)
        half = self.precision == "bfloat16"
        return gradient_on(loss, *seen, half=half)

    def _advance(self, part: slice, gradient: Tensor, key: int) -> None:
        problem, weights = self.problem, self.weights[part]
        values: dict[str, Any] = {
            "key": key,
            "first": self.first + part.start,
            "shrink": 1 - problem.step_size * problem.loss.l2,
            "rate": problem.step_size,
            "noise_std": problem.noise_std,
        }
        if cpu_kernels.serves(self.weights):
            cpu_kernels.update(weights, gradient, **values, radius=problem.radius)
            return
        if kernels.serves(weights):
            kernels.launch_plain_update(weights, gradient, **values)
        else:
            weights.mul_(values["shrink"]).sub_(gradient, alpha=problem.step_size)
            if problem.noise_std:
                shape = len(weights), weights[0].numel()
                xi = cpu_kernels.normals(key, values["first"], *shape, weights.device)
                weights.view(shape).add_(xi, alpha=problem.noise_std)
        if problem.radius is not None:
            norms = torch.linalg.vector_norm(weights.flatten(1), dim=1)
            if bool((norms > problem.radius).any()):
                weights.copy_(l2_ball(problem.radius)(weights))


def _shares(run: slice, number: int) -> list[slice]:
    """Consecutive models of a run, in equal numbers but for one."""
    size = run.stop - run.start
    ends = [run.start + size * i // number for i in range(number + 1)]
    return [slice(*pair) for pair in itertools.pairwise(ends)]


def _each_in_a_thread(work: Callable[[slice], None], shares: list[slice]) -> None:
    """Run the work on every share, each in a thread with one core."""
    for _ in _pool(torch.get_num_threads(), os.getpid()).map(work, shares):
        pass


@functools.lru_cache(maxsize=1)
def _pool(threads: int, process: int) -> ThreadPoolExecutor:  # noqa: ARG001  a fork has no threads
    """Threads in which torch uses one core; the others keep what they have."""
    pool = ThreadPoolExecutor(threads, "heads", _one_core)
    everyone = threading.Barrier(threads)
    list(pool.map(lambda _: everyone.wait(), range(threads)))
    torch.set_num_threads(threads)  # of new threads again
    return pool


def _one_core() -> None:
    torch.get_num_threads()  # a thread takes over the number of all before it can have its own
    torch.set_num_threads(1)


@contextlib.contextmanager
def products_in(precision: Precision) -> Iterator[None]:
    """Compute float32 products on CUDA in full precision or in tf32."""
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32" if precision == "tf32" else "ieee"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.fp32_precision = before
