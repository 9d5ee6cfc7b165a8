"""The same work on many items, in as many processes as torch would use threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import TypeVar

import torch

from experiments.progress import shown

__all__ = ["spread"]

Item = TypeVar("Item")
Found = TypeVar("Found")
FEW = 40  # items that are not worth a process


def spread(work: Callable[[Item], Found], items: Sequence[Item], title: str) -> list[Found]:
    """In the items' order. `work` must be a function of a module: it travels by name."""
    workers = torch.get_num_threads()
    if workers == 1 or len(items) < FEW:
        return [work(item) for item in shown(items, title)]
    return list(_pool(workers).map(work, items))


@cache
def _pool(workers: int) -> ProcessPoolExecutor:
    """Kept for the next part: to start a process takes longer than most items."""
    return ProcessPoolExecutor(workers, get_context("spawn"), torch.set_num_threads, (1,))
