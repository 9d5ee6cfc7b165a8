"""Engines by their names, and who is told of the parts that are done."""

import importlib.util

import pytest

from expunge.core.part_engine import HERE, Observed, engine_called, working
from expunge.core.ray_cluster import Cluster
from expunge.errors import InvalidInput


def test_the_local_engine_computes_each_part_when_its_result_is_asked_for():
    seen = []

    def compute(shared, part):
        seen.append(part)
        return shared * part

    results = HERE.map(compute, 10, iter([1, 2, 3]))
    assert next(results) == 10
    assert seen == [1]
    assert list(results) == [20, 30]


def test_engines_are_called_by_their_names_and_others_stay_as_they_are():
    class Mine:
        together = 3

        def map(self, compute, shared, parts):
            return [compute(shared, part) for part in parts]

    mine = Mine()
    assert engine_called("local") is HERE
    assert engine_called(mine) is mine
    with working(mine) as engine:
        assert engine is mine


def test_ray_is_a_cluster_with_the_address_that_was_given():
    pytest.importorskip("ray")
    assert engine_called("ray", "10.0.0.1:6379") == Cluster("10.0.0.1:6379")
    with working("ray") as cluster:  # nothing starts before there is a part
        assert cluster == Cluster()


@pytest.mark.parametrize(
    ("engine", "address", "complaint"),
    [
        ("spark", None, "engine: 'spark' is none; take 'local' or 'ray'"),
        ("local", "10.0.0.1:6379", "address: is of a Ray cluster; add engine ray"),
    ],
)
def test_an_engine_that_is_none_is_refused(engine, address, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        engine_called(engine, address)


def test_without_ray_the_complaint_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InvalidInput, match=r"pip install 'expunge\[ray\]'"):
        engine_called("ray")


def test_whoever_watches_is_told_of_every_part_and_changes_nothing():
    told = []
    watched = Observed(HERE, lambda done, parts: told.append((done, parts)))
    assert list(watched.map(lambda shared, part: shared + part, 1, iter([1, 2]))) == [2, 3]
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert watched.together == HERE.together
