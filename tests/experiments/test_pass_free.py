"""Requests without a pass: the bound lies above the truth, and tables say what the rows say."""

import json
from pathlib import Path

import pytest

from experiments.pass_free.report import (
    choice_table,
    guide_table,
    in_a_row_lines,
    passes_table,
    report,
    until_pass,
)
from experiments.pass_free.run import run
from experiments.pass_free.settings import SCALES
from expunge.accounting.prices import DISTANCE

RESULTS = Path(__file__).parents[2] / "experiments/pass_free/results"


@pytest.fixture(scope="module")
def smoke():
    return json.loads(json.dumps(run(SCALES["smoke"]), allow_nan=False))


def points_of(result):
    return [point for row in result["curves"] for point in row["points"]]


def test_the_true_distance_is_below_the_bound(smoke):
    compared = [point for point in points_of(smoke) if "truth" in point]
    assert len(compared) >= 6
    assert all(point["truth"] - point["truth_error"] <= point["bound"] for point in compared)


def test_more_records_gone_and_more_influential_ones_are_further_away(smoke):
    for row in smoke["curves"]:
        assert row["points"][-1]["bound"] > row["points"][0]["bound"]
    for data in ("made, 2 classes", "embedded digits"):
        random, worst = (
            next(row for row in smoke["curves"] if row["data"] == data and row["order"] == order)
            for order in ("random 0", "most influential first")
        )
        assert worst["points"][0]["bound"] > random["points"][0]["bound"]


def test_more_noise_costs_accuracy(smoke):
    for data in ("made, 2 classes", "embedded digits"):
        rows = [row for row in smoke["accuracies"] if row["data"] == data]
        assert rows[-1]["accuracy"] < rows[0]["accuracy"]


def test_requests_in_a_row_are_verified_and_counted(smoke):
    row = smoke["in_a_row"]
    assert row["certificates_verified"] == row["requests"] == 6
    assert [point["request"] for point in row["checkpoints"]] == [1, 6]


def test_records_until_a_pass_end_where_the_bound_first_passes_the_limit():
    points = [{"gone": gone, "bound": bound} for gone, bound in ((1, 1.0), (2, 3.0), (5, 2.0))]
    assert until_pass(points, 2.5) == (1, True)
    assert until_pass(points, 0.5) == (0, True)
    assert until_pass(points, 3.5) == (5, False)
    assert until_pass([{"gone": 1, "bound": None}], 9.0) == (0, True)


def test_a_report_has_a_picture_and_every_table(smoke, tmp_path):
    text = report(smoke, tmp_path)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert all(table in text for table in (passes_table(smoke), choice_table(smoke)))
    assert in_a_row_lines(smoke) in text


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_committed_results_are_sound_and_their_tables_follow_from_them(path):
    result = json.loads(path.read_text())
    compared = [point for point in points_of(result) if "truth" in point]
    assert len(compared) >= 50
    assert all(point["truth"] - point["truth_error"] <= point["bound"] for point in compared)
    assert result["missing"] == []
    assert result["in_a_row"]["requests_with_passes"] <= 2
    assert result["in_a_row"]["largest_gap_in_points"] <= 0.1
    tables = path.with_suffix(".md").read_text()
    for table in (passes_table(result), choice_table(result), in_a_row_lines(result)):
        assert table in tables


def test_the_page_shows_the_table_that_justifies_the_default_and_it_does():
    result, smaller = (
        json.loads((RESULTS / f"{name}.json").read_text()) for name in ("paper", "cpu")
    )
    page = (RESULTS.parents[2] / "docs/pass_free.md").read_text()
    assert choice_table(result) in page
    assert guide_table(result) in page
    assert in_a_row_lines(result) in " ".join(page.split())
    lost = {
        distance: max(
            row["without_noise"] - row["accuracy"]
            for row in [*result["accuracies"], *smaller["accuracies"]]
            if row["distance"] == distance
        )
        for distance in result["settings"]["distances"]
    }
    allowed = [distance for distance, most in lost.items() if most < 0.001]
    assert max(allowed) == result["settings"]["default"] == DISTANCE
