"""Bugs that adversarial testing found before any release, each kept from coming back."""

import math
from dataclasses import replace

import pytest
from mpmath import mp, mpf

from expunge.accounting import (
    Assumptions,
    History,
    InvalidInput,
    Phase,
    Poisson,
    Refused,
    account,
    learn_unlearn,
)
from expunge.accounting import conversions as cv
from expunge.accounting.advantage import PaperAdvantage
from expunge.accounting.bounds import BOUNDS, log_sobolev, shift
from expunge.accounting.bounds.contraction import contract
from expunge.accounting.bounds.taut_string import pull
from expunge.accounting.moduli import Contraction, Run, moduli
from expunge.accounting.target import RenyiWithin
from tests import scenarios
from tests.accounting import oracle


def run(steps: int, c: float, shift_: float, noise_std: float) -> Run:
    return Run(steps, Contraction.of(c), shift_, noise_std, differs=shift_ > 0)


# Chains that start apart, and batches that lose all retained rows.


def test_clipped_chains_that_start_apart_pay_for_every_step():
    loss = Assumptions(clip=0.5, weight_decay=0.2, initial_distance=2.0)
    history = History((Phase(12, 0.1, 0.3 / math.sqrt(0.2), 100),))
    assert shift.bound(loss, history).mu == pytest.approx(2.83140331224898, rel=1e-9)


def test_rounding_counts_when_chains_start_apart():
    history = History((Phase(3, 0.5, 1.0, 10, rounding=0.5),))
    ((first,),) = moduli(Assumptions(1.0, 1.0, 1.0, initial_distance=1.0), history)
    assert isinstance(first, Run)
    assert first.shift == 1.0


def test_a_clipped_poisson_batch_of_forgotten_rows_only_counts_them():
    phase = Phase(1, 1.0, 1.0, 10, 8, poisson=Poisson(0.1, ((0, 8),)))
    ((first,),) = moduli(Assumptions(clip=1.0), History((phase,), "fixed"))
    assert isinstance(first, Run)
    assert first.shift >= 8.0


# Underflow and cancellation must not lower a number.


def test_a_paper_divergence_that_underflows_does_not_make_epsilon_zero():
    history = learn_unlearn(
        learn_steps=10, unlearn_steps=4000, step_size=0.5, sigma=1.0, samples=100, forgotten=50
    )
    guarantee = BOUNDS["log_sobolev_paper"](Assumptions(1.0, 1.0, 0.1), history)
    assert guarantee.epsilon(1e-5) >= 0.0196
    assert guarantee.renyi(2.0) > 0


def test_a_long_learning_phase_with_a_tiny_rate_keeps_its_divergence():
    history = History((Phase(2_000_000, 1e-8, 1.0, 100, 10),))
    assert log_sobolev.bound(Assumptions(1e-16, 1.0, 1.0), history).renyi(2.0) >= 4e-4


def test_a_long_learning_phase_is_outward_to_the_last_digits():
    history = History((Phase(2_000_000, 1e-6, 1.0, 100, 10),))
    m, eta, steps = mpf(1e-8), mpf(1e-6), 2_000_000
    c2, variance = (1 - eta * m) ** 2, 2 * eta
    constant = max(2 / m, variance / (1 - c2))
    h = (c2 * constant + variance / 2) / (c2 * constant + variance)
    exact = 2 * (2 * eta / 10) ** 2 / variance * h * (1 - h**steps) / (1 - h)
    found = log_sobolev.bound(Assumptions(1e-8, 1.0, 1.0), history).renyi(2.0)
    assert exact <= found <= exact * (1 + mpf("1e-9"))


def test_a_million_looped_steps_do_not_drift_below_the_truth():
    m, eta, sigma = 0.20037420468312844, 7.037779132166318e-07, 0.22513108115376193
    initial = 0.2529467670517563  # stationary to 1e-16
    history = History((Phase(1_000_000, eta, sigma, 1000, 30),))
    loss = Assumptions(m, m * 10, 1.0, initial_log_sobolev=initial)
    c, variance = 1 - mpf(eta) * mpf(m), 2 * mpf(eta) * mpf(sigma) ** 2
    pushed = c * c * mpf(initial)
    h = (pushed + variance / 2) / (pushed + variance)
    gap = (2 * mpf(eta) * 30 / 1000) ** 2 / variance
    exact = 2 * gap * h * (1 - h**1_000_000) / (1 - h)
    assert log_sobolev.bound(loss, history).renyi(2.0) >= exact


