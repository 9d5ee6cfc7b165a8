"""The same work on many items, in as many processes as torch would use threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import TypeVar

import torch

from experiments.progress import show_progress

__all__ = ["spread"]

Item = TypeVar("Item")
Found = TypeVar("Found")
FEW = 40  # items that are not worth a process


def spread(work: Callable[[Item], Found], items: Sequence[Item], title: str) -> list[Found]:
    """Do the work on every item, in the items' order.

    `work` must be a function of a module, because processes receive it by name.
    """
    workers = torch.get_num_threads()
    if workers == 1 or len(items) < FEW:
        return [work(item) for item in show_progress(items, title)]
    return list(_pool(workers).map(work, items))


@cache
def _pool(workers: int) -> ProcessPoolExecutor:
    """The pool of processes, kept for the next part: starting one takes longer than most items."""
    return ProcessPoolExecutor(workers, get_context("spawn"), torch.set_num_threads, (1,))
