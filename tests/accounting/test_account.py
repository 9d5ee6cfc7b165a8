"""Every bound for a history: a pure function that lists all, picks one and says why."""

import json
import math
from dataclasses import replace

import pytest

from expunge.accounting import (
    Account,
    Assumptions,
    History,
    InvalidInput,
    Phase,
    Poisson,
    account,
    learn_unlearn,
)
from expunge.accounting.account import Answer, order_key
from expunge.accounting.bounds import BOUNDS

LOSS = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
PIPELINE = {"step_size": 1.0, "sigma": 0.1, "samples": 1000, "forgotten": 10}


def judge(loss: Assumptions = LOSS, *, learn=50, unlearn=5, delta=1e-5, **changes) -> Account:
    history = learn_unlearn(learn_steps=learn, unlearn_steps=unlearn, **PIPELINE | changes)
    return account(loss, history, delta=delta)


def test_every_bound_is_listed_in_order():
    assert list(judge().bounds) == list(BOUNDS)


def test_the_answer_is_a_pure_function():
    assert judge() == judge()
    assert json.dumps(judge().document()) == json.dumps(judge().document())


def test_the_best_bound_has_the_smallest_epsilon():
    for loss in (
        LOSS,
        Assumptions(strong_convexity=0.0, smoothness=1.0, lipschitz=1.0, radius=0.3),
        Assumptions(smoothness=0.1, lipschitz=1.0, radius=0.3),
        Assumptions(clip=1.0, weight_decay=0.1, smoothness=1.0, radius=0.3),
    ):
        found = judge(loss)
        known = [f.epsilon for f in found.bounds.values() if f.epsilon is not None]
        assert found.epsilon == pytest.approx(min(known), rel=1e-8)
        assert found.epsilon == found.bounds[found.best].epsilon


def test_the_shift_bound_wins_ties():
    nothing = judge(forgotten=0)
    assert nothing.best == "shift"
    assert {f.epsilon for f in nothing.bounds.values()} == {0.0}


@pytest.mark.parametrize(
    ("loss", "batches", "tight"),
    [
        (LOSS, None, True),
        (replace(LOSS, strong_convexity=0.0), None, True),
        (replace(LOSS, strong_convexity=None), None, False),
        (replace(LOSS, radius=50.0), None, False),
        (LOSS, (4, 6), False),
    ],
)
def test_tight_is_said_of_full_batches_on_convex_losses_without_projection_alone(
    loss, batches, tight
):
    learned, unlearned = learn_unlearn(learn_steps=50, unlearn_steps=1, **PIPELINE).phases
    if batches is not None:
        learned = replace(learned, batches=batches, batch_size=500)
    answer = account(loss, History((learned, unlearned)), delta=1e-5)
    assert answer.best == "shift"
    assert ("exactly tight" in answer.best_reason) == tight


def test_the_hybrid_never_exceeds_the_shift_bound():
    for radius in (0.05, 0.5, 5.0):
        bounds = judge(
            Assumptions(strong_convexity=0.0, smoothness=1.0, lipschitz=1.0, radius=radius)
        )
        shift, contraction = (bounds.bounds[name].epsilon for name in ("shift", "contraction"))
        assert contraction <= shift * (1 + 1e-9)


def test_no_certificate_is_vacuous_and_gives_every_reason():
    noiseless = judge(sigma=0.0)
    assert noiseless.best is None
    assert noiseless.epsilon is None
    assert noiseless.vacuous
    for name, figures in noiseless.bounds.items():
        assert f"{name}: {figures.refused}" in noiseless.best_reason


def test_vacuous_starts_above_epsilon_20_and_above_delta_one_over_the_samples():
    assert not judge(delta=1 / 1000).vacuous
    assert judge(delta=1.001 / 1000).vacuous
    epsilons = [judge(sigma=sigma) for sigma in (0.2, 0.1, 0.05, 0.02, 0.01, 0.005)]
    assert {found.vacuous for found in epsilons} == {True, False}
    for found in epsilons:
        assert found.vacuous == (found.epsilon > 20)


