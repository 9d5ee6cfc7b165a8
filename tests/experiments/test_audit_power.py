"""The power of audits: what the committed run shows, and the words that rest on it."""

import json
from pathlib import Path

import pytest

from experiments.audit_power.report import report
from experiments.audit_power.run import run
from experiments.audit_power.settings import SCALES

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments/audit_power/results"


@pytest.fixture(scope="module")
def committed():
    return json.loads((RESULTS / "paper.json").read_text())


def test_a_smoke_run_has_a_row_for_each_strategy():
    rows = run(SCALES["smoke"])["rows"]
    assert [row["strategy"] for row in rows] == ["residual", "langevin"]


def test_faults_are_caught_in_38_of_40_and_sound_runs_flagged_in_at_most_4(committed):
    for row in committed["rows"]:
        assert row["repetitions"] == 40
        assert row["certified_epsilon"] <= 1
        assert row["caught"]["sound"] <= 4
        assert row["caught"]["a tenth of the noise"] >= 38
        assert row["caught"]["unlearning skipped"] >= 38


def test_the_documentation_shows_the_table(committed, tmp_path):
    table = report(committed, tmp_path)
    assert (RESULTS / "power.md").read_text() == table + "\n"
    assert table in (ROOT / "docs/evidence.md").read_text()
