"""Plans: five figures, a verdict that follows from them, and settings that keep their word."""

import json
import math
import random
from dataclasses import replace

import pytest

from expunge.accounting import Assumptions, InvalidInput, account
from expunge.accounting.bounds import BOUNDS
from expunge.accounting.planning import Plan, plan
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta

LOSS = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
SETTING = Setting(LOSS, private=1000, public=500, forget=50, step_size=1.0, learn_steps=60)
TARGET = EpsilonDelta(1.0, 1e-5)


def epsilon_of(setting: Setting, sigma: float, steps: int, name: str = "shift") -> float:
    history = replace(setting, observer="final").history(sigma, steps)
    found = account(setting.assumptions, history, delta=TARGET.delta).bounds[name]
    return math.inf if found.epsilon is None else found.epsilon


def random_setting(rng: random.Random) -> Setting:
    smoothness = 10 ** rng.uniform(-2, 2)
    loss = Assumptions(
        strong_convexity=rng.choice([0.0, smoothness * 10 ** rng.uniform(-4, 0)]),
        smoothness=smoothness,
        lipschitz=10 ** rng.uniform(-2, 2),
        radius=rng.choice([None, None, 10 ** rng.uniform(-1, 2)]),
    )
    private = rng.choice([2, 30, 3000])
    return Setting(
        loss,
        private=private,
        public=rng.choice([1, 3000]),
        forget=rng.randint(1, private),
        step_size=rng.uniform(0.1, 1.9) / smoothness,
        learn_steps=rng.choice([1, 2, 20, 200]),
        normaliser=rng.choice(["mean", "fixed"]),
        observer=rng.choice(["final", "final", "all"]),
    )


def test_a_plan_lists_every_bound_and_takes_the_shift_bounds_figures():
    found = plan(SETTING, TARGET, unlearn_steps=10)
    assert list(found.bounds) == list(BOUNDS)
    assert found.figures == found.bounds["shift"]
    document = found.document()
    for name in ("sigma", "unlearn_steps", "epsilon", "public_needed", "verdict"):
        assert document[name] == getattr(found.figures, name)
    assert found.bounds["contraction"].document() == {"refused": "needs a projection (radius)"}


def _assert_sigma_is_least(setting: Setting, found: Plan) -> None:
    figures = found.figures
    epsilon = epsilon_of(setting, figures.sigma, figures.unlearn_steps)
    assert epsilon <= TARGET.level
    assert epsilon == pytest.approx(figures.epsilon, rel=1e-9, abs=1e-12)
    assert epsilon_of(setting, figures.sigma * (1 - 1e-6), figures.unlearn_steps) > TARGET.level


@pytest.mark.slow
def test_every_planned_setting_meets_its_target_and_wastes_nothing():
    rng = random.Random(3)
    for _ in range(25):
        setting = random_setting(rng)
        found = plan(setting, TARGET, unlearn_steps=rng.choice([None, 0, 3, 50]))
        json.dumps(found.document(), allow_nan=False)
        _assert_sigma_is_least(setting, found)
        assert found.figures.public_needed <= setting.public
        sigma = 10 ** rng.uniform(-2, 1)
        found = plan(setting, TARGET, sigma=sigma)
        json.dumps(found.document(), allow_nan=False)
        steps = found.figures.unlearn_steps
        if steps is None:
            assert found.figures.verdict != "unlearn"
            continue
        assert epsilon_of(setting, sigma, steps) <= TARGET.level
        if steps > 0:
            assert epsilon_of(setting, sigma, steps - 1) > TARGET.level


def test_every_bounds_own_setting_meets_the_target_by_that_bound():
    loss = replace(LOSS, radius=3.0)
    setting = replace(SETTING, assumptions=loss)
    found = plan(setting, TARGET, unlearn_steps=15)
    for name, figures in found.bounds.items():
        assert figures.refused is None
        assert epsilon_of(setting, figures.sigma, 15, name) <= TARGET.level


def test_the_public_count_is_the_least():
    for found, steps in (
        (plan(SETTING, TARGET, unlearn_steps=10), 10),
        (plan(SETTING, TARGET, sigma=1e-4), SETTING.learn_steps - 1),
    ):
        sigma, needed = found.figures.sigma, found.figures.public_needed
        assert needed > 0
        assert epsilon_of(replace(SETTING, public=needed), sigma, steps) <= 1
        assert epsilon_of(replace(SETTING, public=needed - 1), sigma, steps) > 1


def test_unlearning_is_advised_iff_it_takes_fewer_steps_than_retraining():
    for steps in (0, 1, 59, 60, 61, 200):
        expected = "unlearn" if steps < 60 else "retrain"
        assert plan(SETTING, TARGET, unlearn_steps=steps).figures.verdict == expected
    for sigma in (1e-6, 1e-3, 0.1, 10.0):
        figures = plan(SETTING, TARGET, sigma=sigma).figures
        assert (figures.verdict == "unlearn") == (figures.unlearn_steps < 60)


