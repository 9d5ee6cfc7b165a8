"""Random histories of every regime that the shift bound certifies, for proofs of its witnesses.

Each function draws (assumptions, history) of one regime. They mix what proofs find hard: ties
(equal steps, c = 1), growth that is cancelled by decay, noise that changes by orders of magnitude,
phases without noise, factors of 0, one step and 10^12 steps.
"""

import random
from collections.abc import Callable
from dataclasses import replace

from expunge.accounting import Assumptions, History, Phase, Poisson, Refused
from expunge.accounting.bounds.shift import Shifted, bound
from expunge.errors import InvalidInput

__all__ = ["REGIMES", "Case", "draw"]

Case = tuple[Assumptions, History]


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    return 10 ** rng.uniform(low, high)


def count(rng: random.Random, most: int) -> int:
    """A number of steps: often small, now and then as large as allowed."""
    return round(most ** rng.random()) if rng.random() < 0.9 else rng.choice([1, 2, 3, most])


def strongly_convex(rng: random.Random) -> Assumptions:
    smooth = log_uniform(rng, -1, 1)
    share = rng.choice([1.0, 0.5, 0.1, 1e-3, 1e-9, rng.random()])
    return Assumptions(strong_convexity=smooth * share, smoothness=smooth, lipschitz=1.0)


def convex(rng: random.Random) -> Assumptions:
    return Assumptions(strong_convexity=0.0, smoothness=log_uniform(rng, -1, 1), lipschitz=1.0)


def nonconvex(rng: random.Random) -> Assumptions:
    smooth = log_uniform(rng, -2, 1)
    decay = rng.choice([0.0, smooth * rng.random()])
    return Assumptions(smoothness=smooth, lipschitz=1.0, weight_decay=decay)


