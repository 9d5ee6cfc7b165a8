"""Processes of one thread each: two threads advance LSTMs of these widths hardly faster than one.

On CUDA there is one process, this one.
"""

from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context

import torch

from experiments.reviews_lstm.models import device

__all__ = ["at_once", "pool"]


def at_once() -> int:
    """As many as torch would use threads."""
    return 1 if device() == "cuda" else torch.get_num_threads()


@cache
def pool(processes: int) -> ProcessPoolExecutor:
    """Kept for the blocks after the search: each process reads the corpus once."""
    return ProcessPoolExecutor(processes, get_context("spawn"), torch.set_num_threads, (1,))
