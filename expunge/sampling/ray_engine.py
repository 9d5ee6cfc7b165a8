"""Blocks of models on a Ray cluster (`pip install expunge[ray]`).

Ray runs a block again when its worker dies, as often as it takes: blocks are pure functions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from expunge.sampling.chain import Point, Recipe, run_block
from expunge.sampling.engines import Arrays, Block, arrays_of, tensors_of

__all__ = ["Ray"]


@dataclass(frozen=True)
class Ray:
    """An engine that runs blocks of models on a Ray cluster.

    Args:
        address: The address of a running cluster; None starts a local one.
        threads: torch threads, and cores, of each block.
        gpus: The share of a GPU that each block takes.
        at_most: How many blocks may be under way or waiting to be read.
    """

    address: str | None = None
    threads: int = 1
    gpus: float = 0.0
    at_most: int = 64

    def map(
        self, recipe: Recipe, blocks: Sequence[Block]
    ) -> Iterator[tuple[Block, dict[Point, Tensor]]]:
        """Compute every block on the cluster, and yield results as they come."""
        import ray  # type: ignore

        if not ray.is_initialized():
            ray.init(address=self.address, log_to_driver=False, include_dashboard=False)

        @ray.remote(max_retries=-1, num_cpus=self.threads, num_gpus=self.gpus)
        def compute(recipe: Recipe, block: Block, threads: int) -> Arrays:
            torch.set_num_threads(threads)
            return arrays_of(run_block(recipe, *block))

        shared, left, running = ray.put(recipe), list(reversed(blocks)), {}
        while left or running:
            while left and len(running) < self.at_most:
                block = left.pop()
                running[compute.remote(shared, block, self.threads)] = block  # type: ignore
            done, _ = ray.wait(list(running))
            for reference in done:
                yield running.pop(reference), tensors_of(ray.get(reference))