def phases(
    rng: random.Random,
    loss: Assumptions,
    *,
    most: int = 2000,
    requests: int = 4,
    growth: float = 1.0,
    normaliser: str = "mean",
    rounding: bool = False,
    released: float = 0.0,
) -> History:
    """Learning and a few requests; steps, noise and step sizes change from phase to phase."""
    records = rng.randint(100, 10_000)
    gone = sorted(rng.sample(range(1, records // 2), rng.randint(1, requests)))
    before = [*([None] if rng.random() < 0.2 else []), 0, *gone]
    step, sigma = draw_step(rng, loss, growth), log_uniform(rng, -1, 1)
    drawn = []
    for left in before:
        if rng.random() < 0.3:
            step, sigma = draw_step(rng, loss, growth), log_uniform(rng, -2, 1.5)
        forgotten = 0 if left is None else gone[-1] - left
        samples = records - gone[-1] if left is None else records - left
        quiet = rng.random() < 0.1
        drawn.append(
            Phase(
                count(rng, most),
                step,
                0.0 if quiet else sigma,
                samples,
                forgotten,
                released=rng.random() < released,
                rounding=log_uniform(rng, -12, -4) if rounding and rng.random() < 0.8 else 0.0,
            )
        )
    if rng.random() < 0.2:  # descent without noise at the end
        drawn.append(replace(drawn[-1], sigma=0.0, forgotten=0, samples=records - gone[-1]))
    if normaliser == "fixed":
        return History(tuple(drawn), "fixed", rng.choice([records, 2 * records]))
    return History(tuple(drawn))


def draw_step(rng: random.Random, loss: Assumptions, growth: float) -> float:
    """A step size: below 2/L for convex losses, sometimes such that a factor is 0 or 1."""
    smooth = loss.smoothness or 1.0
    if loss.strong_convexity is not None and loss.clip is None:
        return rng.choice([1 / smooth, 2 / smooth, rng.uniform(0.001, 2) / smooth])
    exact = [1 / loss.weight_decay] if loss.weight_decay and rng.random() < 0.05 else []
    return rng.choice(exact or [growth * log_uniform(rng, -4, -1) / smooth])


def draw_strongly_convex(rng: random.Random) -> Case:
    loss = strongly_convex(rng)
    return loss, phases(rng, loss)


def draw_convex(rng: random.Random) -> Case:
    loss = convex(rng)
    return loss, phases(rng, loss)


def draw_nonconvex(rng: random.Random) -> Case:
    loss = nonconvex(rng)
    return loss, phases(rng, loss, growth=rng.choice([1e-2, 1.0, 10.0]))


def draw_cancelled_growth(rng: random.Random) -> Case:
    """Phases whose distances grow by e^1000 and more, cancelled by others that contract."""
    loss = Assumptions(smoothness=1.0, lipschitz=1.0, weight_decay=1.0 - log_uniform(rng, -6, -2))
    most = rng.choice([10**3, 10**4, 10**6])
    fast, slow = rng.uniform(2.0001, 2.2), log_uniform(rng, -3, -0.3)
    drawn = []
    for _ in range(rng.randint(2, 5)):
        step = rng.choice([fast, slow])
        drawn.append(Phase(count(rng, most), step, log_uniform(rng, -1, 1), 1000, 10))
    rest = [Phase(count(rng, most), s, log_uniform(rng, -1, 1), 990) for s in (fast, slow)]
    return loss, History((*drawn, *rng.sample(rest, rng.randint(0, 2))))


def draw_clipped(rng: random.Random) -> Case:
    decay = rng.choice([0.0, log_uniform(rng, -3, -0.3)])
    distance = rng.choice([0.0, 0.0, log_uniform(rng, -2, 1)])
    loss = Assumptions(clip=log_uniform(rng, -1, 1), weight_decay=decay, initial_distance=distance)
    return loss, phases(rng, loss)


def draw_clipped_smooth(rng: random.Random) -> Case:
    smooth = log_uniform(rng, -2, 0)
    loss = Assumptions(
        clip=log_uniform(rng, -1, 1),
        smoothness=smooth,
        weight_decay=rng.choice([0.0, smooth, smooth * rng.random()]),
        radius=rng.choice([None, None, log_uniform(rng, -1, 1)]),
    )
    return loss, phases(rng, loss, most=50, requests=2, growth=10.0)


def draw_capped(rng: random.Random) -> Case:
    """A projection onto a ball, small enough to matter, sometimes begun outside of it."""
    kind = rng.choice([strongly_convex, convex, convex, nonconvex])
    loss = replace(
        kind(rng),
        radius=log_uniform(rng, -4, 1),
        initial_distance=rng.choice([0.0, 0.0, log_uniform(rng, -3, 1)]),
    )
    return loss, phases(rng, loss, growth=rng.choice([0.1, 10.0]), released=rng.choice([0.0, 0.3]))


def draw_cyclic(rng: random.Random) -> Case:
    kind = rng.choice([strongly_convex, convex, nonconvex])
    loss = replace(kind(rng), radius=rng.choice([None, None, log_uniform(rng, -3, 1)]))
    return loss, cyclic_phases(rng, loss, most=2000, growth=1e-2)


def draw_expanding_cyclic(rng: random.Random) -> Case:
    """Factors above 1 in cycles: their edges repeat with the epochs."""
    loss = nonconvex(rng)
    return loss, cyclic_phases(rng, loss, most=300, growth=rng.choice([0.1, 1.0, 10.0]))


def cyclic_phases(rng: random.Random, loss: Assumptions, *, most: int, growth: float) -> History:
    drawn, fixed = [], rng.random() < 0.3
    sizes = tuple(rng.randint(20, 400) for _ in range(rng.choice([1, 2, 3, 7, 20])))
    records, gone = sum(sizes), tuple(rng.choice([0, 0, 1, 5, 20]) for _ in sizes)
    gone = gone if any(gone) else (*gone[:-1], 1)
    sigma, step = log_uniform(rng, -1, 1), draw_step(rng, loss, growth)
    for _ in range(rng.randint(1, 2)):
        drawn.append(
            Phase(
                count(rng, most),
                step,
                sigma,
                records,
                sum(gone),
                rounding=rng.choice([0.0, 1e-9]),
                batches=gone,
                batch_size=sizes,
            )
        )
    if rng.random() < 0.7:
        drawn.append(Phase(count(rng, most), step, sigma, records - sum(gone)))
    return History(tuple(drawn), "fixed" if fixed else "mean")


def draw_poisson(rng: random.Random) -> Case:
    kind = rng.choice([strongly_convex, convex, nonconvex])
    decay = rng.choice([0.0, 0.3])
    loss = kind(rng)
    loss = replace(loss, weight_decay=min(decay, loss.smoothness or 1.0))
    if rng.random() < 0.3:
        loss = Assumptions(clip=1.0, weight_decay=decay)
    records, forgotten = rng.randint(100, 3000), rng.randint(1, 20)
    rate, step = rng.choice([0.02, 0.1, 0.5, 1.0]), draw_step(rng, loss, 1.0)
    drawn = []
    for left in rng.sample([True, True, False], rng.randint(1, 3)):
        steps, kept = rng.randint(1, 60), records - forgotten
        pairs = [
            (kept, forgotten if left else 0)
            if rate == 1
            else (rng.randint(0, min(kept, int(3 * rate * kept))), left * rng.randint(0, 2) % 2)
            for _ in range(steps)
        ]
        poisson = Poisson(rate, tuple(pairs))
        samples, gone = (records, forgotten) if left else (kept, 0)
        sigma = log_uniform(rng, -1, 1)
        drawn.append(Phase(steps, step, sigma, samples, gone, poisson=poisson))
    return loss, History(tuple(drawn), "fixed", records)


def draw_releases(rng: random.Random) -> Case:
    kind = rng.choice([strongly_convex, convex, nonconvex])
    loss = kind(rng)
    return loss, phases(rng, loss, requests=12, growth=0.1, released=0.5)


def draw_rounding(rng: random.Random) -> Case:
    kind = rng.choice([strongly_convex, convex, nonconvex])
    loss = kind(rng)
    return loss, phases(rng, loss, growth=0.1, rounding=True)


def draw_fixed(rng: random.Random) -> Case:
    kind = rng.choice([strongly_convex, convex, nonconvex])
    loss = kind(rng)
    return loss, phases(rng, loss, growth=0.1, normaliser="fixed", rounding=rng.random() < 0.3)


def draw_long(rng: random.Random) -> Case:
    """Up to 10^12 steps a phase."""
    kind = rng.choice([strongly_convex, convex, nonconvex])
    loss = replace(kind(rng), radius=rng.choice([None, None, log_uniform(rng, -2, 1)]))
    growth = 1.0 if loss.strong_convexity is not None else 1e-10
    return loss, phases(rng, loss, most=10**12, growth=growth, released=rng.choice([0.0, 0.2]))


def draw_release_noise(rng: random.Random) -> Case:
    """One draw around a solution: residual and heads of networks."""
    distance = log_uniform(rng, -12, 1)
    loss = Assumptions(
        strong_convexity=0.0, smoothness=0.0, lipschitz=1.0, initial_distance=distance
    )
    return loss, History((Phase(1, 0.5, distance * log_uniform(rng, -1, 2), 100),))


def draw_noise_first(rng: random.Random) -> Case:
    """Learning without noise, one noisy step, descent without noise."""
    loss = rng.choice([strongly_convex, convex, nonconvex])(rng)
    step, sigma = draw_step(rng, loss, 0.1), log_uniform(rng, -1, 1)
    drawn = [Phase(count(rng, 2000), step, 0.0, 1000, 10), Phase(1, step, sigma, 990)]
    if rng.random() < 0.7:
        drawn.append(Phase(count(rng, 100), step, 0.0, 990))
    return loss, History(tuple(drawn))


REGIMES: dict[str, Callable[[random.Random], Case]] = {
    "strongly convex": draw_strongly_convex,
    "convex": draw_convex,
    "nonconvex": draw_nonconvex,
    "growth cancelled by decay": draw_cancelled_growth,
    "clipped": draw_clipped,
    "clipped smooth": draw_clipped_smooth,
    "capped by a diameter": draw_capped,
    "cyclic batches": draw_cyclic,
    "expanding cyclic batches": draw_expanding_cyclic,
    "Poisson batches": draw_poisson,
    "releases": draw_releases,
    "rounding": draw_rounding,
    "fixed normaliser": draw_fixed,
    "10^12 steps a phase": draw_long,
    "one draw around a solution": draw_release_noise,
    "noise first": draw_noise_first,
}


def draw(regime: str, number: int, seed: int) -> tuple[Case, Shifted]:
    """The history of this number and its bound.

    What no history can be, such as one without a record that is retained, is drawn again, and so
    is what the bound refuses.
    """
    rng = random.Random(f"{seed} {regime} {number}")
    while True:
        try:
            case = REGIMES[regime](rng)
        except InvalidInput:
            continue
        try:
            return case, bound(*case)
        except Refused:
            continue
