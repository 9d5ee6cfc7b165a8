"""Real tables: what a run compares, and how its rows are drawn and counted."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.datasets.packaged import TABLES, load_table
from experiments.real_tables.report import ARMS, gap, report
from experiments.real_tables.run import encoder, run, split
from experiments.real_tables.settings import SCALES

SMOKE = SCALES["smoke"]


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
