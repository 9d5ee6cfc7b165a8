"""Every known answer of `reference.json` whose quantity the library has.

Expected values were computed at 50 digits by methods independent of the library's forms
(THEORY 4). They are met at 1e-9 relative or 1e-12 absolute, counts exactly. A delta below
1e-300 is compared as log delta and reported as 1e-300.
"""

import json
import math
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from mpmath import mp, mpf

from experiments.printed import printed_theorem
from expunge.accounting import Assumptions, History, Phase, Refused, learn_unlearn
from expunge.accounting import conversions as cv
from expunge.accounting.advantage import PaperAdvantage
from expunge.accounting.bounds import iteration, log_sobolev, log_sobolev_paper, shift
from expunge.accounting.bounds.contraction import contract
from expunge.accounting.bounds.log_sobolev import LogSobolev, advance, compact_constant
from expunge.accounting.bounds.taut_string import pull
from expunge.accounting.calibration import smallest_public, smallest_sigma, smallest_unlearn_steps
from expunge.accounting.generalisation import (
    RiskBound,
    mismatch_factor,
    mismatch_factor_paper,
)
from expunge.accounting.moduli import Contraction, Run, moduli
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta, RenyiWithin
from tests.gaussians import renyi_on_a_line

CASES = json.loads((Path(__file__).parent / "reference.json").read_text())["cases"]
NUMBER_OF_CASES = 58

ONE_EPSILON = EpsilonDelta(1.0, 1e-5)


class AtMost(float):
    """An answer that may lie below the expected value, never above it."""


class LogDelta(float):
    """log delta where delta itself is below 1e-300."""


Answers = dict[str, float | int]
ANSWERS: dict[str, Callable[[dict[str, Any]], Answers]] = {}


def answers(function: Callable[[dict[str, Any]], Answers]) -> Callable[[dict[str, Any]], Answers]:
    ANSWERS[function.__name__] = function
    return function


# ---- one function for each `fn` ---------------------------------------------------------------


