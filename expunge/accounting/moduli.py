"""From (assumptions, history) to moduli: how far one step can drive two chains apart.

Retraining and unlearning are chains X_k = Proj[phi_k(X_{k-1}) + N(0, nu_k^2 I)] that
differ in the data behind phi. Every bound reads them through an affine modulus

    ||phi_k(x) - phi'_k(y)|| <= c_k ||x - y|| + s_k                    (THEORY 2.1, 2.4)

    regime            c                                  s while data differ   s afterwards
    strongly convex   max(|1 - eta m|, |1 - eta L|)      2 M eta n_f/n         0
    convex            max(1, |1 - eta L|)                2 M eta n_f/n         0
    nonconvex         |1 - eta lam| + eta (L - lam)      2 M eta n_f/n         0
    clipped           |1 - eta lam|                      2 eta C               2 eta C
      or, if smooth   |1 - eta lam| + eta (L - lam)      2 C eta n_f/n         0

The fixed normaliser has M eta n_f/nbar instead (THEORY 2.6); batches count what is
forgotten in the batch (THEORY 2.5). Contraction factors are exact rationals until
the last rounding: 1 - c from a rounded c loses everything at 10^12 steps.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import groupby

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.decimals import decimal
from expunge.accounting.history import History, Phase
from expunge.errors import InvalidInput, Refused

__all__ = [
    "LEAST_NORMAL",
    "Contraction",
    "Cycle",
    "Part",
    "Run",
    "check_step_sizes",
    "every_step",
    "moduli",
    "resize",
    "smooth_parts",
    "split_trailing",
    "steps_before_parting",
    "total_steps",
]

LEAST_NORMAL = 2.0**-1022  # doubles below it have fewer than 53 bits, or vanish


@dataclass(frozen=True, slots=True)
class Contraction:
    """A Lipschitz constant c with 1 - c and log c, each rounded once, and to 57 digits."""

    c: float
    gap: float  # 1 - c
    log: float
    wide: Decimal
    wide_gap: Decimal

    @classmethod
    def exactly(cls, c: Fraction) -> "Contraction":
        """The contraction of an exact rational c."""
        gap = float(1 - c)
        if c == 0:
            return cls(0.0, 1.0, -math.inf, decimal(c), decimal(1 - c))
        log = math.log1p(-gap) if gap < 0.5 else math.log(float(c))
        return cls(float(c), gap, log, decimal(c), decimal(1 - c))

    @classmethod
    def of(cls, c: float) -> "Contraction":
        """The contraction of a double c, taken as exact."""
        return cls.exactly(Fraction(c))


@dataclass(frozen=True, slots=True)
class Run:
    """`steps` identical steps with modulus c z + s and noise N(0, nu^2 I).

    `differs` says whether the two chains see different data, as opposed to a shift
    that comes from clipping or rounding alone. `image_radius` bounds the norm before the
    noise when the step starts inside the ball. `smooth` is the other affine piece of a
    clipped smooth loss.
    """

    steps: int
    contraction: Contraction
    shift: float
    noise_std: float
    differs: bool = False
    image_radius: float = math.inf
    smooth: "Run | None" = None


@dataclass(frozen=True)
class Cycle:
    """The same runs over and over: the epochs of a cyclic partition."""

    runs: tuple[Run, ...]
    repeats: int


Part = Run | Cycle


def total_steps(part: Part) -> int:
    """How many steps a part has."""
    if isinstance(part, Run):
        return part.steps
    return part.repeats * sum(run.steps for run in part.runs)


def check_step_sizes(assumptions: Assumptions, history: History) -> None:
    """Check that the gradient steps of a convex loss do not diverge.

    Raises:
        InvalidInput: a convex regime with a step above 2/L.
    """
    if assumptions.regime not in ("strongly convex", "convex"):
        return
    smoothness = assumptions.smoothness or 0.0
    for i, phase in enumerate(history.phases):
        if smoothness and phase.step_size > 2 / smoothness:
            raise InvalidInput(
                f"phases[{i}].step_size",
                f"{phase.step_size:g} is above 2/L = {2 / smoothness:g}; gradient steps diverge",
            )


def moduli(assumptions: Assumptions, history: History) -> list[list[Part]]:
    """Moduli of every step that counts, one list for each stretch between releases.

    Noiseless phases on equal data at the end of a stretch are one function of both chains,
    clipping and rounding included: post-processing, left out before anything is pooled.
    They have no modulus (c, 0) that would erase a distance, even where c is 0: clipped or
    rounded gradients still depend on where the chain is (THEORY 7). Everything up to a phase
    that provably maps everything to one point is kept: it does erase what came before.
    """
    check_step_sizes(assumptions, history)
    stretches: list[list[Part]] = []
    parted = assumptions.initial_distance > 0  # whether the chains may differ by now
    for stretch in _stretches(history):
        phases: list[list[Part]] = []
        counted = _phases_that_count(stretch)
        for i, phase in enumerate(stretch):
            parted = parted or phase.forgotten > 0
            phases.append(_phase_parts(assumptions, history, phase, parted=parted))
            if any(map(_maps_to_one_point, phases[-1])):
                counted = max(counted, i + 1)
        stretches.append([part for parts in phases[:counted] for part in parts])
    return stretches


def steps_before_parting(assumptions: Assumptions, history: History) -> list[int]:
    """How many steps of each stretch precede the first phase in which the chains may differ."""
    parted = assumptions.initial_distance > 0
    counts = []
    for stretch in _stretches(history):
        counts.append(0)
        for phase in stretch:
            parted = parted or phase.forgotten > 0
            counts[-1] += 0 if parted else phase.steps
    return counts


def every_step(assumptions: Assumptions, history: History) -> list[Part]:
    """The steps of all phases, also those that are post-processing and cost nothing."""
    return [
        part
        for phase in history.phases
        for part in _phase_parts(assumptions, history, phase, parted=True)
    ]


def _phases_that_count(stretch: Sequence[Phase]) -> int:
    """The number of phases up to the last one with noise or forgotten records."""
    counts = [_noise_std(phase) > 0 or phase.forgotten > 0 for phase in stretch]
    return max((i + 1 for i, count in enumerate(counts) if count), default=0)


def _maps_to_one_point(part: Part) -> bool:
    """Whether c = 0 and s = 0 hold although the chains may differ before the step."""
    runs = (part,) if isinstance(part, Run) else part.runs
    lines = [run if run.smooth is None else run.smooth for run in runs]
    return any(line.contraction.c == 0 and line.shift == 0 for line in lines)


def _stretches(history: History) -> list[list[Phase]]:
    stretches: list[list[Phase]] = [[]]
    for phase in history.phases:
        stretches[-1].append(phase)
        if phase.released:
            stretches.append([])
    return [stretch for stretch in stretches if stretch]


def _phase_parts(
    assumptions: Assumptions, history: History, phase: Phase, *, parted: bool
) -> list[Part]:
    """The steps of one phase.

    Args:
        parted: Whether the chains may differ before them. If not, a step on equal data is
            one function of one point, and nothing but forgotten records tells them apart.

    Raises:
        InvalidInput: step sizes times constants overflow.
    """
    try:
        return _steps_of(assumptions, history, phase, parted)
    except OverflowError as error:
        raise InvalidInput(
            "phases", "step sizes times constants leave the range of floating point"
        ) from error


def _steps_of(assumptions: Assumptions, history: History, phase: Phase, parted: bool) -> list[Part]:
    if phase.poisson is not None:
        shares = [
            _Share(Fraction(f), Fraction(phase.poisson.rate) * history.divisor, retained=b)
            for b, f in phase.poisson.counts
        ]
        return [*_runs(assumptions, history, phase, shares, parted)]
    if phase.batches is None:
        divisor = history.divisor if history.normaliser == "fixed" else phase.samples
        share = _Share(Fraction(phase.forgotten), Fraction(divisor))
        return [_run(assumptions, history, phase, share, phase.steps, parted)]
    shares = [
        _Share(Fraction(f), Fraction(b))
        for f, b in zip(phase.batches, phase.batch_sizes, strict=True)
    ]
    repeats, rest = divmod(phase.steps, len(shares))
    parts: list[Part] = []
    if repeats:
        parts.append(Cycle(tuple(_runs(assumptions, history, phase, shares, parted)), repeats))
    return parts + list(_runs(assumptions, history, phase, shares[:rest], parted))


@dataclass(frozen=True)
class _Share:
    """What is forgotten in one step's batch, over what its gradients are divided by."""

    forgotten: Fraction
    divisor: Fraction
    retained: int | None = None  # of a Poisson batch