def test_an_epsilon_far_below_mu_still_meets_delta():
    mu, delta = 0.0025235923810787942, 0.0010066535691802584
    assert oracle.gdp_delta(mu, cv.epsilon_from_gdp(mu, delta)) <= mpf(delta)


def test_an_epsilon_far_below_its_terms_is_not_below_the_exact_one():
    slope, delta = 4.8563716456886176e-08, 0.0001890269429269926
    exact = oracle.renyi_epsilon(oracle.RenyiBound(mpf(slope)), delta)
    assert cv.epsilon_from_renyi(lambda order: order * slope, delta) >= exact


def test_a_subnormal_square_does_not_lower_mu():
    found = shift.gdp_of_stretch([run(1, 0.1, 1.0, 1.0), run(161, 0.1, 0.0, 1.0)], 0.0, math.inf)
    steps = [
        oracle.Steps(1, mpf(0.1), mpf(1), mpf(1)),
        oracle.Steps(161, mpf(0.1), mpf(0), mpf(1)),
    ]
    assert found >= oracle.shift_mu(steps), mp.nstr(oracle.shift_mu(steps), 10)


@pytest.mark.parametrize(("mu", "order"), [(1e-170, 2.0), (2.2e-162, 1.0001)])
def test_a_positive_mu_has_a_positive_divergence(mu, order):
    assert cv.gdp_renyi(mu, order) > 0


def test_tiny_lipschitz_constants_give_tiny_but_positive_divergences():
    history = learn_unlearn(
        learn_steps=3, unlearn_steps=1, step_size=0.5, sigma=1.0, samples=10, forgotten=1
    )
    assert log_sobolev.bound(Assumptions(0.1, 1.0, 1e-99), history).renyi(2.0) > 0


# What used to crash.


def test_extreme_deltas_are_reported_not_crashed_on():
    assert cv.gdp_delta(1e-120, 1.0) == 1e-300
    assert contract(-1e251, 1.0, 2.0) <= -1e251
    history = learn_unlearn(
        learn_steps=10, unlearn_steps=500, step_size=0.5, sigma=0.01, samples=100, forgotten=50
    )
    assert account(Assumptions(1.0, 1.0, 0.1, radius=10.0), history, delta=1e-299).best


@pytest.mark.parametrize("decay", [0.6, 1.0, 3.0])
def test_strong_weight_decay_with_clipping_is_priced(decay):
    history = History((Phase(3, 1.0, 1.0, 10, 1),))
    assert account(Assumptions(clip=1.0, weight_decay=decay), history, delta=1e-5).best == "shift"


@pytest.mark.parametrize("steps", [900, 2000])
def test_long_expanding_unlearning_leaves_the_other_bounds_alone(steps):
    history = learn_unlearn(
        learn_steps=10, unlearn_steps=steps, step_size=0.1, sigma=1.0, samples=100, forgotten=3
    )
    judged = account(Assumptions(smoothness=5.0, lipschitz=1.0), history, delta=1e-5)
    assert judged.best == "shift"
    assert judged.bounds["log_sobolev"].epsilon is not None


def test_constants_beyond_floating_point_are_bad_input():
    history = History((Phase(1, 1e10, 1.0, 100, 3),))
    with pytest.raises(InvalidInput, match="lipschitz"):
        account(Assumptions(0.0, 0.0, 1e300), history, delta=1e-5)


def test_a_first_phase_of_one_step_with_c_zero_is_no_refusal():
    loss = Assumptions(1.0, 1.0, 1.0, radius=1.0)
    phases = (Phase(1, 1.0, 0.01, 90), Phase(3, 1.0, 0.01, 100, 10), Phase(2, 0.5, 0.01, 90))
    assert log_sobolev.bound(loss, History(phases)).renyi(2.0) >= 0


def test_forgetting_nothing_costs_nothing_by_the_papers_analysis_too():
    assert PaperAdvantage(0.0, 0.1, 0.1, 1.0).unlearn_steps(10) == 0
    assert PaperAdvantage(0.5, 1e-9, 1.0, 1.0).break_even_learn_steps() >= 1


# What used to be looser than it had to be, or accepted what it should not.


