"""One suite for every bound: what any theorem turned into a number must satisfy."""

import math

import pytest

from expunge.accounting import Assumptions, History, Phase, Refused, account, learn_unlearn
from expunge.accounting.bounds import BOUNDS

STRONG = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0, radius=3.0)
PIPELINE = {"learn_steps": 50, "step_size": 0.8, "samples": 1000}


def epsilon(name: str, **changed: object) -> float:
    settings = {"unlearn_steps": 20, "sigma": 0.5, "forgotten": 20} | PIPELINE | changed
    return BOUNDS[name](STRONG, learn_unlearn(**settings)).epsilon(1e-5)  # type: ignore[arg-type]


@pytest.fixture(params=list(BOUNDS))
def name(request):
    return request.param


def test_it_gives_a_finite_positive_epsilon_on_the_main_road(name):
    value = epsilon(name)
    assert 0 < value < math.inf


def test_more_noise_never_hurts(name):
    values = [epsilon(name, sigma=sigma) for sigma in (0.2, 0.5, 1.0, 3.0)]
    assert values == sorted(values, reverse=True)


def test_more_records_never_hurt(name):
    values = [epsilon(name, samples=samples) for samples in (100, 1000, 10_000)]
    assert values == sorted(values, reverse=True)


def test_more_unlearning_never_hurts(name):
    values = [epsilon(name, unlearn_steps=steps) for steps in (1, 5, 20, 80)]
    assert values == sorted(values, reverse=True)


def test_forgetting_more_never_helps(name):
    values = [epsilon(name, forgotten=forgotten) for forgotten in (1, 10, 100, 900)]
    assert values == sorted(values)


def test_a_looser_delta_never_hurts(name):
    guarantee = BOUNDS[name](
        STRONG, learn_unlearn(unlearn_steps=20, sigma=0.5, forgotten=200, **PIPELINE)
    )
    values = [guarantee.epsilon(delta) for delta in (1e-9, 1e-6, 1e-3, 0.1)]
    assert values == sorted(values, reverse=True)


def test_nothing_forgotten_is_exactly_zero(name):
    judged = account(
        STRONG, learn_unlearn(unlearn_steps=5, sigma=0.5, forgotten=0, **PIPELINE), delta=1e-5
    )
    assert judged.bounds[name].epsilon == 0.0


def test_rényi_divergences_grow_with_their_order(name):
    guarantee = BOUNDS[name](
        STRONG, learn_unlearn(unlearn_steps=20, sigma=0.5, forgotten=20, **PIPELINE)
    )
    values = [guarantee.renyi(order) for order in (1.5, 2.0, 8.0)]
    if name == "contraction":
        assert values == [None, None, None]
    else:
        assert values == sorted(values)


def test_noise_free_learning_without_a_noisy_end_is_refused(name):
    history = History((Phase(50, 0.8, 0.0, 1000, 20), Phase(5, 0.8, 0.0, 980)))
    with pytest.raises(Refused):
        BOUNDS[name](STRONG, history)


def test_a_refusal_says_why(name):
    judged = account(Assumptions(clip=1.0), History((Phase(5, 0.1, 0.0, 100, 1),)), delta=1e-5)
    assert judged.best is None
    assert judged.vacuous
    assert judged.bounds[name].refused