def _runs(
    assumptions: Assumptions, history: History, phase: Phase, shares: list[_Share], parted: bool
) -> list[Run]:
    return [
        _run(assumptions, history, phase, share, len(list(same)), parted)
        for share, same in groupby(shares)
    ]


def _run(
    assumptions: Assumptions,
    history: History,
    phase: Phase,
    share: _Share,
    steps: int,
    parted: bool,
) -> Run:
    eta = Fraction(phase.step_size)
    sides = 1 if history.normaliser == "fixed" else 2
    fraction = sides * eta * share.forgotten / share.divisor
    # Poisson batches hold a random share of the curvature; others all of it.
    load = Fraction(1) if share.retained is None else share.retained / share.divisor
    rows = Fraction(1)
    if share.retained is not None:
        rows = max(rows, load + share.forgotten / share.divisor)
    steepest = Fraction(assumptions.lipschitz or 0.0)
    if assumptions.clip is not None:
        steepest = Fraction(assumptions.clip)
    ridge = Contraction.exactly(abs(1 - eta * Fraction(assumptions.weight_decay)))
    smooth = assumptions.smoothness is not None
    run = Run(
        steps,
        _lipschitz_factor(assumptions, eta, load, share.retained is not None) if smooth else ridge,
        _float_above(steepest * fraction),
        _noise_std(phase),
        differs=share.forgotten > 0,
        image_radius=_image_radius(assumptions, eta, steepest * rows),
    )
    if assumptions.clip is None:
        return _with_rounding(run, phase, parted)
    shift = _float_above(2 * eta * steepest * rows) if parted else 0.0
    clipped = _with_rounding(replace(run, contraction=ridge, shift=shift), phase, parted)
    return replace(clipped, smooth=_with_rounding(run, phase, parted) if smooth else None)


