"""What unlearning costs beside T steps of retraining: K, the crossing, the public ratio.

    K(T)      the fewest steps whose bound meets the target
    crossing  the T at which K(T) > T: a stretch, since K is concave in T, or nowhere
    ratio     the least n_pub / n_priv with K(T) <= T

Paper: [app:retrain_cost], where retraining costs the T steps that learning took.
"""

from collections.abc import Callable, Sequence

from experiments.unlearn_or_retrain.settings import Settings
from expunge.accounting import Assumptions
from expunge.accounting.calibration import smallest_public, smallest_unlearn_steps
from expunge.accounting.search import first_where
from expunge.accounting.setting import Setting
from expunge.accounting.target import Target

__all__ = ["BOUNDS", "crossing", "public_ratio", "setting", "steps_on_quadratic", "unlearn_steps"]

BOUNDS = ("log_sobolev_paper", "log_sobolev", "shift")
FINE = 3_000_000  # private records, so that a ratio is known to six digits


def setting(
    settings: Settings, learn_steps: int, ratio: float, fraction: float, *, private: int = 0,
    step: float = 1.0,
) -> Setting:  # fmt: skip
    """The learning problem; `step` is eta L."""
    private = private or settings.private
    smoothness = 0.25 + settings.ridge
    return Setting(
        Assumptions(
            strong_convexity=settings.ridge, smoothness=smoothness, lipschitz=settings.lipschitz
        ),
        private=private,
        public=round(ratio * private),
        forget=round(fraction * private),
        step_size=step / smoothness,
        learn_steps=learn_steps,
    )


def unlearn_steps(problem: Setting, target: Target, *, sigma: float, bound: str) -> int:
    return smallest_unlearn_steps(problem, target, sigma=sigma, bound=bound)


def crossing(cost: Callable[[int], int], learn_steps: Sequence[int]) -> tuple[int, int] | None:
    """First and last T at which unlearning costs more than retraining; None where it never does.

    The grid must hit the stretch; its ends are then found exactly.
    """
    dearer = [place for place, steps in enumerate(learn_steps) if cost(steps) > steps]
    if not dearer:
        return None
    before = learn_steps[dearer[0] - 1] if dearer[0] else 0
    first = 1 + before + first_where(
        lambda n: cost(before + 1 + n) > before + 1 + n, learn_steps[dearer[0]] - before - 1
    )  # fmt: skip
    last = learn_steps[dearer[-1]]
    after = learn_steps[dearer[-1] + 1] if dearer[-1] + 1 < len(learn_steps) else 2 * last
    while cost(after) > after:
        last, after = after, 2 * after
    return first, last + first_where(lambda n: cost(last + 1 + n) <= last + 1 + n, after - last - 1)


def public_ratio(
    settings: Settings, learn_steps: int, fraction: float, target: Target, *, sigma: float,
    bound: str, step: float = 1.0,
) -> float:  # fmt: skip
    """The least n_pub / n_priv with K(T) <= T, to six digits."""
    problem = setting(settings, learn_steps, 0.0, fraction, private=FINE, step=step)
    return smallest_public(problem, target, sigma=sigma, unlearn_steps=learn_steps, bound=bound) / (
        FINE
    )


def steps_on_quadratic(problem: Setting, level: float, *, sigma: float, order: float) -> int:
    """K on the worst loss of the class, whose laws are Gaussian and known: no bound involved.

    Curvature m, forgotten gradients +M, all others -M, a common starting point:
    gap <- (1 - eta m) gap + 2 M eta rho, variance <- (1 - eta m)^2 variance + 2 eta sigma^2.
    """
    loss, eta = problem.assumptions, problem.step_size
    factor = 1 - eta * (loss.strong_convexity or 0.0)
    share = problem.forget / (problem.private + problem.public)
    gap = variance = 0.0
    for _ in range(problem.learn_steps):
        gap = factor * gap + 2 * (loss.lipschitz or 0.0) * eta * share
        variance = factor**2 * variance + 2 * eta * sigma**2
    steps = 0
    while order * gap**2 / (2 * variance) > level:
        gap, variance = factor * gap, factor**2 * variance + 2 * eta * sigma**2
        steps += 1
    return steps
