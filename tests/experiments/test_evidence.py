"""The comparison on real embeddings: what the committed result must show."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.evidence.report import error, finer, report
from experiments.evidence.run import run, trained
from experiments.evidence.settings import SCALES

RESULTS = Path(__file__).parents[2] / "experiments/evidence/results"


@pytest.fixture(scope="module", params=sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def committed(request):
    return json.loads(request.param.read_text())


def test_coupled_pairs_agree_with_independent_models(committed):
    """Within 5 standard errors, and what the Gaussian model itself may be off: 4 %."""
    for row in committed["rows"]:
        seen, rough = row["coupled"], row["hotelling"]
        reach = 5 * error(rough) + 5 * error(seen) + 0.04 * abs(rough["value"])
        assert abs(seen["value"] - rough["value"]) < reach


def test_a_few_pairs_are_a_hundred_times_finer_than_thousands_of_models(committed):
    for row in committed["rows"]:
        assert finer(row) > 100


def test_the_prediction_is_within_four_percent_of_what_models_show(committed):
    compared = [row for row in committed["rows"] if row["hotelling"]["value"] > 0.2]
    assert {row["norm"] for row in compared} == {1, 10}
    for row in compared:
        told, rough = row["predicted"], row["hotelling"]
        reach = 0.04 * rough["value"] + 3 * error(rough)
        assert abs(told["value"] - rough["value"]) < reach
        assert not any("outside its range" in note for note in told["notes"])


def test_black_box_answers_show_less_than_weights(committed):
    for row in committed["rows"]:
        assert row["probes"]["kind"] == "lower estimate"
        assert row["probes"]["value"] < row["coupled"]["value"] + 5 * error(row["probes"])


def test_features_that_are_told_apart_get_no_number_for_d_infinity(committed):
    for row in committed["mismatch"]:
        assert row["accuracy"] > 0.9
        assert row["d_infinity"]["value"] is None
        assert any("cannot conclude" in note for note in row["d_infinity"]["notes"])


def test_a_run_needs_no_data_at_smoke_scale_and_makes_tables(tmp_path):
    few = replace(SCALES["smoke"], models=1000, unlearn_steps=(1,))
    result = json.loads(json.dumps(run(few), allow_nan=False))
    text = report(result, tmp_path)
    assert (tmp_path / "tables.md").read_text() == text + "\n"
    assert "| 10 | 150 | zero | 1 |" in text


def test_the_forget_set_is_of_one_class():
    problem, _ = trained(SCALES["smoke"], SCALES["smoke"].cases[0])
    private, _ = problem.records_of()
    assert len(problem.forgotten) == SCALES["smoke"].forget
    assert len(private.targets[problem.forgotten].unique()) == 1