def _float_above(exact: Fraction) -> float:
    """The nearest double; the least normal one for what would vanish or lose its digits."""
    return max(float(exact), LEAST_NORMAL) if exact else 0.0


def _noise_std(phase: Phase) -> float:
    """The noise that counts: none where a double cannot hold it to full precision."""
    return phase.noise_std if phase.noise_std >= LEAST_NORMAL else 0.0


def _lipschitz_factor(
    assumptions: Assumptions, eta: Fraction, load: Fraction, poisson: bool
) -> Contraction:
    """The gradient step's Lipschitz constant; clipping keeps it but voids convexity (E34)."""
    smoothness, ridge = Fraction(assumptions.smoothness or 0.0), Fraction(assumptions.weight_decay)
    if assumptions.regime in ("nonconvex", "clipped"):
        return Contraction.exactly(abs(1 - eta * ridge) + eta * (smoothness - ridge) * load)
    if not poisson:
        least, most = Fraction(assumptions.strong_convexity or 0.0), smoothness
    else:  # THEORY 2.5: the ridge is always there, the data term only with its batch
        least, most = ridge, ridge + (smoothness - ridge) * load
    return Contraction.exactly(max(abs(1 - eta * least), abs(1 - eta * most)))


def _image_radius(assumptions: Assumptions, eta: Fraction, gradient: Fraction) -> float:
    """|1 - eta lam| R + eta M, where M bounds the whole data gradient (THEORY 2.4)."""
    if assumptions.radius is None:
        return math.inf
    ridge = abs(1 - eta * Fraction(assumptions.weight_decay))
    return _float_above(ridge * Fraction(assumptions.radius) + eta * gradient)


def _with_rounding(run: Run, phase: Phase, parted: bool) -> Run:
    """THEORY 2.8: s <- s + 2 max(1, c) u wherever the two chains may already differ."""
    if not (parted and phase.rounding):
        return run
    return replace(run, shift=run.shift + 2 * max(1.0, run.contraction.c) * phase.rounding)


def smooth_parts(assumptions: Assumptions, parts: Sequence[Part]) -> list[Part]:
    """The parts with every step a Lipschitz map, as log-Sobolev arguments need.

    Raises:
        Refused: clipped gradients of a loss that is not known to be smooth.
    """
    if assumptions.regime == "clipped" and assumptions.smoothness is None:
        raise Refused("clipped gradients are no Lipschitz map without a smoothness constant")

    def smooth(run: Run) -> Run:
        return run if run.smooth is None else run.smooth

    return [
        smooth(part)
        if isinstance(part, Run)
        else replace(part, runs=tuple(smooth(run) for run in part.runs))
        for part in parts
    ]


def split_trailing(
    parts: Sequence[Part], separates: Callable[[Run], bool]
) -> tuple[list[Part], list[Run]]:
    """Everything up to the last step that separates the chains, and the steps after it."""
    before, trailing = list(parts), []
    while before:
        part = before.pop()
        runs = (part,) if isinstance(part, Run) else part.runs
        last = max((i for i, run in enumerate(runs) if separates(run)), default=-1)
        if last < 0:
            # All steps of a phase contract and jitter alike, so epochs need no order.
            repeats = 1 if isinstance(part, Run) else part.repeats
            trailing = [*(resize(run, run.steps * repeats) for run in runs), *trailing]
            continue
        if isinstance(part, Run):
            return [*before, part], trailing
        if part.repeats > 1:
            before.append(replace(part, repeats=part.repeats - 1))
        return [*before, *runs[: last + 1]], [*runs[last + 1 :], *trailing]
    return [], trailing


def resize(run: Run, steps: int) -> Run:
    """The run with another number of the same steps."""
    smooth = None if run.smooth is None else replace(run.smooth, steps=steps)
    return replace(run, steps=steps, smooth=smooth)
