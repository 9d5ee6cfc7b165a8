"""Unlearned against retrained loss: signs, errors and the bound."""

import json
import math
from pathlib import Path
from statistics import fmean

import pytest

from experiments.alignment_utility.report import report
from experiments.alignment_utility.run import points, run
from experiments.alignment_utility.settings import SCALES
from experiments.alignment_utility.verdicts import mixed, relative, verdicts

RESULTS = Path(__file__).parents[2] / "experiments/alignment_utility/results"


@pytest.fixture(scope="module")
def smoke():
    return json.loads(json.dumps(run(SCALES["smoke"]), allow_nan=False))


@pytest.fixture(scope="module", params=sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def committed(request):
    return json.loads(request.param.read_text())


def test_half_of_the_private_rows_are_forgotten_and_no_public_row_is_used_twice():
    for point in points(SCALES["smoke"], "digits+0/digits"):
        assert point.retained == point.forget == 20
    large = points(SCALES["paper"], "digits+0/digits")
    assert max(point.public for point in large) <= 700


def test_a_smoke_run_draws_the_figure_and_writes_the_tables(smoke, tmp_path):
    text = report(smoke | {"scale": "smoke"}, tmp_path)
    assert (tmp_path / "smoke.md").read_text() == text + "\n"
    assert (tmp_path / "smoke.png").exists()
    assert "| digits+2/digits | misaligned | norm 10 | 80 | 20 | 20 |" in text


def test_differences_keep_their_sign(smoke):
    for row in smoke["rows"]:
        for i, share in enumerate(relative(row)):
            assert share == pytest.approx(
                (row["unlearned"][i] - row["retrained"][i]) / row["retrained"][i], abs=1e-5
            )
    worse = [row | {"differences": [0.1, 0.11]} for row in smoke["rows"]]
    found = verdicts(smoke | {"rows": worse})
    signs = [one for one in found if "worse than retrained" in one["claim"]]
    assert [one["verdict"] for one in signs] == ["holds", "holds"]
    better = [row | {"differences": [-0.1, -0.11]} for row in smoke["rows"]]
    signs = [one for one in verdicts(smoke | {"rows": better}) if "worse than" in one["claim"]]
    assert all("unlearned models are better" in one["verdict"] for one in signs)


def test_a_bound_below_the_measured_loss_is_cried_out(smoke):
    broken = [row | {"measured": 1e6} for row in smoke["bounds"]]
    assert any("DOES NOT HOLD" in one["verdict"] for one in verdicts(smoke | {"bounds": broken}))


def test_verdicts_follow_from_the_committed_rows(committed):
    assert committed["verdicts"] == verdicts(committed)


def test_the_bound_covers_what_was_measured_and_the_exact_factor_is_the_smaller(committed):
    for row in committed["bounds"]:
        for kind in ("predicted", "certified"):
            risk = row[kind]
            assert risk["exact"] >= row["measured"]
            assert risk["exact"] <= (math.inf if risk["paper"] is None else risk["paper"])
            assert risk["exact"] <= risk["any mismatch"] * (1 + 1e-9)


def test_the_coupling_makes_the_error_over_models_small_beside_that_over_splits(committed):
    for row in committed["rows"]:
        spread = max(row["differences"]) - min(row["differences"])
        assert fmean(row["over_models"]) < spread


def test_the_second_reading_is_over_retraining_on_the_mixture():
    row = {"unlearned": [1.1, 0.9], "retrained": [2.0, 2.0], "retrained_on_mixture": [1.0, 1.0]}
    assert mixed(row) == pytest.approx([0.1, -0.1])


def test_the_second_reading_has_every_sign_of_the_papers_table_and_the_first_has_not(committed):
    for variant in ("norm 10", "norm 40"):
        (one,) = [
            row
            for row in committed["verdicts"]
            if row["claim"] == f"{variant}, second reading: the signs of its table"
        ]
        assert one["verdict"] == "holds"
        assert "6 of 6 rows, first reading 3" in one["found"]


def test_a_sign_that_turned_would_be_seen(committed):
    turned = [
        row | {"retrained_on_mixture": [3 * one for one in row["retrained_on_mixture"]]}
        for row in committed["rows"]
    ]
    signs = [
        row["verdict"]
        for row in verdicts(committed | {"rows": turned})
        if row["claim"].endswith("the signs of its table")
    ]
    assert signs
    assert all(verdict == "holds only in part: 3 of 6 rows" for verdict in signs)


def test_a_pair_is_called_what_was_measured_and_what_the_paper_calls_it(committed):
    told = committed["verdicts"][0]["found"]
    assert "measured aligned (art_painting/photo, for Infograph / Real" in told
    assert "which the paper calls misaligned" in told
