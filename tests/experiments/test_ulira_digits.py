"""U-LiRA on the embedded digits: what the committed result must show. Paper: [fig:mia_results]."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.ulira_digits.report import report
from experiments.ulira_digits.run import digits, run
from experiments.ulira_digits.settings import SCALES

RESULTS = Path(__file__).parents[2] / "experiments/ulira_digits/results"


@pytest.fixture(scope="module", params=sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def committed(request):
    return json.loads(request.param.read_text())


def test_every_verdict_follows_from_its_interval(committed):
    for cell in committed["cells"]:
        trend = cell["trend"]
        if trend["verdict"] == "falls":
            assert trend["interval"][1] < 0
        if trend["excess_interval"][0] <= 0:
            assert "cannot conclude" in trend["verdict"]


def test_confidence_falls_where_many_records_are_forgotten_without_public_data(committed):
    cells = [one for one in committed["cells"] if one["forget"] > 1 and not one["with_public"]]
    assert cells
    assert all(cell["trend"]["verdict"] == "falls" for cell in cells)


def test_public_data_lowers_the_attack_s_confidence(committed):
    for row in committed["public"]:
        if row["forget"] > 1:
            assert row["difference"] < -5 * row["standard_error"]


def test_the_null_stays_at_guessing_and_models_that_were_never_unlearned_are_recognised(committed):
    for cell in committed["cells"]:
        for row in cell["steps"]:
            if row["null"] is not None:
                null = row["null"]["accuracy"]
                assert abs(null["mean"] - 0.5) < 5 * null["standard_error"]
        if cell["forget"] > 1:
            control = cell["positive_control"]["accuracy"]
            assert control["mean"] - 5 * control["standard_error"] > 0.5


def test_no_lower_bound_is_above_what_the_prediction_allows(committed):
    """D_2 = mu^2; a sound attack stays below that mu's epsilon but for 5 % of the time."""
    from expunge.accounting.conversions import epsilon_from_gdp

    rows = [row for cell in committed["cells"] for row in cell["steps"]]
    above = sum(
        row["large_attack"]["epsilon_lower_bound"]
        > epsilon_from_gdp(row["predicted_renyi_2"] ** 0.5, committed["settings"]["delta"])
        for row in rows
    )
    assert above == 0


def test_retained_records_leak_at_most_half_a_point_of_auc_more(committed):
    """With 100 records forgotten and public data there is a small, significant difference."""
    for cell in committed["cells"]:
        for row in cell["retained"]:
            assert row["interval"][1] < 0.005
            assert ("leak more" in row["verdict"]) == (row["interval"][0] > 0)


def test_forget_sets_are_nested_and_of_the_size_asked():
    settings = SCALES["cpu"]
    sizes = [len(digits(settings, forget, True)[0].forgotten) for forget in settings.forget]
    assert sizes == list(settings.forget)


@pytest.mark.slow
def test_a_run_makes_tables_and_the_figure(tmp_path):
    few = replace(SCALES["smoke"], learn_steps=5)
    result = json.loads(json.dumps(run(few), allow_nan=False))
    text = report(result, tmp_path)
    assert (tmp_path / "ulira.png").read_bytes().startswith(b"\x89PNG")
    assert "never unlearned" in text
