"""What the public rule loses: the experiment runs, and the page shows what was committed."""

import json
from pathlib import Path

import pytest

from experiments.public_settings.report import mean_loss, report
from experiments.public_settings.run import run, verdicts
from experiments.public_settings.settings import SCALES

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "experiments/public_settings/results/cpu.json"


@pytest.fixture(scope="module")
def smoke():
    return run(SCALES["smoke"])


def test_a_smoke_run_has_a_row_and_a_verdict_for_each_task(smoke, tmp_path):
    _, row, leaves = smoke["rows"]  # rows of digits are bounded in two ways
    assert (leaves["measure"], leaves["public_records"]) == ("AUC", 42)
    assert 0.9 < leaves["chosen"] <= leaves["best"]
    assert row["public_records"] == 50
    assert row["records"] == 500
    assert 0.5 < row["chosen"] <= row["best"]
    assert len(smoke["verdicts"]) == 2
    text = report(smoke | {"scale": "smoke", "device": "CPU", "seconds": 1.0}, tmp_path)
    assert (tmp_path / "smoke.md").read_text() == text + "\n"
    assert "| digits+1/digits | random | 1.0 | 500 |" in text


def test_a_run_repeats(smoke):
    assert run(SCALES["smoke"]) == smoke


def test_a_rule_that_loses_more_than_a_point_is_said_to(smoke):
    row = smoke["rows"][0]
    for lost, verdict in ((0.011, "does not hold"), (0.0, "holds")):
        rows = [row | {"chosen": row["best"] - lost} for row in smoke["rows"]]
        assert [one["verdict"] for one in verdicts(smoke | {"rows": rows})] == [verdict] * 2
    assert len(verdicts(smoke | {"rows": [row]})) == 1


def test_the_committed_verdicts_are_those_of_the_committed_rows():
    result = json.loads(COMMITTED.read_text())
    assert result["verdicts"] == verdicts(result)
    random = [one for one in result["verdicts"] if "random public" in one["claim"]]
    assert [one["verdict"] for one in random] == ["holds"] * len(random)


def test_the_page_shows_the_committed_means():
    result = json.loads(COMMITTED.read_text())
    page = (ROOT / "docs/choosing_settings.md").read_text()
    for name, shown in (("chosen", '"public"'), ("0.01", "1e-2"), ("0.001", "1e-3")):
        assert f"| `l2={shown}` | {100 * mean_loss(result, name):.1f} |" in page
    assert f"| `l2=1e-4` | {100 * mean_loss(result, '0.0001'):.1f} |" in page
    found = {one["claim"].split(": ")[0]: one["found"].split()[0] for one in result["verdicts"]}
    assert f"loses {found['sketch/cartoon, shifted public records']} points" in page
    most = max(float(lost) for task, lost in found.items() if "random" in task)
    assert f"nowhere more than {most:.2f}" in page