@answers
def learn_unlearn_(given: dict[str, Any]) -> Answers:
    m, L, eta, M, sigma = (float(given[k]) for k in ("m", "L", "eta", "M", "sigma"))
    T, K, n_priv, n_pub, n_f = (given[k] for k in ("T", "K", "n_priv", "n_pub", "n_f"))
    n = n_priv + n_pub
    loss = Assumptions(m, L, M)

    def history(unlearn_steps: int, normaliser: Any = "mean") -> History:
        return learn_unlearn(
            learn_steps=T,
            unlearn_steps=unlearn_steps,
            step_size=eta,
            sigma=sigma,
            samples=n,
            forgotten=n_f,
            normaliser=normaliser,
        )

    learning: Any = moduli(loss, history(K))[0][0]
    by_shift, by_shift_fixed = shift.bound(loss, history(K)), shift.bound(loss, history(K, "fixed"))
    log_delta = cv.gdp_log_delta(by_shift.mu, 1.0)
    if log_delta < math.log(1e-300):
        assert by_shift.delta(1.0) == 1e-300
    setting = Setting(loss, n_priv, n_pub, n_f, eta, T)
    corrected = log_sobolev.bound(loss, history(0)).renyi(2.0) / 2

    def closed(step_size: float) -> float:
        return log_sobolev_paper.learning_divergence(
            gradient_gap=2 * M * n_f / n,
            strong_convexity=m,
            step_size=step_size,
            sigma=sigma,
            learn_steps=T,
        )

    decay = math.exp(-K * log_sobolev_paper.decay_per_step(strong_convexity=m, step_size=eta) / 2)
    restarted = LogSobolev(corrected, 2 * sigma**2 / m)
    if K:
        common = Run(K, learning.contraction, 0.0, learning.noise_std)
        restarted = advance(restarted, common)
    try:
        by_iteration = iteration.bound(loss, history(K)).renyi(2.0)
    except Refused:
        by_iteration = math.inf
    advantage = PaperAdvantage(n_f / n, m, eta, sigma, M, order=2.0, level=1.0)
    return {
        "lipschitz_c": learning.contraction.c,
        "sensitivity_mean": learning.shift,
        "noise_std": learning.noise_std,
        "mu_shift": by_shift.mu,
        "mu_shift_fixed_normaliser": by_shift_fixed.mu,
        "renyi2_shift": by_shift.renyi(2.0),
        "eps_shift_delta1e5": by_shift.epsilon(1e-5),
        "eps_shift_fixed_delta1e5": by_shift_fixed.epsilon(1e-5),
        "delta_shift_eps1": LogDelta(log_delta) if log_delta < -690 else by_shift.delta(1.0),
        "lsi_learning_per_alpha_corrected": corrected,
        "lsi_learning_per_alpha_printed": printed_theorem(
            gradient_gap=2 * M * n_f / n,
            step_size=eta,
            sigma=sigma,
            learn_steps=T,
            contraction=learning.contraction.c,
            initial_log_sobolev=2 * sigma**2 / m,
        ),
        "lsi_strongly_convex_per_alpha": closed(eta),
        "lsi_strongly_convex_half_per_alpha": closed(eta / 2),
        "renyi2_lsi_corrected_chien_decay": 2 * corrected * decay,
        "renyi2_lsi_chien_closed": log_sobolev_paper.bound(loss, history(K)).renyi(2.0),
        "renyi2_lsi_order_changing": 2 * restarted.divergence,
        "renyi2_log_sobolev": log_sobolev.bound(loss, history(K)).renyi(2.0),
        "renyi2_pabi": by_iteration,
        "tv_shift": by_shift.total_variation,
        "sigma_required_eps1_delta1e5_shift": smallest_sigma(setting, ONE_EPSILON, unlearn_steps=K),
        "K_required_eps1_delta1e5_shift": smallest_unlearn_steps(setting, ONE_EPSILON, sigma=sigma),
        "K_required_renyi2_le_1_chien": smallest_unlearn_steps(
            setting, RenyiWithin(1.0), sigma=sigma, bound="log_sobolev_paper"
        ),
        "npub_over_npriv_for_K_le_T_lsi_eps1": advantage.public_ratio(T, n_f / n_priv),
    }


ANSWERS["learn_unlearn"] = ANSWERS.pop("learn_unlearn_")


@answers
def mu_shift(given: dict[str, Any]) -> Answers:
    steps = [
        tuple(map(float, step)) for step in zip(given["c"], given["s"], given["nu"], strict=True)
    ]
    single = [Run(1, Contraction.of(c), s, nu) for c, s, nu in steps]
    grouped = [
        Run(len(list(same)), Contraction.of(c), s, nu) for (c, s, nu), same in groupby(steps)
    ]
    diameter = math.inf if given["diam"] is None else float(given["diam"])
    start = float(given["z0"])
    one, other = (pull(r, initial_distance=start, diameter=diameter) for r in (single, grouped))
    assert one == pytest.approx(other, rel=1e-12)
    return {"mu": one}


@answers
def delta_gdp(given: dict[str, Any]) -> Answers:
    return {"delta": cv.gdp_delta(float(given["mu"]), float(given["eps"]))}


@answers
def eps_gdp(given: dict[str, Any]) -> Answers:
    return {"eps": cv.epsilon_from_gdp(float(given["mu"]), float(given["delta"]))}


@answers
def mu_for_eps(given: dict[str, Any]) -> Answers:
    return {"mu": cv.gdp_for_epsilon(float(given["eps"]), float(given["delta"]))}


@answers
def lsi_compact(given: dict[str, Any]) -> Answers:
    return {"C": compact_constant(float(given["R"]), float(given["var"]))}