def test_every_capped_start_of_a_cyclic_phase_is_tried():
    phase = Phase(8, 1.0, 1.0, 16, 4, batches=(0, 4), batch_size=8)
    found = shift.bound(Assumptions(0.0, 1.0, 1.0, radius=0.2), History((phase,))).mu
    steps = [oracle.Steps(1, mpf(1), mpf(s), mp.sqrt(2)) for s in [0, 1] * 4]
    exact = oracle.capped_shift_mu(steps, mpf(0.2) * 2)
    assert exact <= found <= exact * (1 + mpf("1e-9"))


def test_one_batch_under_a_cap_is_full_batch():
    loss = Assumptions(0.0, 1.0, 1.0, radius=0.25)
    cyclic = History((Phase(40, 0.5, 0.4, 10, 5, batches=(5,), batch_size=10),))
    full = History((Phase(40, 0.5, 0.4, 10, 5),))
    assert shift.bound(loss, cyclic).mu == pytest.approx(shift.bound(loss, full).mu, rel=1e-9)


def test_a_start_outside_the_ball_enters_it_at_the_first_step():
    inside = pull([run(9, 0.5, 0.0, 1.0)], initial_distance=0.5)
    outside = pull([run(10, 0.5, 0.0, 1.0)], initial_distance=2.0, diameter=0.5)
    assert outside == pytest.approx(inside, rel=1e-9)
    loss = Assumptions(0.2, 1.0, 1.0, radius=0.5, initial_distance=1.3)
    history = History((Phase(9, 1.0, 1.0, 10),))
    brute = scenarios.capped_mu(scenarios.steps_of(loss, history), distance=1.3, diameter=1.0)
    assert shift.bound(loss, history).mu == pytest.approx(brute, rel=1e-9)


def test_a_trailing_step_onto_one_point_erases_everything():
    assert pull([run(3, 0.9, 0.5, 0.5), run(1, 0.0, 0.0, 0.0)]) == 0.0


CLIPPED = Assumptions(clip=1.0, weight_decay=0.5)
ONE_POINT = Assumptions(1.0, 1.0, 1.0)  # at step size 1 every exact gradient step ends in a point
NOISY = (Phase(20, 0.5, 0.3, 100, 10), Phase(5, 0.5, 0.3, 90))


@pytest.mark.parametrize(
    ("loss", "last"),
    [
        (CLIPPED, Phase(1, 2.0, 0.0, 90)),  # eta lam = 1
        (CLIPPED, Phase(7, 2.0, 0.0, 90)),
        (replace(CLIPPED, radius=3.0), Phase(1, 2.0, 0.0, 90)),
        (replace(CLIPPED, smoothness=1.0), Phase(1, 2.0, 0.0, 90)),
        (ONE_POINT, Phase(1, 1.0, 0.0, 90, rounding=1e-9)),
        (replace(ONE_POINT, radius=3.0), Phase(1, 1.0, 0.0, 90, rounding=1e-9)),
    ],
)
def test_a_last_noiseless_phase_with_factor_zero_is_post_processing_and_no_eraser(loss, last):
    """mu = 0 was certified: clipped and rounded gradients still depend on where the chain is."""
    with_it = account(loss, History((*NOISY, last)), delta=1e-5)
    without = account(loss, History(NOISY), delta=1e-5)
    assert with_it.bounds["shift"] == without.bounds["shift"]
    assert with_it.epsilon is not None
    assert with_it.epsilon >= without.bounds["shift"].epsilon * (1 - 1e-9) > 0.01
    if loss.radius is not None:
        assert with_it.bounds["contraction"].epsilon > 0.01


def test_a_noiseless_phase_with_factor_zero_before_a_release_is_no_eraser_either():
    quiet = Phase(1, 2.0, 0.0, 90)
    release, later = replace(NOISY[1], released=True), Phase(3, 0.5, 0.3, 90)
    expected = shift.bound(CLIPPED, History((NOISY[0], release, later))).mu
    erased = History((*NOISY, replace(quiet, released=True), later))
    assert shift.bound(CLIPPED, erased).mu == expected
    ends_quietly = History((NOISY[0], release, replace(quiet, released=True), quiet))
    alone = shift.bound(CLIPPED, History(NOISY)).mu
    assert shift.bound(CLIPPED, ends_quietly).mu == pytest.approx(alone, rel=1e-14)


def test_a_last_exact_step_onto_one_point_still_erases_everything():
    erased = account(ONE_POINT, History((*NOISY, Phase(1, 1.0, 0.0, 90))), delta=1e-5)
    assert erased.bounds["shift"].mu == 0.0
    assert erased.bounds["iteration"].epsilon == 0.0


