"""Counter-examples to the printed theorem and to the printed variational formula.

On quadratic losses the laws are Gaussian and every divergence is known exactly, so a bound
that falls below the truth is simply wrong. Paper: [theorem:learning_retraining], [thm:variational].
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from experiments.errata.settings import Case, Settings
from experiments.printed import printed_theorem, variational_gaussian
from expunge.accounting import Assumptions, History, Phase
from expunge.accounting.bounds import log_sobolev, shift

__all__ = ["exact_renyi", "judge", "random_case", "run"]

SAMPLES = 42_000


def run(settings: Settings) -> dict[str, Any]:
    rng = np.random.default_rng(settings.seed)
    fuzzed = [judge(random_case(rng)) for _ in range(settings.random_settings)]
    return {
        "settings": asdict(settings),
        "theorem": [{"name": case.name, **judge(case)} for case in settings.cases],
        "violations": {
            name: sum(row[name] < row["exact"] * (1 - 1e-9) for row in fuzzed)
            for name in ("printed", "log_sobolev", "shift")
        },
        "variational": [
            {
                "distance": distance,
                "exact": settings.order * distance**2 / 2,
                "with_log": variational_gaussian(distance, settings.order, with_log=True),
                "printed": variational_gaussian(distance, settings.order, with_log=False),
            }
            for distance in settings.distances
        ],
    }


def judge(case: Case) -> dict[str, float]:
    """D_2 after learning: exactly, as printed, corrected, and by the shift bound."""
    forgotten = round(case.forget_share * SAMPLES)
    loss = Assumptions(
        strong_convexity=case.strong_convexity,
        smoothness=case.strong_convexity,
        lipschitz=1.0,
        initial_log_sobolev=case.initial_variance,
    )
    phase = Phase(case.learn_steps, case.step_size, case.sigma, SAMPLES, forgotten)
    history = History((phase,))
    printed = printed_theorem(
        gradient_gap=2 * forgotten / SAMPLES,
        step_size=case.step_size,
        sigma=case.sigma,
        learn_steps=case.learn_steps,
        contraction=abs(1 - case.step_size * case.strong_convexity),
        initial_log_sobolev=case.initial_variance,
    )
    return {
        "exact": exact_renyi(case, forgotten / SAMPLES),
        "printed": 2 * printed,
        "log_sobolev": log_sobolev.bound(loss, history).renyi(2.0),
        "shift": shift.bound(loss, history).renyi(2.0),
    }


def exact_renyi(case: Case, share: float, order: float = 2.0) -> float:
    """alpha gap^2 / (2 variance): two Gaussians with the same variance."""
    factor = 1 - case.step_size * case.strong_convexity
    gap, variance = 0.0, case.initial_variance
    for _ in range(case.learn_steps):
        gap = factor * gap + 2 * case.step_size * share
        variance = factor**2 * variance + 2 * case.step_size * case.sigma**2
    return order * gap**2 / (2 * variance)


def random_case(rng: np.random.Generator) -> Case:
    strong_convexity = 10 ** rng.uniform(-3, 0)
    return Case(
        name="random",
        step_size=10 ** rng.uniform(-3, 0) / strong_convexity,
        sigma=10 ** rng.uniform(-2, 1),
        learn_steps=int(10 ** rng.uniform(0, 2.5)),
        forget_share=10 ** rng.uniform(-3, -0.1),
        strong_convexity=strong_convexity,
        initial_variance=float(rng.choice([0.0, 10 ** rng.uniform(-6, 0)])),
    )