@answers
def lsi_constants(given: dict[str, Any]) -> Answers:
    C0, lip, eta, sigma = (float(given[k]) for k in ("C0", "lip", "eta", "sigma"))
    whole = Run(given["T"], Contraction.of(lip), 0.0, math.sqrt(2 * eta) * sigma)
    start = LogSobolev(0.0, C0)
    before = advance(start, Run(whole.steps - 1, whole.contraction, 0.0, whole.noise_std))
    half = Run(1, whole.contraction, 0.0, math.sqrt(eta) * sigma)
    return {
        "C_T": advance(start, whole).constant,
        "C_Tminus1_half": advance(before, half).constant,
    }


@answers
def rdp_linear_to_eps(given: dict[str, Any]) -> Answers:
    slope, delta = float(given["B"]), float(given["delta"])
    older = slope + 2 * math.sqrt(slope * math.log(1 / delta))  # Mironov 2017
    assert cv.epsilon_from_renyi(lambda order: order * slope, delta) < older
    return {"eps": older}


@answers
def contraction_delta(given: dict[str, Any]) -> Answers:
    epsilon = float(given["eps"])
    ratio = float(given["pre_noise_diam"]) / float(given["nu"])
    log_delta = 0.0
    for _ in range(given["K"]):
        if log_delta > -750:  # below, it no longer matters, and it only falls
            log_delta = contract(log_delta, epsilon, ratio)
    return {"theta": cv.gdp_delta(ratio, epsilon), "delta_K": AtMost(math.exp(log_delta))}


@answers
def mu_clipped(given: dict[str, Any]) -> Answers:
    eta, C, nu, decay = (float(given[k]) for k in ("eta", "C", "nu", "c_wd"))
    lip = float(given["Lg"])
    smooth = None
    if lip < math.inf:
        smooth = Run(given["K"], Contraction.of(decay + eta * lip), 0.0, nu)
    clipped = Run(given["K"], Contraction.of(decay), 2 * eta * C, nu, smooth=smooth)
    return {"mu": shift.gdp_of_stretch([clipped], float(given["z"]), math.inf)}


@answers
def mu_from_distance(given: dict[str, Any]) -> Answers:
    run = Run(given["K"], Contraction.of(float(given["c"])), 0.0, float(given["nu"]))
    return {"mu": pull([run], initial_distance=float(given["z"]))}


@answers
def breakeven_T_lsi(given: dict[str, Any]) -> Answers:  # noqa: N802
    assert given["C"] == "2*sigma^2/m"  # the default of PaperAdvantage
    advantage = PaperAdvantage(
        forget_share=given["n_f"] / (given["n_priv"] + given["n_pub"]),
        strong_convexity=float(given["m"]),
        step_size=float(given["eta"]),
        sigma=float(given["sigma"]),
        lipschitz=float(given["M"]),
        order=float(given["alpha"]),
        level=float(given["eps_renyi"]),
    )
    learn_steps = advantage.break_even_learn_steps()
    return {
        "T_min": learn_steps,
        "K_at_T_min": advantage.unlearn_steps(learn_steps),
        "K_inf": advantage.unlearn_steps(math.inf),
    }


@answers
def npub_min_shift(given: dict[str, Any]) -> Answers:
    eta, sigma = float(given["eta"]), float(given["sigma"])
    rate = (1 - float(given["c"])) / eta
    setting = Setting(
        Assumptions(rate, rate, float(given["M"])),
        given["n_priv"],
        0,
        given["n_f"],
        eta,
        given["T"],
    )
    target = EpsilonDelta(float(given["eps"]), float(given["delta"]))
    needed = smallest_public(setting, target, sigma=sigma, unlearn_steps=given["K_max"])
    mu = shift.bound(setting.assumptions, setting.history(sigma, given["K_max"])).mu
    allowed = cv.gdp_for_epsilon(target.level, target.delta)
    return {"n_pub_min": needed, "n_real": given["n_priv"] * mu / allowed}