def test_a_quadrillion_expanding_steps_that_contracting_ones_cancel_keep_their_mu():
    """12.9 % below the truth by differences of logarithms: n log c is 8e14 and more on each side.

    One noisy learning step, a noiseless product W of the factors, one noisy step of factor c:
    mu = c W s/(nu sqrt(1 + (c W)^2)), where c = |1 - eta lam| + eta (L - lam).
    """
    grow, shrink = (1267018268529963, 2.651800915874611), (7461775469278653, 0.33825485196903193)
    quiet = [Phase(n, eta, 0.0, 90) for n, eta in (grow, shrink)]
    history = History((Phase(1, 0.1, 1.0, 100, 10), *quiet, Phase(1, 0.1, 1.0, 90)))
    loss = Assumptions(smoothness=1.5, lipschitz=1.0, weight_decay=1.0)

    def factor(eta: float) -> mpf:
        return abs(1 - mpf(eta)) + mpf(eta) / 2

    total = factor(0.1)
    for n, eta in (grow, shrink):
        total *= factor(eta) ** n
    exact = total * mpf(0.1) / 5 / mp.sqrt(2 * mpf(0.1) * (1 + total**2))
    judged = account(loss, history, delta=1e-5).bounds["shift"].mu
    assert exact <= judged <= exact * (1 + mpf("1e-12"))
    assert exact == pytest.approx(0.0333265665838299, rel=1e-13)


def test_products_below_the_least_double_do_not_certify_nothing():
    """s is 2e-325 a step and nu 1e-320 in exact numbers: 0 and a subnormal as doubles."""
    loss = Assumptions(0.0, 1.0, 1e-200)
    history = History((Phase(10**15, 1e-124, 1e-258, 100, 10), Phase(1, 1e-124, 1e-258, 90)))
    assert account(loss, history, delta=1e-5).epsilon is None


def test_batch_sizes_beyond_the_samples_do_not_certify_nothing():
    """A batch size of 10^6 gave epsilon 0.0."""
    sizes = replace(NOISY[0], batches=(10, 0), batch_size=10**6)
    for normaliser in ("mean", "fixed"):
        with pytest.raises(InvalidInput, match="batch_size"):
            History((sizes, NOISY[1]), normaliser)


def test_the_first_step_gets_no_compact_constant():
    """E27: the initial law need not lie in the ball."""
    history = History((Phase(1, 1.0, 1.0, 100, 10), Phase(1, 1.0, 1.0, 90)))

    def divergence(radius: float | None) -> float:
        return log_sobolev.bound(Assumptions(1e-3, 1.0, 0.1, radius=radius), history).renyi(2.0)

    assert divergence(0.5) >= divergence(None) * (1 - 1e-9)


def test_a_clipped_learning_phase_without_smoothness_is_no_lipschitz_map():
    with pytest.raises(Refused):
        log_sobolev.bound(
            Assumptions(clip=1.0, weight_decay=0.1), History((Phase(9, 0.5, 0.4, 10, 2),))
        )


@pytest.mark.parametrize("mu", [-1.0, math.nan])
def test_a_negative_or_missing_mu_is_bad_input(mu):
    for convert in (
        lambda: cv.epsilon_from_gdp(mu, 1e-5),
        lambda: cv.gdp_delta(mu, 1.0),
        lambda: cv.gdp_renyi(mu, 2.0),
        lambda: cv.gdp_total_variation(mu),
        lambda: cv.gdp_renyi(1.0, math.nan),
    ):
        with pytest.raises(InvalidInput):
            convert()


@pytest.mark.parametrize(("level", "order"), [(-1.0, 2.0), (1.0, 0.5)])
def test_a_senseless_rényi_target_is_bad_input(level, order):
    with pytest.raises(InvalidInput):
        RenyiWithin(level, order)


def test_a_fixed_normaliser_says_where_strong_convexity_must_come_from():
    """A deletion takes the data's curvature away: (theta - b)^2/2 with one of two records gone."""
    history = History((Phase(1, 1.0, 0.1, 2, 1), Phase(1, 1.0, 0.1, 1)), "fixed")
    judged = account(Assumptions(1.0, 1.0, 11.0, radius=10.0), history, delta=1e-5)
    assert any("ridge alone" in line for line in judged.scope)
