"""Processes give what one process gives, and a killed one loses nothing."""

import multiprocessing
import os
import signal
from concurrent.futures.process import BrokenProcessPool

import pytest
import torch

from expunge.sampling.chain import Recipe, run_block
from expunge.sampling.engines import Block, Local
from expunge.sampling.problem import IndependentBatches
from tests.sampling.heads_problem import made

BLOCKS = [Block(first, 20) for first in range(0, 160, 20)]


def small():
    """One order for 20 models, so that a block is one run."""
    problem = made(batch=IndependentBatches(30, 20), learn_steps=3)
    return Recipe(problem, ("unlearned", "retrained"), (1, 2), seed=1)


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_a_killed_worker_loses_nothing_and_changes_nothing():
    expected = {block: run_block(small(), *block) for block in BLOCKS}
    seen, killed = {}, False
    for block, found in Local(processes=2, threads=1).map(small(), BLOCKS):
        assert block not in seen
        seen[block] = found
        if not killed:
            os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)
            killed = True
    assert sorted(seen) == BLOCKS
    for block, found in seen.items():
        for point, weights in expected[block].items():
            assert torch.equal(found[point], weights)


def test_one_process_is_this_one():
    got = dict(Local().map(small(), BLOCKS[:2]))
    for block in BLOCKS[:2]:
        for point, weights in run_block(small(), *block).items():
            torch.testing.assert_close(got[block][point], weights, rtol=0, atol=0)


@pytest.mark.slow
def test_a_block_that_kills_every_worker_is_an_error():
    with pytest.raises(BrokenProcessPool):
        list(Local(processes=2, threads=1).map(_Deadly(), BLOCKS[:3]))


class _Deadly:
    """Stands in for a recipe; ends whoever reads it."""

    def __getattr__(self, name):
        if name in ("problem", "device"):
            os._exit(1)
        raise AttributeError(name)