def test_steps_that_never_suffice_leave_retraining():
    expanding = Assumptions(smoothness=0.5, lipschitz=1.0, radius=None)
    setting = replace(SETTING, assumptions=expanding, learn_steps=3)
    figures = plan(setting, TARGET, sigma=0.01).figures
    assert figures.unlearn_steps is None
    assert figures.verdict == "retrain"


def test_with_neither_option_one_step_less_than_retraining_is_planned():
    found = plan(SETTING, TARGET)
    assert found.figures.unlearn_steps == 59
    assert found.frontier[-1] == {"unlearn_steps": 59, "sigma": found.figures.sigma}
    for point in found.frontier:
        assert epsilon_of(SETTING, point["sigma"], point["unlearn_steps"]) <= 1
    steps = [point["unlearn_steps"] for point in found.frontier]
    assert steps == sorted(set(steps))


def test_a_single_learning_step_can_be_planned():
    found = plan(replace(SETTING, learn_steps=1), TARGET)
    assert found.figures.unlearn_steps == 0
    assert found.figures.verdict == "unlearn"


def test_an_observer_of_all_models_pays_for_the_learned_model_alone():
    exposed = replace(SETTING, observer="all")
    alone = plan(SETTING, TARGET, unlearn_steps=0).figures
    for steps in (None, 0, 10, 1000):
        figures = plan(exposed, TARGET, unlearn_steps=steps).figures
        assert figures.sigma == alone.sigma
        assert figures.unlearn_steps == 0
        assert figures.verdict == "unlearn"
    enough = plan(exposed, TARGET, sigma=alone.sigma).figures
    assert (enough.unlearn_steps, enough.verdict) == (0, "unlearn")
    released = account(LOSS, exposed.history(alone.sigma, 10), delta=1e-5)
    assert released.observer == "all"
    assert released.epsilon <= 1


def test_an_observer_of_all_models_is_told_what_would_suffice_and_never_to_retrain():
    exposed = replace(SETTING, observer="all")
    figures = plan(exposed, TARGET, sigma=0.01).figures
    assert figures.verdict == "none"
    assert figures.unlearn_steps is None
    assert epsilon_of(SETTING, figures.sigma_needed, 0) <= 1
    needed = replace(SETTING, public=figures.public_needed)
    assert epsilon_of(needed, 0.01, 0) <= 1
    assert epsilon_of(replace(needed, public=figures.public_needed - 1), 0.01, 0) > 1
    for sigma in (1e-3, 0.1, 10.0):
        for each in plan(exposed, TARGET, sigma=sigma).bounds.values():
            assert each.verdict != "retrain"
    assert plan(exposed, TARGET).frontier == []


def test_forgetting_everything_private_needs_public_records():
    all_private = replace(SETTING, forget=1000)
    figures = plan(all_private, TARGET, unlearn_steps=5).figures
    assert 1 <= figures.public_needed <= 500


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"unlearn_steps": 1, "sigma": 1.0}, "sigma"),
        ({"unlearn_steps": -1}, "unlearn_steps"),
        ({"sigma": 0.0}, "sigma"),
        ({"sigma": -1.0}, "sigma"),
        ({"sigma": math.nan}, "sigma"),
        ({"sigma": math.inf}, "sigma"),
    ],
)
def test_contradictory_or_impossible_wishes_are_named(given, field):
    with pytest.raises(InvalidInput) as refused:
        plan(SETTING, TARGET, **given)
    assert refused.value.field == field


def test_a_vacuous_target_is_called_so():
    assert not plan(SETTING, TARGET, unlearn_steps=1).document()["vacuous"]
    assert plan(SETTING, EpsilonDelta(20.1, 1e-5), unlearn_steps=1).document()["vacuous"]
    assert plan(SETTING, EpsilonDelta(1.0, 0.01), unlearn_steps=1).document()["vacuous"]


@pytest.mark.parametrize("given", [{"unlearn_steps": 10}, {"sigma": 0.5}])
@pytest.mark.parametrize("observer", ["final", "all"])
def test_a_plans_epsilon_is_the_proven_one(given, observer):
    setting = replace(SETTING, observer=observer)
    figures = plan(setting, TARGET, **given).figures
    steps = 0 if observer == "all" else figures.unlearn_steps
    history = replace(setting, observer="final").history(figures.sigma, steps)
    judged = account(LOSS, history, delta=TARGET.delta)
    assert judged.bounds["shift"].proof == "proven"
    assert figures.epsilon == judged.bounds["shift"].epsilon
