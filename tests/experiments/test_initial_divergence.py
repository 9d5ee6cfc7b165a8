"""The K = 1 ablation: what the committed result must show."""

import json
from pathlib import Path

import pytest

from experiments.initial_divergence.report import report
from experiments.initial_divergence.run import run, verdicts
from experiments.initial_divergence.settings import SCALES
from experiments.tables import select

RESULTS = Path(__file__).parents[2] / "experiments/initial_divergence/results"


@pytest.fixture(scope="module")
def smoke():
    return json.loads(json.dumps(run(SCALES["smoke"]), allow_nan=False))


@pytest.fixture(scope="module", params=sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def committed(request):
    return json.loads(request.param.read_text())


def test_a_smoke_run_draws_the_figure_and_writes_the_tables(smoke, tmp_path):
    text = report(smoke | {"scale": "smoke"}, tmp_path)
    assert (tmp_path / "smoke.md").read_text() == text + "\n"
    assert (tmp_path / "smoke.png").exists()
    assert "| digits+1/digits | random forget set | the paper's | 30 | 36 |" in text


def test_checks_are_made_after_a_single_step(smoke):
    assert {row["unlearn_steps"] for row in smoke["checks"]} == {1}
    for row in smoke["checks"]:
        assert row["predicted"] == pytest.approx(row["coupled"]["value"], rel=0.01)


def test_a_gap_that_grows_with_public_data_does_not_pass_for_one_that_falls(smoke):
    turned = [
        row | {"values": [v * (1 + row["public"]) ** 4 for v in row["values"]]}
        for row in smoke["rows"]
    ]
    found = verdicts(smoke | {"rows": turned})
    alone = [one for one in found if "more public data alone" in one["claim"]]
    assert alone
    assert all(one["verdict"] == "does not hold: D_2 rises" for one in alone)


def test_verdicts_follow_from_the_committed_rows(committed):
    assert committed["verdicts"] == verdicts(committed)


def test_the_certificate_covers_every_split(committed):
    for row in committed["rows"]:
        assert max(row["values"]) <= row["certified"]


def test_forgetting_whole_classes_leaves_a_larger_gap_than_forgetting_at_random(committed):
    by_class = select(committed["rows"], variant="forgotten by class", unlearn_steps=1)
    at_random = select(committed["rows"], variant="base", unlearn_steps=1)
    for special, plain in zip(by_class, at_random, strict=True):
        assert min(special["values"]) > max(plain["values"])
