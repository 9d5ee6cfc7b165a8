"""The required-noise figure: what the paper drew, and what the README claims."""

import json
from pathlib import Path

import pytest

from experiments.required_noise.run import run
from experiments.required_noise.settings import SCALES, Settings

RESULTS = Path(__file__).parents[2] / "experiments/required_noise/results"


@pytest.fixture(scope="module")
def committed():
    return json.loads((RESULTS / "paper.json").read_text())


def test_a_run_reproduces_the_committed_numbers(committed):
    some = Settings(fractions=(0.1, 0.5), unlearn_steps=(100,), forgotten=(300,), sigmas=(0.3,))
    again = run(some)
    known = {
        (r["public"], r["fraction"], r["unlearn_steps"]): r["sigma"] for r in committed["noise"]
    }
    for row in again["noise"]:
        expected = known[row["public"], row["fraction"], row["unlearn_steps"]]
        for name, sigma in row["sigma"].items():
            refused = expected[name] is None  # iteration needs unlearning steps
            assert sigma is None if refused else sigma == pytest.approx(expected[name], rel=1e-9)
    steps = [r for r in committed["steps"] if (r["forgotten"], r["sigma"]) == (300, 0.3)]
    assert again["steps"] == steps


def test_the_papers_curve_is_its_closed_form(committed):
    """[fig:sigmas_strgly_cvx], [eq:strgly_cvx_sigma]: 2 c M sqrt(alpha/(m eps)) n_priv/n."""
    for row in committed["noise"]:
        if row["target"] == "renyi":
            closed = 2 * row["fraction"] * (2 / 0.0119) ** 0.5 * 3000 / (3000 + row["public"])
            assert row["sigma"]["paper"] == pytest.approx(closed, rel=1e-9)


def test_theory_table_a(committed):
    """Sigma for D_2 <= 1 at K = 0, to the digits that THEORY 2.9 prints."""
    known = {
        (r["public"], r["fraction"]): r["sigma"]
        for r in committed["noise"]
        if not r["unlearn_steps"]
    }
    for (public, share), (paper, corrected, shift, fixed) in {
        (0, 0.01): (0.25928, 0.18129, 0.18125, 0.090623),
        (3000, 0.5): (6.482, 4.5324, 4.5311, 2.2656),
        (30_000, 1.0): (2.3571, 1.6481, 1.6477, 0.82384),
    }.items():
        row = known[public, share]
        assert row["paper"] == pytest.approx(paper, rel=1e-4)
        assert row["log_sobolev"] == pytest.approx(corrected, rel=1e-4)
        assert row["shift"] == pytest.approx(shift, rel=1e-4)
        assert row["shift, fixed normaliser"] == pytest.approx(fixed, rel=1e-4)


def test_shift_needs_23_to_43_times_fewer_steps_and_142_times_less_noise(committed):
    ratios = [
        row["steps"]["paper"] / row["steps"]["shift"]
        for row in committed["steps"]
        if row["steps"]["shift"] > 10
    ]
    assert 23 <= min(ratios) <= max(ratios) <= 43.5
    at_100 = [r["sigma"] for r in committed["noise"] if r["unlearn_steps"] == 100]
    for sigma in at_100:
        assert sigma["paper"] / sigma["shift"] == pytest.approx(142, abs=1)


def test_the_committed_result_has_the_papers_settings(committed):
    assert committed["settings"]["learn_steps"] == 10_000
    assert committed["scale"] == "paper"
    assert set(SCALES) == {"smoke", "cpu", "paper"}
