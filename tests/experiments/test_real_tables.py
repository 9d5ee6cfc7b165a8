"""Real tables: what a run compares, and how its rows are drawn and counted."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.datasets.packaged import TABLES, load_table
from experiments.real_tables.report import ARMS, gap, report
from experiments.real_tables.run import encoder, run, split
from experiments.real_tables.settings import SCALES

SMOKE = SCALES["smoke"]
ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments/real_tables/results"
SPREAD = (-0.016, -0.007)  # of the trees' lead over the linear model, as the page says


@pytest.fixture(scope="module")
def committed():
    return json.loads((RESULTS / "cpu.json").read_text())


def scores(committed, **wanted):
    """The scores of the rows that have these values, by table."""
    rows = [row for row in committed["rows"] if wanted.items() <= row.items()]
    return {row["table"]: row["scores"] for row in rows}


@pytest.fixture(scope="module")
def result():
    return run(replace(SMOKE, tables=("breast_cancer",)))


def test_a_smoke_run_scores_every_arm_with_public_rows_of_either_kind(result, tmp_path):
    assert [row["kind"] for row in result["rows"]] == ["random", "shifted"]
    for row in result["rows"]:
        assert set(row["scores"]) == set(ARMS)
        assert row["scores"]["trees"] > 0.9
        assert gap(row, "LightGBM on all rows") == 0
        assert row["seconds"]["trees"]["deletion"] > 0
    text = report(result, tmp_path)
    assert (tmp_path / "tables.md").read_text() == text + "\n"
    assert "| breast_cancer | shifted | AUC | 90 + 210 |" in text
    assert "| trees | random |" in text


def test_public_private_and_test_rows_are_different_rows_of_one_draw():
    frame, _ = load_table("breast_cancer")
    for kind in SMOKE.kinds:
        public, private, test = split(SMOKE, frame, kind, "mean radius", 0)
        assert (len(public), len(private), len(test)) == (90, 210, 100)
        assert len(set(public) | set(private) | set(test)) == 400
    again = split(SMOKE, frame, "random", "mean radius", 0)
    other = split(SMOKE, frame, "random", "mean radius", 1)
    np.testing.assert_array_equal(again[2], test)  # kinds share their test rows
    assert not np.array_equal(other[2], test)


def test_shifted_public_rows_lie_below_the_median_of_their_column():
    frame, _ = load_table("breast_cancer")
    public, private, _ = split(SMOKE, frame, "shifted", "mean radius", 0)
    values = frame["mean radius"].to_numpy()
    assert values[public].max() <= np.median(values[np.concatenate([public, private])])


def test_an_encoder_keeps_one_category_column_within_twenty():
    frame, _ = load_table("diabetes")
    encoded = encoder(TABLES["diabetes"]).fit_transform(frame)
    assert encoded.shape == (442, 11)
    assert np.isfinite(encoded).all()


def test_the_documentation_shows_the_committed_scores(committed, tmp_path):
    text = report(committed, tmp_path)
    assert (RESULTS / "tables.md").read_text() == text + "\n"
    assert text.partition("\n\n")[0] in (ROOT / "docs/pipelines.md").read_text()


def test_what_the_page_says_of_the_scores_is_so(committed):
    at_random, shifted = (scores(committed, kind=kind) for kind in ("random", "shifted"))
    level = [t for t, s in at_random.items() if s["linear"] >= s["LightGBM on all rows"]]
    assert sorted(level) == ["MplsStops", "TV16", "nassCDS"]
    for table in ("nassCDS", "MplsStops"):
        for kind in (at_random, shifted):
            for arm in ("trees", "trees and ranges"):
                lead = kind[table][arm] - kind[table]["linear"]
                assert SPREAD[0] <= round(lead, 3) <= SPREAD[1]
    diamonds = shifted["diamonds"]
    assert round(diamonds["linear"] - diamonds["trees"], 3) == 0.013
    assert round(diamonds["trees and ranges"] - diamonds["linear"], 3) == 0.008
