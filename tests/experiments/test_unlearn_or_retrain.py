"""Unlearn or retrain: the crossing, the two laws, and what the committed tables claim."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.unlearn_or_retrain import report
from experiments.unlearn_or_retrain.cost import (
    BOUNDS,
    crossing,
    public_ratio,
    setting,
    steps_on_quadratic,
    unlearn_steps,
)
from experiments.unlearn_or_retrain.laws import fitted, small_t_ratio
from experiments.unlearn_or_retrain.run import run
from experiments.unlearn_or_retrain.settings import SCALES, Settings
from expunge.accounting.advantage import PaperAdvantage
from expunge.accounting.target import RenyiWithin

RESULTS = Path(__file__).parents[2] / "experiments/unlearn_or_retrain/results"
ONE = RenyiWithin(1.0)


@pytest.fixture(scope="module")
def committed():
    return json.loads((RESULTS / "paper.json").read_text())


@pytest.fixture(scope="module")
def again():
    few = Settings(
        learn_steps=(1, 8, 64, 512),
        ratios=(0.0, 10.0),
        fractions=(0.1,),
        levels=(1.0,),
        sigmas=(0.03,),
        totals=(3000, 3_000_000),
    )
    return run(few)


def test_a_run_reproduces_the_committed_numbers(committed, again):
    grid = committed["settings"]["learn_steps"]
    known = {_of(row): dict(zip(grid, row["steps"], strict=True)) for row in committed["costs"]}
    for row in again["costs"]:
        for learn_steps, steps in zip(again["settings"]["learn_steps"], row["steps"], strict=True):
            if learn_steps in grid:
                assert known[_of(row)][learn_steps] == steps
    ends = {_of(row): row["dearer"] for row in committed["costs"]}
    assert all(ends[_of(row)] == row["dearer"] for row in again["costs"])
    for new, old in zip(again["exponents"], committed["exponents"], strict=True):
        assert new["exponent"] == pytest.approx(old["exponent"], rel=1e-6)
    assert again["runs"] == committed["runs"]
    kept = [row for row in committed["limits"] if row["total"] in again["settings"]["totals"]]
    assert again["limits"] == kept


def _of(row):
    return tuple(row[k] for k in ("sigma", "fraction", "ratio", "target", "level", "bound"))


@pytest.mark.parametrize("name", ["verdicts", "crossings", "laws", "limits", "runs"])
def test_the_committed_tables_follow_from_the_committed_json(committed, name):
    assert getattr(report, name)(committed) + "\n" == (RESULTS / f"{name}.md").read_text()


def test_results_are_at_the_papers_scale_and_say_where_and_how_long(committed):
    assert committed["scale"] == "paper"
    assert committed["settings"] == json.loads(json.dumps(SCALES["paper"].__dict__))
    assert committed["seconds"] > 0
    assert committed["device"]


def test_every_verdict_is_one_of_three(committed):
    for row in committed["verdicts"]:
        assert row["verdict"] == "holds" or row["verdict"].startswith(
            ("holds only when", "does not hold")
        )
        assert "|" not in "".join(row.values())  # they stand in a table


def test_the_shift_bound_asks_for_the_steps_that_the_worst_quadratic_needs(committed):
    assert committed["exact"]["same"] == committed["exact"]["asked"] > 1000


def test_a_loss_of_half_the_gradient_would_not_need_as_many_steps():
    """The planted fault of the comparison above."""
    problem = setting(Settings(), 100, 0.0, 0.1)
    bounded = unlearn_steps(problem, ONE, sigma=0.03, bound="shift")
    assert steps_on_quadratic(problem, 1.0, sigma=0.03, order=2.0) == bounded
    gentle = replace(problem, assumptions=replace(problem.assumptions, lipschitz=0.5))
    assert steps_on_quadratic(gentle, 1.0, sigma=0.03, order=2.0) < bounded


def test_the_papers_bound_here_is_its_corrected_proposition():
    """[prop:sufficient_condition_retraining], E14."""
    settings = Settings()
    paper = PaperAdvantage(0.1, settings.ridge, 1 / (0.25 + settings.ridge), 0.03)
    for learn_steps in (1, 10, 100, 1000):
        problem = setting(settings, learn_steps, 0.0, 0.1)
        found = unlearn_steps(problem, ONE, sigma=0.03, bound="log_sobolev_paper")
        assert found == paper.unlearn_steps(learn_steps)


def test_the_crossing_is_that_of_trying_every_t():
    paper = PaperAdvantage((20 * 0.0454 / 8) ** 0.5, 0.0454, 1.0, 1.0)  # of E14
    dearer = [t for t in range(1, 2000) if paper.unlearn_steps(t) > t]
    assert crossing(paper.unlearn_steps, (1, 2, 40, 1000)) == (dearer[0], dearer[-1])
    assert crossing(paper.unlearn_steps, (1, 2, 40)) == (dearer[0], dearer[-1])
    assert dearer[0] > 1  # one step of learning is cheaper to unlearn: not monotone


def test_there_is_no_crossing_where_unlearning_is_free():
    assert crossing(lambda _: 0, (1, 10, 100)) is None


def test_public_data_shrinks_the_stretch_where_retraining_is_cheaper(committed):
    spans: dict[tuple, list[int]] = {}
    for row in committed["costs"]:  # public ratios rise within each setting
        stretch = row["dearer"]
        length = stretch[1] - stretch[0] + 1 if stretch else 0
        key = (*_of(row)[:2], *_of(row)[3:])
        spans.setdefault(key, []).append(length)
    for lengths in spans.values():
        assert lengths == sorted(lengths, reverse=True)


def test_one_record_less_than_the_public_ratio_is_too_few():
    settings, steps = Settings(), 16
    needed = public_ratio(settings, steps, 0.5, ONE, sigma=0.01, bound="shift")
    enough = setting(settings, steps, needed, 0.5, private=3_000_000)
    short = replace(enough, public=enough.public - 1)
    assert unlearn_steps(enough, ONE, sigma=0.01, bound="shift") <= steps
    assert unlearn_steps(short, ONE, sigma=0.01, bound="shift") > steps


def test_the_small_t_law_has_exponent_one_half_and_the_printed_one_does_not(committed):
    """E15: the printed exponent is sigma^2 eta/(C alpha), 1e-4 here."""
    for row in committed["exponents"]:
        if row["of"] == "T, small":
            assert row["exponent"] == pytest.approx(0.5, abs=0.01)
            assert row["range"][0] > 0.45


def test_the_corrected_small_t_law_is_the_papers_bound_as_t_shrinks():
    settings = replace(Settings(), ridge=1e-6)
    law = small_t_ratio(settings, 1, 0.01)
    exact = public_ratio(settings, 1, 0.5, ONE, sigma=0.01, bound="log_sobolev_paper")
    assert law == pytest.approx(exact, rel=1e-4)


def test_a_fitted_exponent_is_that_of_a_known_power():
    fit = fitted([1.0, 2.0, 8.0], [3.0, 3 * 2**0.7, 3 * 8**0.7])
    assert fit["exponent"] == pytest.approx(0.7)
    assert fit["range"] == pytest.approx([0.7, 0.7])


def test_the_cost_of_converged_models_falls_with_n_or_ignores_it(committed):
    for bound in BOUNDS:
        count, share = (
            [r["steps"] for r in committed["limits"] if (r["fixed"], r["bound"]) == (fixed, bound)]
            for fixed in ("n_f", "n_f/n")
        )
        assert count == sorted(count, reverse=True)
        assert max(share) - min(share) <= 1  # 10 % of 9,487 is not a whole number


def test_the_papers_own_runs_certify_d_2_of_one_within_t_only_for_the_smallest_forget_set(
    committed,
):
    assert [row["steps"] for row in committed["runs"]] == [1287, 425, 17]
    assert all(row["divergence"] > 1 for row in committed["runs"])
