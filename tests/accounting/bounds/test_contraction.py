"""Projected, clipped and non-convex chains by quadrature, in both directions.

The laws come from transfer operators in one dimension; the hockey-stick divergence is
compared at several epsilons and the Rényi divergence at two orders.
"""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mp, mpf

from expunge.accounting import Assumptions, History, Phase, Refused
from expunge.accounting.bounds import BOUNDS, contraction, shift
from expunge.accounting.bounds.contraction import contract
from expunge.accounting.bounds.guarantee import GDP, HockeyStick
from tests import scenarios
from tests.accounting import oracle

KINDS = ("logistic", "sine", "clipped", "clipped smooth")
EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0)


def check(seed: int, kind: str, count: int, names=("shift", "contraction", "log_sobolev")):
    """How many comparisons were made, and those where a bound is below the truth.

    Tolerance: the quadrature's own error, plus 1e-13 for sums of a thousand masses.
    """
    rng = np.random.default_rng(seed)
    checked, wrong = dict.fromkeys(names, 0), []
    for i in range(count):
        chain = scenarios.random_chain(rng, kind)
        truths = scenarios.divergences(chain, epsilons=EPSILONS, orders=(2.0, 8.0))
        for name in names:
            try:
                guarantee = BOUNDS[name](chain.assumptions, chain.history)
            except Refused:
                continue
            for measure, argument, value, error in truths:
                claimed = claim(guarantee, measure, argument)
                if claimed is None:
                    continue
                checked[name] += 1
                if not value <= claimed * (1 + 1e-12) + error + 1e-13:
                    wrong.append((i, name, measure, argument, value, claimed, error))
    return checked, wrong


def claim(guarantee, measure: str, argument: float) -> float | None:
    if measure == "renyi":
        return guarantee.renyi(argument)
    if isinstance(guarantee, GDP):
        return guarantee.delta(argument)
    return math.exp(guarantee.log_delta(argument)) if isinstance(guarantee, HockeyStick) else None


@pytest.mark.parametrize("kind", KINDS)
def test_no_bound_is_below_a_projected_chain_in_either_direction(kind):
    checked, wrong = check(1, kind, count=30)
    assert wrong == []
    assert min(checked["shift"], checked["contraction"]) >= 200
    if kind != "clipped":  # without smoothness a log-Sobolev argument has nothing to hold on to
        assert checked["log_sobolev"] >= 100


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_bound_is_below_a_projected_chain_in_a_longer_sweep(kind):
    checked, wrong = check(2, kind, count=400, names=tuple(BOUNDS))
    assert wrong == []
    assert checked["contraction"] >= 3_000


def test_the_quadrature_catches_a_diameter_that_is_too_small(monkeypatch):
    diameter = contraction._diameter
    monkeypatch.setattr(contraction, "_diameter", lambda *given: diameter(*given) / 8)
    _, wrong = check(1, "logistic", count=30, names=("contraction",))
    assert wrong


def test_the_quadrature_catches_unlearning_steps_that_forget_the_clipped_gradients_distance(
    monkeypatch,
):
    """Same data, different points: clipped gradients still differ by up to 2C (THEORY 2.4)."""
    stretch = shift.pull_stretch

    def faulty(parts, distance, diameter):
        parts = [p if p.differs else replace(p, shift=0.0) for p in parts]
        return stretch(parts, distance, diameter)

    monkeypatch.setattr(shift, "pull_stretch", faulty)
    # An expansive threshold keeps the two chains apart on either side of it.
    radius, C, eta = 3.0, 1.0, 0.5
    before, after = Phase(1, eta, 0.3, 10, 9), Phase(6, eta, 0.3, 1)

    def away(x):
        return np.clip(-50 * x, -C, C)

    chain = scenarios.Chain(
        Assumptions(clip=C, weight_decay=0.3, radius=radius),
        History((before, after)),
        (lambda x: 0.1 * away(x) - 0.9 * C + 0.3 * x, lambda x: away(x) + 0.3 * x),
        (lambda x: away(x) + 0.3 * x, lambda x: away(x) + 0.3 * x),
        start=-0.2,
        kinks=(-C / 50, C / 50),
    )
    guarantee = shift.bound(chain.assumptions, chain.history)
    truths = scenarios.divergences(chain, epsilons=EPSILONS, orders=(2.0,))
    assert any(value > claim(guarantee, *key) + error for *key, value, error in truths)
    monkeypatch.undo()
    guarantee = shift.bound(chain.assumptions, chain.history)
    assert all(value <= claim(guarantee, *key) + error for *key, value, error in truths)


