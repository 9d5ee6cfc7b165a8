"""Exact laws of projected noisy gradient descent, to hold the bounds against.

Quadratics   data gradients are constant vectors, the curvature H is common: both chains
             are Gaussian with equal covariance, so mu = sqrt(gap' Cov^-1 gap) is exact
Taut string  the shift bound's optimum, every single step written out, in 120 digits
Quadrature   one-dimensional chains with any gradient and a projection

Nothing here calls a bound: these are the oracles.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from expunge.accounting import Assumptions, History, Phase
from expunge.accounting.bounds import Guarantee
from expunge.accounting.moduli import Part, Run, moduli

Array = NDArray[np.float64]
DELTA = 1e-5


# Conversions of an exact mu, independent of expunge.accounting.conversions.


def gaussian_delta(mu: Array | float, epsilon: Array | float) -> Array:
    """Hockey-stick divergence of N(mu, 1) from N(0, 1), either direction.

    Phi(-a) - e^eps Phi(-a-mu) with a = eps/mu - mu/2; the second term is phi(a) times
    Mills' ratio at a + mu. Both are at most 1: good to about 1e-15 in absolute terms.
    """
    mu, epsilon = np.asarray(mu, float), np.asarray(epsilon, float)
    positive = np.where(mu > 0, mu, 1.0)
    with np.errstate(over="ignore"):  # of a tiny mu: a or its square is infinite, delta is 0
        a = epsilon / positive - positive / 2
        density = np.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    # Where a + mu < 0 erfcx may overflow; there epsilon < 0, which nobody asks for.
    mills = math.sqrt(math.pi / 2) * erfcx((a + positive) / math.sqrt(2))
    return np.where(mu > 0, ndtr(-a) - density * mills, 0.0)


# Quadratic losses.


@dataclass(frozen=True)
class Quadratic:
    """One setting: what is declared, what was run, and the two chains' exact law.

    `eigenvalues` are those of the common curvature; `gaps[i]` is the difference of the
    mean data gradients in phase i, in the eigenbasis; `initial_variance` is that of the
    common initial law, 0 for a point mass.
    """

    assumptions: Assumptions
    history: History
    eigenvalues: Array
    gaps: Array
    initial_variance: float

    def maps(self) -> Iterator[tuple[Array, Array, float]]:
        """(slope, shift, variance) of every step in every eigendirection."""
        for phase, gap in zip(self.history.phases, self.gaps, strict=True):
            eta = phase.step_size
            slope = _slopes(eta, self.eigenvalues)
            for _ in range(phase.steps):
                yield slope, eta * gap, 2 * eta * phase.sigma**2

    def mean_gap_and_variance(self) -> tuple[Array, Array]:
        gap = np.zeros_like(self.eigenvalues)
        variance = np.full_like(self.eigenvalues, self.initial_variance)
        for slope, shift, noise in self.maps():
            gap, variance = slope * gap + shift, slope**2 * variance + noise
        return gap, variance

    def mu(self) -> float:
        gap, variance = self.mean_gap_and_variance()
        return math.sqrt(float(np.sum(gap**2 / variance)))


def _slopes(eta: float, eigenvalues: Array) -> Array:
    """1 - eta h, rounded once: near eta h = 1 the difference of floats is all rounding."""
    return np.array([float(1 - Fraction(eta) * Fraction(float(h))) for h in eigenvalues])


def exact_mu(settings: Sequence[Quadratic]) -> Array:
    """Exact mu of many settings, the recursion vectorised over all of them."""
    most = max(sum(p.steps for p in s.history.phases) for s in settings)
    shape = (len(settings), 4)
    gap, variance = np.zeros(shape), np.empty(shape)
    steps = np.zeros((len(settings), most), dtype=int)
    phases = max(len(s.history.phases) for s in settings) + 1  # the last one does nothing
    noise = np.zeros((len(settings), phases))
    slopes, shifts = np.ones((len(settings), phases, 4)), np.zeros((len(settings), phases, 4))
    for i, setting in enumerate(settings):
        d = len(setting.eigenvalues)
        variance[i] = setting.initial_variance
        variance[i, d:] = 1.0
        steps[i] = phases - 1
        at = 0
        for j, phase in enumerate(setting.history.phases):
            steps[i, at : at + phase.steps] = j
            at += phase.steps
            slopes[i, j, :d] = _slopes(phase.step_size, setting.eigenvalues)
            noise[i, j] = 2 * phase.step_size * phase.sigma**2
            shifts[i, j, :d] = phase.step_size * setting.gaps[j]
    rows = np.arange(len(settings))
    for k in range(most):
        j = steps[:, k]
        slope = slopes[rows, j]
        gap = slope * gap + shifts[rows, j]
        variance = slope**2 * variance + noise[rows, j][:, None]
    safe = np.where(variance > 0, variance, 1.0)
    return np.sqrt(np.sum(np.where(variance > 0, gap**2 / safe, np.where(gap, np.inf, 0)), axis=1))


def shortfalls(guarantee: Guarantee, mu: float) -> list[str]:
    """Where a guarantee claims less than the truth, an exact mu that both directions share.

    Tolerances: the recursion rounds twice a step over at most 200 steps and the result is
    squared, which is below 1e-12; `gaussian_delta` is good to 1e-14.
    """
    found = []
    for order in (2.0, 8.0):
        claimed = guarantee.renyi(order)
        if claimed is not None and not claimed >= order * mu**2 / 2 * (1 - 1e-12):
            found.append(f"D_{order:g} = {order * mu**2 / 2:.17g}, claimed {claimed:.17g}")
    epsilon = guarantee.epsilon(DELTA)
    true = float(gaussian_delta(mu, epsilon))
    if not true <= DELTA + 1e-14:
        found.append(f"delta = {true:.17g} at the claimed epsilon {epsilon:.17g}")
    return found


def rotated_mu(setting: Quadratic, rotation: Array) -> float:
    """The same law with full matrices: H = Q diag Q', Cov by recursion, gap' Cov^-1 gap."""
    d = len(setting.eigenvalues)
    hessian = rotation @ np.diag(setting.eigenvalues) @ rotation.T
    gap, covariance = np.zeros(d), setting.initial_variance * np.eye(d)
    for phase, difference in zip(setting.history.phases, setting.gaps, strict=True):
        step = np.eye(d) - phase.step_size * hessian
        for _ in range(phase.steps):
            gap = step @ gap + phase.step_size * (rotation @ difference)
            covariance = step @ covariance @ step.T
            covariance += 2 * phase.step_size * phase.sigma**2 * np.eye(d)
    return math.sqrt(float(gap @ np.linalg.solve(covariance, gap)))


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def _in_ball(rng: np.random.Generator, d: int) -> Array:
    x = rng.standard_normal(d)
    return x / np.linalg.norm(x) * rng.uniform() ** (1 / d)


def random_quadratic(rng: np.random.Generator, *, most_steps: int = 40) -> Quadratic:
    """A setting drawn at random: regime, sizes, requests, normaliser, initial law, data.

    Every record's data gradient is a constant vector of norm at most M; cohorts of
    deleted records share one. Half of the settings attain the sensitivity: all cohorts
    point one way and everything retained the other.
    """
    d = int(rng.integers(1, 5))
    regime = rng.choice(["strongly convex", "convex", "nonconvex"], p=[0.7, 0.15, 0.15])
    L = _log_uniform(rng, 0.05, 5.0)
    ridge = 0.0
    if regime == "strongly convex":
        m: float | None = L * _log_uniform(rng, 1e-3, 1.0)
        low = m
    elif regime == "convex":
        m, low = 0.0, 0.0
    else:
        m, ridge = None, L * rng.choice([0.0, rng.uniform(0, 0.9)])
        low = 2 * ridge - L  # the data term's curvature is within +-(L - ridge)
    eigenvalues = rng.uniform(low, L, d)
    if rng.uniform() < 0.5:  # the slowest direction is the worst case
        eigenvalues[0] = low
    elif rng.uniform() < 0.3:
        eigenvalues[0] = L
    M = _log_uniform(rng, 0.1, 10.0)

    requests = int(rng.choice([1, 1, 1, 2, 3]))
    cohorts = [int(rng.integers(1, 30)) for _ in range(requests)]
    retained = int(rng.integers(1, 3000))
    n = sum(cohorts) + retained
    fixed = rng.uniform() < 0.4
    nbar = n + int(rng.integers(0, 100)) if fixed else None
    direction = _in_ball(rng, d)
    direction /= np.linalg.norm(direction)
    if rng.uniform() < 0.5:
        direction = np.eye(d)[0]
    if rng.uniform() < 0.5:
        means, rest = [M * direction] * requests, -M * direction
    else:
        means, rest = [M * _in_ball(rng, d) for _ in cohorts], M * _in_ball(rng, d)

    present: list[list[int]] = [list(range(i, requests)) for i in range(requests)]
    if rng.uniform() < 0.2:
        present.insert(0, [])  # pre-training on what is never deleted
    if rng.uniform() < 0.8:
        present.append([])
    top = 2 / (L + (m or 0.0)) if rng.uniform() < 0.6 else 2 / L
    if regime == "nonconvex":
        top = min(top, 0.5 / L)
    eta, sigma = top * rng.uniform(0.02, 1), _log_uniform(rng, 0.01, 3.0)
    varies = rng.uniform() < 0.4
    phases, gaps = [], []
    for there in present:
        if varies:
            eta, sigma = top * rng.uniform(0.02, 1), _log_uniform(rng, 0.01, 3.0)
        forgotten = sum(cohorts[j] for j in there)
        total = retained + forgotten
        # Mean: (sum of all)/total - rest. Fixed: what is forgotten, over the constant.
        origin = rest if nbar is None else np.zeros(d)
        summed = sum((cohorts[j] * (means[j] - origin) for j in there), np.zeros(d))
        gaps.append(summed / (total if nbar is None else nbar))
        steps = int(rng.integers(1, most_steps + 1))
        phases.append(Phase(steps, float(eta), sigma, total, forgotten))
    first = phases[0].sigma
    choice = rng.uniform()
    if choice < 0.5:
        declared, variance = 0.0, 0.0
    elif choice < 0.75 or not m:
        declared = variance = _log_uniform(rng, 1e-6, 10.0)
    else:
        declared, variance = None, 2 * first**2 / m
    return Quadratic(
        Assumptions(
            strong_convexity=m,
            smoothness=L,
            lipschitz=M,
            weight_decay=float(ridge),
            initial_log_sobolev=declared,
        ),
        History(tuple(phases), "fixed" if fixed else "mean", nbar),
        eigenvalues,
        np.array(gaps),
        variance,
    )


def with_squared_step_size(setting: Quadratic) -> Assumptions:
    """The printed theorem's fault (THEORY E1): eta^2 where eta belongs in the divergence.

    The sensitivity s = 2 M eta n_f/n enters squared, so M sqrt(eta) stands for it.
    """
    eta = setting.history.phases[0].step_size
    M = setting.assumptions.lipschitz or 0.0
    return replace(setting.assumptions, lipschitz=M * math.sqrt(eta))


def worst_case(
    *,
    strong_convexity: float,
    smoothness: float,
    lipschitz: float,
    history: History,
    initial_variance: float = 0.0,
) -> Quadratic:
    """One dimension, curvature m (c = 1 - eta m needs eta <= 2/(m+L)), opposite gradients."""
    gaps = []
    for phase in history.phases:
        share = phase.forgotten / phase.samples
        if history.normaliser == "fixed":
            share = phase.forgotten / history.divisor / 2
        gaps.append([2 * lipschitz * share])
    return Quadratic(
        Assumptions(
            strong_convexity=strong_convexity,
            smoothness=smoothness,
            lipschitz=lipschitz,
            initial_log_sobolev=initial_variance,
        ),
        history,
        np.array([strong_convexity]),
        np.array(gaps),
        initial_variance,
    )


# The taut string, step by step.


@dataclass(frozen=True)
class Step:
    c: float
    s: float
    nu: float


def expanded(parts: Sequence[Part]) -> list[Step]:
    """Every single step, in order."""
    steps: list[Step] = []
    for part in parts:
        runs = (part,) if isinstance(part, Run) else part.runs * part.repeats
        for run in runs:
            steps += [Step(run.contraction.c, run.shift, run.noise_std)] * run.steps
    return steps


def steps_of(assumptions: Assumptions, history: History) -> list[Step]:
    """Every single step of a history without early releases."""
    (parts,) = moduli(assumptions, history)
    return expanded(parts)


def hull_mu(steps: Sequence[Step], distance: float = 0.0) -> float:
    """Greatest convex minorant of (0, 0), (V_k, S_k) by the monotone chain, in 120 digits.

    With c > 1 the increments span dozens of orders of magnitude: no float holds the sums.
    """
    with localcontext() as context:
        context.prec = 120
        zero = Decimal(0)
        w, increments = Decimal(1), []
        for step in reversed(steps):
            increments.append((w * Decimal(step.s), (w * Decimal(step.nu)) ** 2))
            w *= Decimal(step.c)
        S, V = w * Decimal(distance), zero
        hull = [(zero, zero)]
        for s, v in reversed(increments):
            S, V = S + s, V + v
            if hull[-1][0] == V:
                continue  # noiseless: S only grows, so the point before binds
            while len(hull) > 1:
                (v0, s0), (v1, s1) = hull[-2:]
                if (s1 - s0) * (V - v1) < (S - s1) * (v1 - v0):
                    break
                hull.pop()
            hull.append((V, S))
        if hull[-1][1] < S:
            return math.inf  # noiseless steps at the end still shift
        edges = ((s1 - s0) ** 2 / (v1 - v0) for (v0, s0), (v1, s1) in pairwise(hull))
        return math.sqrt(float(sum(edges, zero)))


def capped_mu(steps: Sequence[Step], *, distance: float = 0.0, diameter: float = math.inf) -> float:
    """The least over all starting points; after any step the distance is at most D."""
    best = hull_mu(steps, distance)
    if diameter < math.inf:
        best = min([best, *(hull_mu(steps[tau:], diameter) for tau in range(1, len(steps)))])
    return best


# One-dimensional chains by quadrature.

Gradient = Callable[[Array], Array]


@dataclass(frozen=True)
class Law:
    """The law after a noisy, projected step: a mixture of Gaussians N(image, nu^2), cut at +-R.

    `masses` are quadrature weight times density on the grid's nodes, then both atoms.
    """

    grid: "Grid"
    masses: Array
    images: Array
    mixture: Array
    nu: float

    def renyi(self, other: "Law", order: float) -> float:
        there = (self.masses > 0) & (other.masses > 0)
        logs = order * np.log(self.masses[there]) + (1 - order) * np.log(other.masses[there])
        most = logs.max()
        return float(most + np.log(np.exp(logs - most).sum())) / (order - 1)

    def hockey_stick(self, other: "Law", epsilon: float) -> float:
        """sup_S P(S) - e^eps Q(S); crossings by interpolation, between them exact integrals.

        At a crossing the integrand is 0, so an error in its place counts squared.
        """
        factor = math.exp(epsilon)
        p, q = self.masses[:-2], other.masses[:-2]
        there = (p > 0) & (q > 0)
        x, excess = self.grid.nodes[:-2][there], np.log(p[there]) - np.log(q[there]) - epsilon
        turn = np.flatnonzero(np.diff(np.sign(excess)))
        at = x[turn] + (x[turn + 1] - x[turn]) * excess[turn] / (excess[turn] - excess[turn + 1])
        edges = np.concatenate([[-self.grid.radius], at, [self.grid.radius]])
        gains = np.diff(self.below(edges) - factor * other.below(edges))
        atoms = self.masses[-2:] - factor * other.masses[-2:]
        return float(np.maximum(gains, 0).sum() + np.maximum(atoms, 0).sum())

    def below(self, points: Array) -> Array:
        """Probability of falling below each point before the projection."""
        return ndtr((points[:, None] - self.images) / self.nu) @ self.mixture


@dataclass(frozen=True)
class Grid:
    """Composite Gauss-Legendre nodes on [-R, R], panels split at the kinks, then both ends."""

    radius: float
    nodes: Array
    weights: Array

    @classmethod
    def on(cls, radius: float, *, panels: int, kinks: Sequence[float] = ()) -> "Grid":
        inside = [kink for kink in kinks if abs(kink) < radius]
        edges = np.unique(np.concatenate([np.linspace(-radius, radius, panels + 1), inside]))
        x, w = np.polynomial.legendre.leggauss(8)
        half = np.diff(edges)[:, None] / 2
        middle = (edges[1:] + edges[:-1])[:, None] / 2
        nodes = np.append((middle + half * x).ravel(), [-radius, radius])
        return cls(radius, nodes, (half * w).ravel())

    def start(self, at: float, gradient: Gradient, eta: float, nu: float) -> Law:
        """One step from a point mass."""
        image = np.array([at]) - eta * gradient(np.array([at]))
        return Law(self, self._kernel(image, nu)[0], image, np.ones(1), nu)

    def step(self, law: Law, gradient: Gradient, eta: float, nu: float, steps: int) -> Law:
        images = self.nodes - eta * gradient(self.nodes)
        kernel = self._kernel(images, nu)
        for _ in range(steps):
            law = Law(self, law.masses @ kernel, images, law.masses, nu)
        return law

    def _kernel(self, images: Array, nu: float) -> Array:
        z = (self.nodes[None, :-2] - images[:, None]) / nu
        inside = np.exp(-z * z / 2) / (math.sqrt(2 * math.pi) * nu) * self.weights
        below = ndtr((-self.radius - images) / nu)[:, None]
        above = ndtr((images - self.radius) / nu)[:, None]
        return np.concatenate([inside, below, above], axis=1)


@dataclass(frozen=True)
class Chain:
    """A pair of one-dimensional chains: the phases' gradients with the deleted records,
    and the gradient without them, ridge included in both."""

    assumptions: Assumptions
    history: History
    with_forgotten: tuple[Gradient, ...]
    without: tuple[Gradient, ...]
    start: float = 0.0
    kinks: tuple[float, ...] = ()

    def laws(self, panels: int) -> tuple[Law, Law]:
        radius = self.assumptions.radius
        assert radius is not None
        grid = Grid.on(radius, panels=panels, kinks=self.kinks)
        return (
            self._law(grid, self.with_forgotten),
            self._law(grid, self.without),
        )

    def _law(self, grid: Grid, gradients: tuple[Gradient, ...]) -> Law:
        law: Law | None = None
        for phase, gradient in zip(self.history.phases, gradients, strict=True):
            eta, nu, steps = phase.step_size, phase.noise_std, phase.steps
            if law is None:
                law, steps = grid.start(self.start, gradient, eta, nu), steps - 1
            law = grid.step(law, gradient, eta, nu, steps)
        assert law is not None
        return law


def divergences(
    chain: Chain, *, epsilons: Sequence[float], orders: Sequence[float], panels: int = 24
) -> list[tuple[str, float, float, float]]:
    """(kind, argument, value, quadrature error) in both directions.

    The error is the change from half as many panels, which bounds what is left by far:
    the integrands are smooth between kinks.
    """
    fine, coarse = chain.laws(2 * panels), chain.laws(panels)
    found = []
    for a, b in ((0, 1), (1, 0)):
        for epsilon in epsilons:
            value = fine[a].hockey_stick(fine[b], epsilon)
            error = abs(value - coarse[a].hockey_stick(coarse[b], epsilon))
            found.append(("hockey-stick", epsilon, value, error))
        for order in orders:
            value = fine[a].renyi(fine[b], order)
            error = abs(value - coarse[a].renyi(coarse[b], order))
            found.append(("renyi", order, value, error))
    return found


def random_chain(rng: np.random.Generator, kind: str) -> Chain:
    """A projected chain in one dimension.

    kind: `logistic` (convex, tanh-shaped gradients), `sine` (non-convex), `clipped`
    (any gradient, clipped: thresholds and expansive ramps), `clipped smooth`.
    """
    radius = float(rng.uniform(0.5, 3.0))
    M = float(rng.uniform(0.3, 2.0))
    retained, forgotten = int(rng.integers(2, 20)), int(rng.integers(1, 10))
    n = retained + forgotten
    ridge = float(rng.choice([0.0, rng.uniform(0.01, 0.3)]))
    slopes = rng.uniform(0.3, 3.0, 2)
    centres = rng.uniform(-1, 1, 2) * radius
    kinks: tuple[float, ...] = ()
    if kind == "logistic":
        gradients = [_tanh(M, k, a) for k, a in zip(slopes, centres, strict=True)]
        L = M * float(slopes.max()) + ridge
        declared = Assumptions(
            strong_convexity=ridge, smoothness=L, lipschitz=M, weight_decay=ridge, radius=radius
        )
        top = 2 / L
    elif kind == "sine":
        gradients = [_sine(M, k, a) for k, a in zip(slopes, centres, strict=True)]
        L = M * float(slopes.max()) + ridge
        declared = Assumptions(smoothness=L, lipschitz=M, weight_decay=ridge, radius=radius)
        top = 1.0 / L
    else:
        steep = slopes * rng.choice([-1, 1], 2) * (1 if kind == "clipped smooth" else 20)
        gradients = [_ramp(M, k, a) for k, a in zip(steep, centres, strict=True)]
        kinks = tuple(
            float(a + side * M / abs(k))
            for k, a in zip(steep, centres, strict=True)
            for side in (-1, 1)
        )
        smooth = float(slopes.max()) + ridge if kind == "clipped smooth" else None
        declared = Assumptions(clip=M, smoothness=smooth, weight_decay=ridge, radius=radius)
        top = 1.0
    extreme = rng.uniform() < 0.5  # forgotten gradients opposite to the rest, everywhere
    if extreme and kind == "logistic":
        gradients = [lambda x: np.full_like(x, M), lambda x: np.full_like(x, -M)]
    of_forgotten, of_rest = gradients
    eta = float(top * rng.uniform(0.05, 1.0))
    nu = radius * float(rng.uniform(0.15, 1.5))
    learn, unlearn = int(rng.integers(1, 12)), int(rng.integers(0, 12))
    fixed = rng.uniform() < 0.3
    weight_f, weight_r = forgotten / n, retained / n
    alone = weight_r if fixed else 1.0

    def before(x: Array) -> Array:
        return weight_f * of_forgotten(x) + weight_r * of_rest(x) + ridge * x

    def after(x: Array) -> Array:
        return alone * of_rest(x) + ridge * x

    sigma = nu / math.sqrt(2 * eta)
    phases = [Phase(learn, eta, sigma, n, forgotten)]
    if unlearn:
        phases.append(Phase(unlearn, eta, sigma, retained))
        if rng.uniform() < 0.4:  # a last phase of its own step size and noise
            last = float(eta * rng.uniform(0.2, 1)), float(sigma * rng.uniform(0.7, 2))
            phases.append(Phase(int(rng.integers(1, 6)), *last, retained))
    return Chain(
        declared,
        History(tuple(phases), "fixed" if fixed else "mean"),
        (before, after, after)[: len(phases)],
        (after, after, after)[: len(phases)],
        start=float(rng.uniform(-1, 1) * radius),
        kinks=kinks,
    )


def _tanh(top: float, k: float, a: float) -> Gradient:
    return lambda x: top * np.tanh(k * (x - a))


def _sine(top: float, k: float, a: float) -> Gradient:
    return lambda x: top * np.sin(k * (x - a))


def _ramp(top: float, k: float, a: float) -> Gradient:
    return lambda x: np.clip(k * (x - a), -top, top)
