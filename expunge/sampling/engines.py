"""Where blocks of models are computed: an engine maps blocks to results, in any order.

A block is a function of the recipe and of its place alone, so a lost worker's blocks are computed
again and the result is the same. Results travel as arrays; one process collects them.
"""

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from expunge.sampling.chain import Point, Recipe, run_block

__all__ = ["Arrays", "Block", "Engine", "Local", "arrays_of", "tensors_of"]

Arrays = dict[Point, np.ndarray]


class Block(NamedTuple):
    """Consecutive models that are computed together."""

    first: int
    models: int


class Engine(Protocol):
    """What computes blocks: each exactly once, in any order, again if its worker died."""

    def map(
        self, recipe: Recipe, blocks: Sequence[Block]
    ) -> Iterator[tuple[Block, dict[Point, Tensor]]]: ...


@dataclass(frozen=True)
class Local:
    """Processes of this machine; with one, the caller's own.

    Args:
        threads: torch threads of each process; a matrix product's rounding may depend on them.
    """

    processes: int = 1
    threads: int | None = None

    def map(
        self, recipe: Recipe, blocks: Sequence[Block]
    ) -> Iterator[tuple[Block, dict[Point, Tensor]]]:
        """Compute every block; a pool that breaks is replaced if it finished any block before."""
        if self.processes == 1:
            yield from ((block, run_block(recipe, *block)) for block in blocks)
            return
        waiting, threads = list(blocks), self.threads or max(1, _cores() // self.processes)
        context = multiprocessing.get_context("spawn")
        while waiting:
            before = len(waiting)
            with ProcessPoolExecutor(self.processes, context, _prepare, (recipe, threads)) as pool:
                try:
                    for block, arrays in _results(pool, waiting, 2 * self.processes):
                        waiting.remove(block)
                        yield block, tensors_of(arrays)
                except BrokenProcessPool:
                    if len(waiting) == before:
                        raise


def arrays_of(snapshots: dict[Point, Tensor]) -> Arrays:
    """Tensors as arrays, copied: shared memory would go with the process that made it."""
    return {point: weights.cpu().numpy() for point, weights in snapshots.items()}


def tensors_of(arrays: Arrays) -> dict[Point, Tensor]:
    """Arrays as tensors, copied."""
    return {point: torch.from_numpy(array.copy()) for point, array in arrays.items()}


def _results(
    pool: ProcessPoolExecutor, blocks: Sequence[Block], at_most: int
) -> Iterator[tuple[Block, Arrays]]:
    """Results as they come, with at most so many blocks under way or waiting to be read."""
    left, running = list(reversed(blocks)), dict[Future[Arrays], Block]()
    while left or running:
        while left and len(running) < at_most:
            block = left.pop()
            running[pool.submit(_compute, block)] = block
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            yield running[future], future.result()
            del running[future]


_recipe: Recipe | None = None  # of this worker


def _prepare(recipe: Recipe, threads: int) -> None:
    global _recipe
    _recipe = recipe
    torch.set_num_threads(threads)


def _compute(block: Block) -> Arrays:
    assert _recipe is not None
    return arrays_of(run_block(_recipe, *block))


def _cores() -> int:
    return torch.get_num_threads()
