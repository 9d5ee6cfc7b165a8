"""A result made again is held against the one it replaces."""

import json

import pytest
from typer.testing import CliRunner

from docs import runs
from experiments import __main__, first_splits, reruns
from experiments.head_closeness import predictions
from experiments.head_problems import BASE, paper_points
from experiments.renyi_vs_public_data.settings import SCALES
from experiments.reruns import compare

OLD = {"commit": "abc-dirty", "seconds": 3.0, "rows": [{"value": 2.0, "name": "one"}], "n": 4}


@pytest.fixture
def committed(tmp_path, monkeypatch):
    monkeypatch.setattr(reruns, "ROOT", tmp_path)
    monkeypatch.setattr(reruns, "NOTES", tmp_path / "reruns.json")
    place = tmp_path / "errata/results/cpu.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(OLD))
    return place


def test_commits_and_times_may_differ_and_nothing_else():
    assert compare(OLD, OLD | {"commit": "def", "seconds": 9}).differing == 0
    found = compare(OLD, OLD | {"rows": [{"value": 2.5, "name": "one"}]})
    assert (found.numbers, found.differing, found.largest) == (2, 1, 0.2)
    assert found.where == "/rows/0/value"


def test_what_is_gone_new_or_no_number_is_named():
    changed = {"rows": [{"value": True, "name": "two"}, {}], "more": 1, "n": 4}
    found = compare(OLD, changed)
    assert set(found.otherwise) == {"/more", "/rows/0/name", "/rows/0/value", "/rows/1"}


def test_the_new_result_takes_the_place_and_a_note_says_how_far_they_agree(committed, tmp_path):
    made = tmp_path / "made.json"
    made.write_text(json.dumps(OLD | {"commit": "def", "n": 5}))
    reruns.take_over("errata", "cpu", made)
    assert json.loads(committed.read_text())["commit"] == "def"
    note = reruns.reruns()["errata, cpu"]
    assert (note["before"], note["now"], note["differing"]) == ("abc-dirty", "def", 1)


def test_a_result_that_is_not_there_is_not_replaced():
    done = CliRunner().invoke(__main__.app, ["again", "errata", ".", "--scale", "cpu"])
    assert done.exit_code != 0
    assert "no results" in done.output


def test_the_page_tells_equal_from_nearly_equal(monkeypatch):
    note = {"before": "abc-dirty", "now": "def", "numbers": 1200, "differing": 0, "largest": 0.0}
    near = note | {"differing": 3, "largest": 2e-10, "where": "/rows/1"}
    monkeypatch.setattr(runs, "reruns", lambda: {"errata, cpu": note, "errata, paper": near})
    table = runs.reruns_table()
    assert "| `errata`, cpu | abc-dirty | def | 1,200 | 0 | equal to the last bit |" in table
    assert "| 3 | 2e-10 at `/rows/1` |" in table


def test_predictions_of_first_splits_agree_with_those_of_all(tmp_path, monkeypatch):
    """A made result of two splits; a value that is changed is found."""
    settings = SCALES["smoke"]
    (pair, retained), *_ = settings.pairs
    point = paper_points(retained)[0]
    rows = list(predictions(settings, pair, "grid", "base", BASE, [point]))
    place = tmp_path / "renyi_vs_public_data/results/paper.json"
    place.parent.mkdir(parents=True)
    monkeypatch.setattr(first_splits, "ROOT", tmp_path)
    monkeypatch.setattr(reruns, "NOTES", tmp_path / "reruns.json")
    monkeypatch.setitem(SCALES, "paper", settings)
    place.write_text(json.dumps({"commit": "abc-dirty", "rows": rows}))
    agreed = first_splits.hold_first_splits("renyi_vs_public_data", 1)
    assert (agreed.numbers, agreed.differing) == (2 * len(rows), 0)
    rows[0]["values"][0] *= 1.01
    place.write_text(json.dumps({"commit": "abc-dirty", "rows": rows}))
    assert first_splits.hold_first_splits("renyi_vs_public_data", 1).differing == 1
    (noted,) = reruns.reruns()
    assert noted == f"renyi_vs_public_data, paper: predictions on 1 of {settings.splits} splits"