@answers
def renyi_gauss_1d(given: dict[str, Any]) -> Answers:
    order, m1, v1, m2, v2 = (float(given[k]) for k in ("alpha", "m1", "v1", "m2", "v2"))
    found = renyi_on_a_line(order, mean_gap=m1 - m2, of_variance=v1, against_variance=v2)
    return {"D": found}


@answers
def generalisation(given: dict[str, Any]) -> Answers:
    mu, weight, apart = (float(given[k]) for k in ("mu", "w_pub", "D_inf"))
    about: dict[str, float] = {
        "retrained_risk": float(given["risk_R_train"]),
        "lipschitz": float(given["M"]),
        "radius": float(given["R"]),
    }
    exact, paper = mismatch_factor(weight, apart), mismatch_factor_paper(weight, apart)
    by_pinsker = RiskBound.from_renyi(mu * mu, **about)
    return {
        "penalty_exact": exact,
        "penalty_paper": paper,
        "bound_gdp": RiskBound.from_gdp(mu, **about).private(exact),
        "bound_pinsker_D2": by_pinsker.private(exact),
        "bound_paper_D2": by_pinsker.private(paper),
    }


# ---- the comparison ---------------------------------------------------------------------------


def agrees(answer: float | int, expected: str | int) -> bool:
    if isinstance(expected, int):
        return isinstance(answer, int) and answer == expected
    value = mpf(expected)
    if isinstance(answer, LogDelta):
        return abs(mpf(float(answer)) - mp.log(value)) <= mpf("1e-9") * abs(mp.log(value))
    if value == 0:
        return answer == 0
    if value == mp.inf:
        return answer == math.inf
    tolerance = max(mpf("1e-9") * abs(value), mpf("1e-12"))
    if isinstance(answer, AtMost):
        return answer <= value + tolerance
    return abs(mpf(answer) - value) <= tolerance


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_every_answer_matches_its_reference(case: dict[str, Any]) -> None:
    keys = set(case["expected"])
    found = ANSWERS[case["fn"]](case["inputs"])
    assert set(found) == keys
    wrong = {
        k: (found[k], case["expected"][k])
        for k in keys
        if not agrees(found[k], case["expected"][k])
    }
    assert not wrong


def test_all_cases_are_visited_and_every_quantity_has_an_owner() -> None:
    assert len(CASES) == len({case["id"] for case in CASES}) == NUMBER_OF_CASES
    assert {case["fn"] for case in CASES} == set(ANSWERS)
    assert sum(len(case["expected"]) for case in CASES) >= 300


def test_a_wrong_answer_would_be_noticed() -> None:
    assert not agrees(0.1 * (1 + 2e-9), "0.1")
    assert not agrees(7, 8)
    assert not agrees(1e-300, "0.0")
    assert not agrees(AtMost(2e-6), "1.4094416892002e-6")
    assert not agrees(LogDelta(-1000.0), "1.0e-434")


@pytest.mark.parametrize("name", ["mu_clipped-01", "mu_clipped-02"])
def test_clipping_through_assumptions_gives_the_clipped_reference(name: str) -> None:
    """mu_clipped from records: parted starts, or a noiseless step that parts them by 2 eta C."""
    (case,) = (c for c in CASES if c["id"] == name)
    mu, lip = float(case["expected"]["mu"]), float(case["inputs"]["Lg"])
    smoothness = 1.2 if lip < math.inf else None  # the ridge 0.2 included
    step = Phase(12, 0.1, 0.3 / math.sqrt(0.2), 9, 0)
    parted = Assumptions(clip=0.5, weight_decay=0.2, smoothness=smoothness, initial_distance=2.0)
    assert shift.bound(parted, History((step,))).mu == pytest.approx(mu, rel=1e-9)
    if lip == math.inf:
        together = Assumptions(clip=0.5, weight_decay=0.2)
        jump = Phase(1, 2.0, 0.0, 10, 1)
        assert shift.bound(together, History((jump, step))).mu == pytest.approx(mu, rel=1e-9)
