"""Noise a certificate needs against the share forgotten: the paper's bound and ours.

Paper: [fig:sigmas_strgly_cvx], [eq:strgly_cvx_sigma], [cor:non_vacuous_divergence].

1. sigma for D_2 <= 1 at K = 0, as the paper draws it.
2. sigma for (1, 1e-5) after K = 10, 50, 100 unlearning steps.
3. K for (1, 1e-5) at given sigma.
"""

from dataclasses import asdict
from fractions import Fraction
from math import ceil
from typing import Any

from rich.progress import track

from experiments.required_noise.settings import Settings
from expunge.accounting import Assumptions, Refused
from expunge.accounting.calibration import smallest_sigma, smallest_unlearn_steps
from expunge.accounting.history import Normaliser
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta, RenyiWithin, Target

__all__ = ["CURVES", "run"]

# Name in the figure, bound, normaliser.
CURVES: dict[str, tuple[str, Normaliser]] = {
    "paper": ("log_sobolev_paper", "mean"),
    "log_sobolev": ("log_sobolev", "mean"),
    "iteration": ("iteration", "mean"),
    "shift": ("shift", "mean"),
    "shift, fixed normaliser": ("shift", "fixed"),
}


def run(settings: Settings) -> dict[str, Any]:
    """All three tables as lists of rows."""
    renyi = RenyiWithin(settings.level, settings.order)
    pair = EpsilonDelta(settings.epsilon, settings.delta)
    work = [
        (public, share, steps, pair if steps else renyi)
        for steps in (0, *settings.unlearn_steps)
        for public in settings.public
        for share in settings.fractions
    ]
    noise = [
        {
            "public": public,
            "fraction": share,
            "unlearn_steps": steps,
            "target": "renyi" if target is renyi else "epsilon",
            "sigma": sigmas(settings, target, public, count(share, settings), steps),
        }
        for public, share, steps, target in track(work, "required noise", transient=True)
        if count(share, settings) < settings.private + public
    ]
    return {"settings": asdict(settings), "noise": noise, "steps": steps_table(settings, pair)}


def count(share: float, settings: Settings) -> int:
    """The share as printed, of the private records: 0.55 of 3,000 is 1,650, not 1,651."""
    return ceil(Fraction(str(share)) * settings.private)


def sigmas(
    settings: Settings, target: Target, public: int, forget: int, steps: int
) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name, (bound, normaliser) in CURVES.items():
        problem = setting(settings, public, forget, normaliser)
        try:
            found[name] = smallest_sigma(problem, target, unlearn_steps=steps, bound=bound)
        except Refused:
            found[name] = None
    return found


def steps_table(settings: Settings, target: Target) -> list[dict[str, Any]]:
    rows = []
    for public in settings.public:
        for forget in settings.forgotten:
            if forget >= settings.private + public:
                continue
            for sigma in settings.sigmas:
                steps = {
                    name: smallest_unlearn_steps(
                        setting(settings, public, forget, normaliser),
                        target,
                        sigma=sigma,
                        bound=bound,
                    )
                    for name, (bound, normaliser) in CURVES.items()
                }
                rows.append({"public": public, "forgotten": forget, "sigma": sigma, "steps": steps})
    return rows


def setting(settings: Settings, public: int, forget: int, normaliser: Normaliser) -> Setting:
    smoothness = 0.25 + settings.ridge
    return Setting(
        Assumptions(
            strong_convexity=settings.ridge, smoothness=smoothness, lipschitz=settings.lipschitz
        ),
        private=settings.private,
        public=public,
        forget=forget,
        step_size=1 / smoothness,
        learn_steps=settings.learn_steps,
        normaliser=normaliser,
    )