def test_quadrature_reproduces_an_exact_gaussian_law():
    """A projection too far away to act: constant gradients, so the laws are N(+-gap/2, v)."""
    learn, unlearn, eta, n, forgotten = 6, 4, 0.3, 10, 3
    sigma, ridge = 0.8, 0.4
    history = History(
        (Phase(learn, eta, sigma, n, forgotten), Phase(unlearn, eta, sigma, n - forgotten))
    )

    def rest(x):
        return ridge * x + 0.5

    def everything(x):
        return ridge * x + 0.7 * 0.5 - 0.3 * 0.5

    declared = Assumptions(strong_convexity=ridge, smoothness=ridge, lipschitz=0.5, radius=12.0)
    chain = scenarios.Chain(declared, history, (everything, rest), (rest, rest))
    case = scenarios.worst_case(
        strong_convexity=ridge, smoothness=ridge, lipschitz=0.5, history=history
    )
    mu = case.mu()
    for measure, argument, value, error in scenarios.divergences(
        chain, epsilons=EPSILONS, orders=(2.0, 8.0)
    ):
        exact = (
            argument * mu**2 / 2 if measure == "renyi" else scenarios.gaussian_delta(mu, argument)
        )
        assert value == pytest.approx(float(exact), rel=1e-9, abs=error + 1e-12)


# The recursion.


@pytest.mark.parametrize(
    ("ratio", "plain", "better"), [(2.1, 19, 6), (4.2, 194, 50), (6.0, 2612, 602)]
)
def test_steps_to_reach_one_in_a_hundred_thousand_at_epsilon_one(ratio, plain, better):
    """THEORY 2.4: K for eps = 1, delta = 1e-5, plain power against the recursion."""
    theta = float(scenarios.gaussian_delta(ratio, 1.0))
    assert math.ceil(math.log(1e-5) / math.log(theta)) == plain
    log_delta, steps = 0.0, 0
    while log_delta > math.log(1e-5):
        log_delta, steps = contract(log_delta, 1.0, ratio), steps + 1
    assert steps == better


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.3, 2.0, 40.0])
@pytest.mark.parametrize("ratio", [0.01, 0.8, 3.0, 12.0])
def test_one_step_is_the_formula_and_never_above_the_plain_factor(epsilon, ratio):
    for e in (1.0, 0.3, 1e-4):
        raised = math.log1p(math.expm1(epsilon) / e)
        expected = e * float(scenarios.gaussian_delta(ratio, raised))
        found = math.exp(contract(math.log(e), epsilon, ratio))
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-14)
        assert found <= e * float(scenarios.gaussian_delta(ratio, epsilon)) + 1e-14


def test_a_smaller_start_never_ends_above_a_larger_one():
    starts = np.linspace(-20, 0, 200)
    for epsilon in (0.0, 0.5, 3.0):
        ends = [contract(float(x), epsilon, 2.0) for x in starts]
        assert all(a <= b + 1e-12 for a, b in pairwise(ends))


LOSS = Assumptions(smoothness=2.0, lipschitz=1.0, radius=1.0)
LEARN, UNLEARN = Phase(20, 0.05, 3.0, 100, 10), Phase(40, 0.05, 3.0, 90)


