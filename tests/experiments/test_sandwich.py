"""The sandwich: no lower bound may exceed its certificate."""

import json
from pathlib import Path

import pytest

from experiments.sandwich.report import report
from experiments.sandwich.run import run, verdicts
from experiments.sandwich.settings import SCALES

RESULTS = Path(__file__).parents[2] / "experiments/sandwich/results"


@pytest.fixture(scope="module")
def smoke():
    return json.loads(json.dumps(run(SCALES["smoke"]), allow_nan=False))


@pytest.fixture(scope="module", params=sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def committed(request):
    return json.loads(request.param.read_text())


def by_class(result):
    return [row for row in result["rows"] if row["forget_set"] == "by class"]


def exceeds(result):
    """Rows whose lower bound is above the certificate, in mu, D_2 or epsilon."""
    return [
        row
        for row in result["rows"]
        if any(row["lower"][name] > row["certified"][name] for name in ("mu", "renyi_2", "epsilon"))
    ]


def test_no_lower_bound_exceeds_its_certificate(smoke):
    assert not exceeds(smoke)


def test_no_committed_lower_bound_exceeds_its_certificate(committed):
    assert not exceeds(committed)
    assert not any(row["contradicted"] for row in committed["rows"])
    assert committed["verdicts"] == verdicts(committed)


def test_a_certificate_for_ten_times_the_noise_is_contradicted_by_the_same_models(smoke):
    """The test above can fail: the attack has the power to refute what is false."""
    for row in by_class(smoke):
        assert row["false_claim"]["false"]
        assert row["lower"]["mu"] > row["false_claim"]["mu"]
    planted = [row | {"contradicted": True} for row in smoke["rows"]]
    assert any("DOES NOT HOLD" in one["verdict"] for one in verdicts(smoke | {"rows": planted}))


def test_nothing_is_concluded_beside_a_loud_null_control(smoke):
    planted = [row | {"null": {"mu": 0.1, "quiet": False}} for row in smoke["rows"]]
    told = [one["verdict"] for one in verdicts(smoke | {"rows": planted})]
    assert any(verdict.startswith("cannot conclude: two samples") for verdict in told)


def test_two_samples_of_one_law_show_nothing(committed):
    for row in committed["rows"]:
        assert row["null"]["mu"] < 0.5 * row["certified"]["mu"]


def test_estimates_agree_with_the_prediction_and_lie_below_the_certificate(committed):
    """Within 5 standard errors, and the linearisation's 2 %."""
    for row in committed["rows"]:
        low, high = row["estimate"]["interval"]
        reach = 5 * (high - low) / 2 / 1.96 + 0.02 * row["predicted"]
        assert abs(row["estimate"]["value"] - row["predicted"]) < reach
        assert row["predicted"] < row["certified"]["renyi_2"]


def test_a_smoke_run_draws_the_figure_and_writes_the_table(smoke, tmp_path):
    text = report(smoke | {"scale": "smoke"}, tmp_path)
    assert (tmp_path / "smoke.md").read_text() == text + "\n"
    assert (tmp_path / "smoke.png").exists()
    assert "| digits+1/digits | by class | 40 | 20 | 1 | 300 |" in text
    assert "| digits+1/digits | random | 40 | 20 | 1 | 300 |" in text


def test_the_certificate_is_the_same_for_ordinary_records_and_further_from_the_truth(committed):
    """Rows of both kinds share pair, counts and K."""
    pairs = {
        (row["pair"], row["public"], row["unlearn_steps"]): row
        for row in committed["rows"]
        if row["forget_set"] == "random"
    }
    assert pairs
    for row in by_class(committed):
        other = pairs.get((row["pair"], row["public"], row["unlearn_steps"]))
        if other is not None:
            assert other["certified"] == row["certified"]
            assert other["predicted"] < row["predicted"]


def test_a_claim_that_is_true_of_ordinary_records_is_not_counted_as_caught(smoke):
    rows = [
        row | {"false_claim": row["false_claim"] | {"false": False}}
        for row in smoke["rows"]
        if row["forget_set"] == "random"
    ]
    told = verdicts(smoke | {"rows": [*by_class(smoke), *rows]})
    said = [one["verdict"] for one in told if "at random: a claim" in one["claim"]]
    assert said == ["cannot conclude: it would be true of these data at every point"]
