"""Known answers: what the committed run shows, and tables that follow from its JSON."""

import json
from pathlib import Path

import pytest

from experiments.known_answers.report import report
from experiments.known_answers.run import run
from experiments.known_answers.settings import SCALES

RESULTS = Path(__file__).parents[2] / "experiments/known_answers/results"


@pytest.fixture(scope="module")
def committed():
    return json.loads((RESULTS / "paper.json").read_text())


def test_a_smoke_run_has_every_cell():
    result = run(SCALES["smoke"])
    assert len(result["hotelling"]) == 2 * 2
    assert len(result["discriminator"]) == 1


def test_the_tables_follow_from_the_results(committed, tmp_path):
    report(committed, tmp_path)
    for name in ("hotelling.md", "discriminator.md"):
        assert (tmp_path / name).read_text() == (RESULTS / name).read_text()


def test_every_mean_and_every_coverage_is_as_it_should_be(committed):
    """2 % + 0.008 of the truth; coverage inside the 99.9 % binomial band around its level."""
    rows = committed["hotelling"]
    assert {row["dimension"] for row in rows} == {10, 100, 1000, 9216}
    assert len(rows) == 4 * 5 * 2
    for row in rows:
        assert abs(row["mean"] - row["truth"]) <= 0.02 * row["truth"] + 0.008, row
        assert row["band"][0] <= row["covered"] <= row["band"][1], row
        assert row["repetitions"] == 100


def test_a_scalar_metric_fails_where_the_covariance_is_not_isotropic(committed):
    failed = [
        row["scalar_covered"] < row["band"][0]
        for row in committed["hotelling"]
        if row["truth"] > 0 and row["spectrum"] != "isotropic" and row["dimension"] <= 1000
    ]
    assert len(failed) == 12
    assert all(failed)


def test_the_paper_s_discriminator_saturates_and_reads_its_own_training_samples(committed):
    found = {(row["dimension"], row["truth"]): row for row in committed["discriminator"]}
    assert found[10, 3.0]["held_out"] == pytest.approx(0.9, abs=0.1)
    for truth in (0.0, 0.5, 3.0):
        row = found[9216, truth]
        assert row["trained"] - row["held_out"] > 1
        assert row["held_out"] < truth
