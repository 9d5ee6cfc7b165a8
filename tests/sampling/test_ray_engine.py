"""Two Ray workers give what one process gives, even when one of them is killed."""

import os
import signal

import pytest
import torch

from expunge.sampling.chain import run_block
from expunge.sampling.ray_engine import Ray, engine_of
from tests.sampling.test_engines import BLOCKS, small


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_killed_ray_worker_loses_nothing_and_changes_nothing():
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        workers = ray.remote(lambda: os.getpid())
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        expected = {block: run_block(small(), *block) for block in BLOCKS}
        torch.set_num_threads(before)
        seen = {}
        for block, found in Ray(threads=1, at_most=4).map(small(), BLOCKS):
            seen[block] = found
            if len(seen) == 1:
                os.kill(ray.get(workers.remote()), signal.SIGKILL)
        assert sorted(seen) == BLOCKS
        for block, found in seen.items():
            for point, weights in expected[block].items():
                assert torch.equal(found[point], weights)
    finally:
        ray.shutdown()


def test_ray_is_asked_for_by_name_where_it_is_missing(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"expunge\[ray\]"):
        engine_of("ray")
