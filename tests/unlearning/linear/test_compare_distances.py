"""The campaign over many problems can be stopped and goes on; what it found is committed."""

import json

import pytest

from tests.unlearning.linear import compare_distances
from tests.unlearning.linear.compare_distances import (
    END,
    MARK,
    PAGE,
    RESULTS,
    judge,
    run,
    sentence,
)


@pytest.mark.slow
def test_a_campaign_that_was_stopped_goes_on_to_the_same_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(compare_distances, "SAVED_EVERY", 2)
    stopped, whole = tmp_path / "stopped.json", tmp_path / "whole.json"
    run(2, seed=3, jobs=1, results=stopped)
    assert run(4, seed=3, jobs=1, results=stopped) == run(4, seed=3, jobs=1, results=whole)
    assert json.loads(stopped.read_text()) == json.loads(whole.read_text())


def test_problems_of_every_kind_are_drawn():
    drawn = {name for number in range(12) for name in judge(number, seed=1)["drawn"]}
    assert drawn >= {"logistic", "softmax", "squared", "separable", "insertions", "intercept"}


@pytest.mark.skipif(not RESULTS.is_file(), reason="the campaign has not been run")
def test_no_bound_of_the_committed_campaign_is_below_the_truth():
    totals = json.loads(RESULTS.read_text())["totals"]
    assert totals["all"]["problems"] >= 5000
    assert totals["all"]["compared"] >= 4 * totals["all"]["problems"]
    assert all(total["below"] == 0 for total in totals.values())
    assert min(total["least ratio"] for total in totals.values()) >= 1
    assert MARK + sentence(totals) + END in PAGE.read_text()
