"""Flipped labels: accuracies beside the paper's, and verdicts that follow from intervals."""

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.flipped_labels.report import accuracies, report
from experiments.flipped_labels.run import run
from experiments.flipped_labels.settings import PAPER, SCALES
from experiments.flipped_labels.verdicts import UNLEARNT, change, verdicts
from experiments.ulira_reviews.settings import SCALES as ATTACKED

RESULTS = Path(__file__).parents[2] / "experiments/flipped_labels/results"
SEARCH = {"no noise": {"accuracy": 0.8}, "learns": {"accuracy": 0.55}}


def cell(public, unlearned, retrained, seed, models=75):
    """Models whose accuracies spread by half a point."""
    drawn = 0.005 * np.random.default_rng(seed).normal(size=(2, models))
    return {
        "arm": "learns", "sigma": 0.01, "step_size": 1.0, "public": public, "models": models,
        "blocks_left": 0, "norm": 50.0, "unlearned": (drawn[0] + unlearned / 100).tolist(),
        "retrained": (drawn[1] + retrained / 100).tolist(),
    }  # fmt: skip


def told(table):
    cells = [cell(public, *pair, seed=seed) for seed, (public, pair) in enumerate(table.items())]
    return {row["claim"]: row["verdict"] for row in verdicts(cells, SEARCH, 0.95)}


def test_the_paper_s_own_table_gives_the_paper_s_claims():
    found = told(PAPER)
    assert found["smaller sigma: models learn"] == "holds"
    for law in ("unlearned", "retrained"):
        where = f"smaller sigma, {law}"
        assert found[f"{where}: public data lowers accuracy"] == "holds"
        assert found[f"{where}: flipped labels lower it further"] == "holds"
        assert found[f"{where}: what public data cost is small, less than two points"] == "holds"
    assert "models are worse" in found["smaller sigma, with: unlearned against retrained"]


def test_a_table_turned_round_does_not():
    found = told({"without": (80, 80), "with": (82, 82), "flipped": (84, 84)})
    assert found["smaller sigma, retrained: public data lowers accuracy"].startswith("does not")
    assert found["smaller sigma, unlearned: flipped labels lower it further"].startswith("does not")


def test_equal_rows_cannot_conclude_and_say_how_many_models_could():
    found = told({"without": (82, 82), "with": (82, 82), "flipped": (82, 82)})
    one = found["smaller sigma, unlearned: public data lowers accuracy"]
    assert "cannot conclude" in one
    assert "models of each law could" in one
    assert "points either way" in found["smaller sigma, with: unlearned against retrained"]


def test_models_that_guess_support_no_claim():
    found = told({"without": (50, 50), "with": (48, 48), "flipped": (46, 46)})
    assert found.pop("smaller sigma: models learn").startswith("does not hold")
    assert set(found.values()) == {UNLEARNT}


def test_an_interval_of_a_difference_is_that_of_two_independent_means():
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 400, 30))
    error = np.mean([change(a, b, 0.95).high - change(a, b, 0.95).value
                     for a, b in zip(first, second, strict=True)])  # fmt: skip
    assert error == pytest.approx(1.96 * (2 / 30) ** 0.5, rel=0.05)


def test_the_models_are_those_of_the_attack():
    for scale, settings in SCALES.items():
        attacked = ATTACKED[scale]
        assert settings.models == attacked.models
        assert settings.blocks <= attacked.blocks
        assert any(forget == settings.forget for _, _, forget in attacked.cells)


def test_a_run_puts_the_paper_s_numbers_beside_ours(tmp_path):
    result = json.loads(json.dumps(run(SCALES["smoke"]), allow_nan=False))
    text = report(result, tmp_path)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert all(f"{value:.2f}" in accuracies(result) for pair in PAPER.values() for value in pair)
    assert "the paper's sigma: not run" in text


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_committed_verdicts_follow_from_the_committed_accuracies(path):
    result = json.loads(path.read_text())
    again = verdicts(result["cells"], result["search"], result["settings"]["level"])
    assert again == result["verdicts"]