def test_vacuity_counts_the_largest_phase():
    history = History((Phase(5, 1.0, 0.1, 10, 1), Phase(5, 1.0, 0.1, 1000)))
    assert account(LOSS, history, delta=1 / 500).vacuous


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, math.nan, math.inf])
def test_delta_is_between_0_and_1(delta):
    with pytest.raises(InvalidInput) as refused:
        judge(delta=delta)
    assert refused.value.field == "delta"


@pytest.mark.parametrize("order", [1.0, 0.5, -2.0, math.nan, math.inf])
def test_orders_are_finite_and_above_1(order):
    history = learn_unlearn(learn_steps=5, unlearn_steps=1, **PIPELINE)
    with pytest.raises(InvalidInput) as refused:
        account(LOSS, history, delta=1e-5, orders=(2.0, order))
    assert refused.value.field == "orders[1]"


@pytest.mark.parametrize("convexity", [0.0, 0.1])
def test_a_step_above_2_over_l_is_invalid_where_convexity_is_claimed(convexity):
    loss = Assumptions(strong_convexity=convexity, smoothness=1.0, lipschitz=1.0)
    assert judge(loss, step_size=2.0).best is not None
    with pytest.raises(InvalidInput, match="2/L"):
        judge(loss, step_size=2.0001)
    assert judge(Assumptions(smoothness=1.0, lipschitz=1.0), step_size=2.5, learn=3).bounds


def test_order_keys_are_exact():
    assert [order_key(o) for o in (2.0, 1.5, 1.0000001, 1e22, 3)] == [
        "2",
        "1.5",
        "1.0000001",
        "10000000000000000000000",
        "3",
    ]
    assert float(order_key(0.1 + 0.2)) == 0.1 + 0.2


def test_a_refused_bound_prints_its_reason_and_nothing_else():
    assert Answer(refused="why").document() == {"refused": "why"}
    assert Answer(epsilon=0.0, mu=0.0).document() == {"mu": 0.0, "epsilon": 0.0}


def test_the_echo_holds_every_constant_with_its_mark():
    loss = Assumptions(
        strong_convexity=0.1,
        smoothness=1.0,
        lipschitz=1.0,
        marks={"lipschitz": "enforced", "smoothness": "public"},
    )
    echoed = judge(loss).assumptions
    assert list(echoed) == list(Assumptions.constants())
    assert echoed["lipschitz"] == {"value": 1.0, "mark": "enforced"}
    assert echoed["smoothness"] == {"value": 1.0, "mark": "public"}
    assert echoed["initial_log_sobolev"]["value"] == pytest.approx(2 * 0.1**2 / 0.1)


def test_a_certificate_on_enforced_constants_has_no_reservation_about_them():
    marks = dict.fromkeys(("strong_convexity", "smoothness", "lipschitz"), "enforced")
    sure = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0, marks=marks)
    assert not any("declared" in line for line in judge(sure).scope)
    assert "strong_convexity, smoothness, lipschitz" in judge().scope[0]


def test_constants_that_clipping_ignores_are_not_reserved():
    clipped = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0, clip=1.0)
    line = judge(clipped).scope[0]
    assert "clip" in line
    assert "lipschitz" not in line
    assert "strong_convexity" not in line


def test_releases_batches_and_rounding_are_told():
    released = judge(learned_model_released=True)
    assert released.observer == "all"
    assert "requests are assumed independent of released models" in released.scope
    assert released.comparator.endswith("at every release")
    poisson = Phase(2, 1.0, 0.1, 1000, 10, poisson=Poisson(0.1, ((99, 1), (98, 2))))
    found = account(LOSS, History((poisson,), "fixed"), delta=1e-5)
    assert found.comparator.startswith("masked retraining")
    assert any("realised batches" in line for line in found.scope)
    assert any("exact arithmetic" in line for line in found.scope)
    rounded = Phase(5, 1.0, 0.1, 1000, 10, rounding=1e-9)
    found = account(LOSS, History((rounded,)), delta=1e-5)
    assert not any("exact arithmetic" in line for line in found.scope)


def test_more_noise_more_steps_and_fewer_forgotten_never_hurt():
    base = judge().epsilon
    assert judge(sigma=0.2).epsilon < base
    assert judge(unlearn=6).epsilon < base
    assert judge(forgotten=9).epsilon < base
    assert judge(samples=1001).epsilon < base
    assert judge(delta=2e-5).epsilon < base
