"""The search over the lines of a clipped smooth loss, against trying every choice."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from expunge.accounting import Assumptions, History, Phase
from expunge.accounting.bounds import pieces, shift
from expunge.accounting.bounds.pieces import least_over_pieces
from expunge.accounting.bounds.taut_string import pull
from expunge.accounting.moduli import Contraction, Run, moduli


def single_steps(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Both lines of every step."""
    return [
        (replace(run, steps=1, smooth=None), replace(run.smooth, steps=1))
        for run in runs
        if run.smooth is not None
        for _ in range(run.steps)
    ]


def random_case(rng: np.random.Generator) -> tuple[Assumptions, History]:
    decay = float(rng.choice([0.0, 10 ** rng.uniform(-3, 0)]))
    declared = Assumptions(
        smoothness=decay + float(10 ** rng.uniform(-2, 0.5)),
        clip=float(10 ** rng.uniform(-2, 0.5)),
        weight_decay=decay,
        initial_distance=float(rng.choice([0.0, 0.0, 10 ** rng.uniform(-2, 1)])),
    )
    phases = [
        Phase(
            int(rng.integers(1, 5)),
            float(10 ** rng.uniform(-1.5, 0.5)),
            float(10 ** rng.uniform(-1.5, 0.5)),
            100,
            forgotten,
        )
        for forgotten in (*rng.choice([0, 1, 30], int(rng.integers(0, 2))).tolist(), 10, 0)
    ]
    return declared, History(tuple(phases))


def test_the_search_finds_the_best_of_all_choices_and_never_less():
    rng = np.random.default_rng(31)
    mixed = 0
    for _ in range(200):
        declared, history = random_case(rng)
        (parts,) = moduli(declared, history)
        runs = [part for part in parts if isinstance(part, Run)]
        steps = single_steps(runs)
        if len(steps) > 8:
            continue
        every = [
            pull(chosen, initial_distance=declared.initial_distance) for chosen in product(*steps)
        ]
        found = shift.gdp_of_stretch(parts, declared.initial_distance, math.inf)
        assert min(every) <= found <= min(every) * (1 + 1e-9)
        mixed += min(every) < min(every[0], every[-1]) * (1 - 1e-6)  # neither line everywhere
    assert mixed > 10


def long_history(runs: int) -> History:
    """Half of the phases learn, half unlearn; no two are alike."""
    learn = [Phase(3, 0.5 + 1e-3 * i, 0.3, 1000, 10) for i in range(runs // 2)]
    unlearn = [Phase(10, 0.5 + 1e-3 * i, 0.3, 990) for i in range(runs // 2)]
    return History((*learn, *unlearn))


@pytest.mark.parametrize("radius", [None, 2.0])
def test_more_than_64_runs_are_searched_too(radius):
    """Distances stay small here, so that the smooth line is best everywhere: all steps clipped
    gave mu = 13 and more, the smooth line gives 0.17."""
    declared = Assumptions(smoothness=0.02, clip=1.0, weight_decay=0.01, radius=radius)
    history = long_history(70)
    (parts,) = moduli(declared, history)
    smooth = [part.smooth for part in parts if isinstance(part, Run) and part.smooth]
    found = shift.bound(declared, history).mu
    assert found <= pull(smooth) * (1 + 1e-11)
    clipped = [replace(part, smooth=None) for part in parts if isinstance(part, Run)]
    assert found < pull(clipped) / 50


def test_a_search_that_may_pull_nothing_still_tries_the_four_plain_choices():
    declared = Assumptions(smoothness=0.3, clip=1.0, weight_decay=0.01)
    (parts,) = moduli(declared, long_history(10))
    runs = [part for part in parts if isinstance(part, Run)]
    tried = []

    def mu(chosen: Sequence[Run]) -> float:
        tried.append(chosen)
        return pull(chosen)

    least = least_over_pieces(runs, mu, most_runs=0)
    assert len(tried) == 4
    assert least.mu == min(pull(chosen) for chosen in tried)
    assert least.runs in tried
    assert pull(least.runs) == least.mu
    assert sum(steps for steps, _ in least.lines) == sum(run.steps for run in runs)
    assert least_over_pieces(runs, pull, most_runs=10_000).mu <= least.mu


def test_every_choice_keeps_the_steps_in_their_order():
    lines = [Run(n, Contraction.of(0.5), 1.0, float(n)) for n in (3, 1, 7)]
    runs = [
        replace(run, smooth=Run(run.steps, Contraction.of(2.0), 0.0, run.noise_std))
        for run in lines
    ]

    def mu(chosen: Sequence[Run]) -> float:
        noises = [run.noise_std for run in chosen for _ in range(run.steps)]
        assert noises == [3.0] * 3 + [1.0] + [7.0] * 7
        assert all(run.smooth is None for run in chosen)
        return float(sum(run.steps for run in chosen if run.contraction.c == 2.0))

    assert least_over_pieces(runs, mu, most_runs=10_000).mu == 0.0
    assert len(pieces._group_runs(runs * 100)) == pieces.MOST_GROUPS
