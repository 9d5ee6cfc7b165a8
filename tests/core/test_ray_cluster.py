"""A cluster of two workers: results in order, errors as they were raised, what was started ends."""

import copy

import pytest

from expunge.core.ray_cluster import Cluster
from expunge.errors import InvalidInput


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_cluster_gives_results_in_order_and_raises_what_a_part_raised():
    ray = pytest.importorskip("ray")
    cluster = Cluster(at_most=3)

    def compute(shared, part):
        if part == shared:
            raise InvalidInput("part", f"{part} cannot be computed")
        return part, part + shared

    try:
        parts = list(range(20))
        assert list(cluster.map(compute, 100, iter(parts))) == [(p, p + 100) for p in parts]
        assert list(cluster.map(compute, 100, [])) == []
        with pytest.raises(InvalidInput, match="part: 7 cannot be computed") as raised:
            list(cluster.map(compute, 7, parts))
        assert type(raised.value) is InvalidInput
    finally:
        cluster.stop()
    assert not ray.is_initialized()


def test_a_copy_of_a_cluster_is_the_cluster():
    cluster = Cluster("10.0.0.1:6379")
    assert copy.deepcopy({"engine": cluster})["engine"] is cluster


def test_a_cluster_that_was_never_used_stops_nothing():
    Cluster().stop()
