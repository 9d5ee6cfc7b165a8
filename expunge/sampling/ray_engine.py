"""Blocks of models on a Ray cluster (`pip install expunge[ray]`).

Ray runs a block again when its worker dies, as often as it takes: blocks are pure functions.
"""

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from expunge.core.ray_cluster import Cluster
from expunge.sampling.chain import Point, Recipe, run_block
from expunge.sampling.engines import Arrays, Block, Engine, Local, arrays_of, tensors_of

__all__ = ["Ray", "engine_of"]


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
        """Compute every block on the cluster, and yield results in their order."""
        cluster = Cluster(self.address, self.threads, self.gpus, self.at_most)
        for block, arrays in zip(blocks, cluster.map(_arrays, recipe, blocks), strict=True):
            yield block, tensors_of(arrays)


def engine_of(name: str, address: str | None = None) -> Engine:
    """Processes of this machine, or a Ray cluster.

    Raises:
        ImportError: Ray is not installed.
    """
    if name == "local":
        return Local()
    if importlib.util.find_spec("ray") is None:
        raise ImportError("engine: Ray is not installed; pip install 'expunge[ray]'")
    return Ray(address)


def _arrays(recipe: Recipe, block: Block) -> Arrays:
    return arrays_of(run_block(recipe, *block))