def test_the_hybrid_is_at_most_the_shift_bound():
    for K in (1, 5, 40):
        history = History((LEARN, replace(UNLEARN, steps=K)))
        hybrid, alone = contraction.bound(LOSS, history), shift.bound(LOSS, history)
        for epsilon in (0.0, 0.5, 1.0, 4.0):
            assert hybrid.log_delta(epsilon) <= math.log(alone.delta(epsilon)) + 1e-9


def test_cutting_unlearning_into_single_steps_changes_nothing():
    single = (LEARN,) + (replace(UNLEARN, steps=1),) * UNLEARN.steps
    whole = contraction.bound(LOSS, History((LEARN, UNLEARN)))
    cut = contraction.bound(LOSS, History(single))
    for epsilon in (0.0, 0.5, 1.0):
        assert cut.log_delta(epsilon) == pytest.approx(whole.log_delta(epsilon), rel=1e-9)


def test_a_rounding_budget_raises_delta():
    found = [
        contraction.bound(
            LOSS, History((replace(LEARN, rounding=u), replace(UNLEARN, rounding=u)))
        ).log_delta(0.5)
        for u in (0.0, 1e-3, 0.1)
    ]
    assert found == sorted(found)
    assert found[0] < found[-1]


def test_the_first_step_is_not_contracted_because_the_initial_law_may_lie_outside_the_ball():
    """x/2 plus N(0, 1), projected on [-1, 1], from +50 and -50: after one step the chains lie at
    +1 and -1 but for a probability below 1e-100, so one more step gives N(+-1/2, 1), whose total
    variation 2 Phi(1/2) - 1 the projection keeps. One contraction is exact, two would be false.
    """
    apart = Assumptions(0.5, 0.5, 1.0, radius=1.0, initial_distance=100.0)
    truth = math.erf(0.5 / math.sqrt(2))
    for steps in (2, 3, 10):
        history = History((Phase(steps, 1.0, math.sqrt(0.5), 10),))
        log_delta, expected = contraction.bound(apart, history).log_delta(0.0), 0.0
        for _ in range(steps - 1):
            expected = contract(expected, 0.0, 1.0)
        assert log_delta == pytest.approx(expected, abs=1e-12)
        if steps == 2:
            assert log_delta >= math.log(truth)
    with pytest.raises(Refused, match="noisy unlearning"):
        contraction.bound(apart, History((Phase(1, 1.0, math.sqrt(0.5), 10),)))


@pytest.mark.parametrize(("ratio", "steps"), [(2.0, 60), (4.0, 400), (6.0, 1_000), (9.0, 1_000)])
@pytest.mark.parametrize("epsilon", [0.25, 2.0])
def test_the_rounding_of_a_long_recursion_stays_within_its_allowance(epsilon, ratio, steps):
    log_delta = 0.0
    for _ in range(steps):
        log_delta = contract(log_delta, epsilon, ratio)
    lost = abs(exact_recursion(mpf(epsilon), ratio, steps) - log_delta)
    assert lost <= contraction.ROUNDING * (steps - log_delta)


def exact_recursion(epsilon: mpf, ratio: float, steps: int) -> mpf:
    """log of e after `steps` of e <- e delta_GDP(Dm/nu, log(1 + (e^eps - 1)/e)) from e = 1."""
    e = mpf(1)
    for _ in range(steps):
        e *= oracle.gdp_delta(ratio, mp.log(1 + mp.expm1(epsilon) / e))
        if e < mpf("1e-310"):
            break
    return mp.log(e)


@pytest.mark.parametrize(
    ("declared", "phases", "reason"),
    [
        (replace(LOSS, radius=None), (LEARN, UNLEARN), "radius"),
        (LOSS, (replace(LEARN, released=True), UNLEARN), "released"),
        (LOSS, (LEARN,), "noisy unlearning"),
        (LOSS, (LEARN, replace(UNLEARN, sigma=0.0)), "noisy unlearning"),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(declared, phases, reason):
    with pytest.raises(Refused, match=reason):
        contraction.bound(declared, History(phases))
