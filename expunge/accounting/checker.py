"""A bound proven from its witness, by a program that knows nothing of how the witness was found.

Theorem (THEORY 2.1, 2.2, 7). Let two chains be at most z_0 apart, let step k drive distances
z to at most c_k z + s_k and then add noise of variance v_k. If z_k = c_k z_{k-1} + s_k - a_k with
a_k >= 0 and z_k >= 0 for all k, and z_N = 0, then the last models are mu-GDP with

    mu^2 = sum_k a_k^2 / v_k.

An edge of the witness is a stretch of steps with z = 0 after its last one. With
w_k = prod_{j>k} c_j, S = w_0 z_0 + sum_k w_k s_k and V = sum_k w_k^2 v_k over the edge, the shifts
a_k = lam w_k v_k, lam = S/V, cost S^2/V and leave, for every k inside,

    x_k = w_k z_k = w_k (S_k - lam w_k V_k) = lam V'_k - S'_k,

where (S_k, V_k) belong to the steps up to k and (S'_k, V'_k) to those after it. If only
x_k >= -E is shown, start from z + E/w_k instead: larger distances are always allowed, and the last
step takes E away in addition. Then sqrt(sum a^2/v) <= S/sqrt(V) + E/nu_last. So a bad witness
proves a large mu, never a wrong one.

Which k must be looked at: at equal places of repeated steps x changes by w (s - lam v w), w
geometric. Where distances do not grow, these signs go from + to -, and the first and the last such
place decide; where they grow, from - to +, and the turn is found by bisection.

Trusted code: this file, which derives (c, s, v) in exact fractions; the records `assumptions`,
`history` and `witness`, which refuse nonsense; and python-flint, whose balls hold the exact value
of everything computed here.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, reduce
from itertools import accumulate, groupby
from typing import Any, NamedTuple

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.history import History, Phase
from expunge.accounting.witness import Edge, Stretch, Witness
from expunge.errors import InvalidInput

__all__ = [
    "Repeat",
    "Step",
    "available",
    "check_figures",
    "derive_stretches",
    "meets",
    "prove_mu",
    "prove_stretches",
]

BITS = (320, 1280, 5120)  # precisions that are tried until the charge for ties is negligible
NEGLIGIBLE = Fraction(1, 10**13)
ZERO = Fraction(0)
LEAST_VARIANCE = Fraction(1, 2**2044)  # noise below the least normal double counts as none

Ball = Any  # flint.arb: an interval that holds the exact value


def available() -> bool:
    """Whether python-flint is installed; another package of that name does not count."""
    try:
        from flint import arb, ctx, fmpq
    except ImportError:
        return False
    return bool(arb and ctx and fmpq)


# ---- The moduli, in exact fractions (THEORY 2.4 to 2.8) ----------------------------------------


class Step(NamedTuple):
    """||phi(x) - phi'(y)|| <= c ||x - y|| + s, then noise of variance v in each coordinate."""

    c: Fraction
    s: Fraction
    v: Fraction


class Repeat(NamedTuple):
    """So many steps that repeat an epoch, from its place `offset` on; equal steps have one of 1."""

    epoch: tuple[Any, ...]  # Step; before lines are chosen, the lines of each step
    steps: int
    offset: int = 0

    def blocks(self) -> list[tuple[tuple[Any, ...], int]]:
        """The same steps as (steps, how often): whole epochs, then what is left."""
        times, rest = divmod(self.steps, len(self.epoch))
        twice = (self.epoch * 2)[self.offset :] if self.offset else self.epoch
        whole, part = (twice[: len(self.epoch)], times), (twice[:rest], 1)
        return [block for block in (whole, part) if block[0] and block[1]]


def derive_stretches(assumptions: Assumptions, history: History) -> list[list[Repeat]]:
    """The steps that count, between releases: from where the chains part to the last that matters.

    What follows the last step with noise or forgotten records is one function of both chains,
    unless it maps everything to one point: then it counts, because it does erase distances.
    """
    stretches: list[list[tuple[Phase, list[Repeat]]]] = [[]]
    parted = assumptions.initial_distance > 0
    for i, phase in enumerate(history.phases):
        parted = parted or phase.forgotten > 0
        stretches[-1].append((phase, _repeats(assumptions, history, phase) if parted else []))
        if phase.released and i + 1 < len(history.phases):
            stretches.append([])
    for stretch in stretches:
        while stretch and not _matters(*stretch[-1]):
            stretch.pop()
    return [[repeat for _, repeats in stretch for repeat in repeats] for stretch in stretches]


def _matters(phase: Phase, repeats: Sequence[Repeat]) -> bool:
    lines = [line for repeat in repeats for step in repeat.epoch for line in step]
    erases = any(line.c == 0 and line.s == 0 for line in lines)
    return phase.forgotten > 0 or _variance(phase) > 0 or erases


def _repeats(assumptions: Assumptions, history: History, phase: Phase) -> list[Repeat]:
    """The steps of a phase that the chains enter parted; each step as the lines of its modulus."""

    @cache
    def lines(
        forgotten: int, divisor: Fraction | int, retained: int | None = None
    ) -> tuple[Step, ...]:
        return _lines(assumptions, history, phase, forgotten, Fraction(divisor), retained)

    if phase.poisson is not None:
        divisor = Fraction(phase.poisson.rate) * history.divisor
        return [
            Repeat((lines(f, divisor, b),), len([*same]))
            for (b, f), same in groupby(phase.poisson.counts)
        ]
    if phase.batches is None:
        divisor = history.divisor if history.normaliser == "fixed" else phase.samples
        return [Repeat((lines(phase.forgotten, divisor),), phase.steps)]
    sizes = zip(phase.batches, phase.batch_sizes, strict=True)
    epoch = tuple(lines(forgotten, size) for forgotten, size in sizes)
    return [Repeat(epoch, phase.steps)]


def _lines(
    assumptions: Assumptions,
    history: History,
    phase: Phase,
    forgotten: int,
    divisor: Fraction,
    retained: int | None = None,
) -> tuple[Step, ...]:
    """The affine bounds of one step's modulus: clipped, smooth, or both in this order.

    `forgotten` of the records behind its gradients are gone; their sum is divided by `divisor`.
    `retained` counts the others in a Poisson batch, whose share of the curvature is random.
    """
    eta, ridge = Fraction(phase.step_size), Fraction(assumptions.weight_decay)
    clip = assumptions.clip
    steepest = eta * Fraction((assumptions.lipschitz if clip is None else clip) or 0)
    load = Fraction(1) if retained is None else retained / divisor
    lines = []
    if clip is not None:  # two clipped means differ by 2 C, whatever the data
        rows = max(Fraction(1), Fraction((retained or 0) + forgotten) / divisor)
        lines.append((abs(1 - eta * ridge), 2 * steepest * (1 if retained is None else rows)))
    if assumptions.smoothness is not None:
        sides = 1 if history.normaliser == "fixed" else 2
        poisson = retained is not None
        lines.append(
            (_factor(assumptions, eta, load, poisson), sides * steepest * forgotten / divisor)
        )
    rounding = Fraction(phase.rounding)
    return tuple(Step(c, s + 2 * max(1, c) * rounding, _variance(phase)) for c, s in lines)


def _factor(assumptions: Assumptions, eta: Fraction, load: Fraction, poisson: bool) -> Fraction:
    """By which factor a gradient step of the smooth loss can drive two points apart."""
    ridge, smooth = Fraction(assumptions.weight_decay), Fraction(assumptions.smoothness or 0)
    if assumptions.clip is not None or assumptions.strong_convexity is None:
        return abs(1 - eta * ridge) + eta * (smooth - ridge) * load
    if poisson:
        return max(abs(1 - eta * ridge), abs(1 - eta * (ridge + (smooth - ridge) * load)))
    return max(abs(1 - eta * Fraction(assumptions.strong_convexity)), abs(1 - eta * smooth))


def _variance(phase: Phase) -> Fraction:
    """2 eta sigma^2."""
    variance = 2 * Fraction(phase.step_size) * Fraction(phase.sigma) ** 2
    return variance if variance >= LEAST_VARIANCE else ZERO


# ---- Cutting the steps as the witness says -----------------------------------------------------


class _Tape:
    """The steps that have not been taken yet."""

    def __init__(self, repeats: Sequence[Repeat], name: str) -> None:
        self.left, self.name = list(reversed(repeats)), name

    def take(self, steps: int) -> list[Repeat]:
        """The next so many steps."""
        taken = []
        while steps > 0:
            if not self.left:
                raise InvalidInput(self.name, "has more steps than the history")
            epoch, there, offset = self.left.pop()
            taken.append(Repeat(epoch, min(steps, there), offset))
            if there > steps:
                self.left.append(Repeat(epoch, there - steps, (offset + steps) % len(epoch)))
            steps -= there
        return taken

    def take_repeated(self, steps: int, times: int) -> list[Repeat]:
        """The first of so many equal rounds of the next steps; all of them are taken."""
        if not self.left or times * steps > self.left[-1].steps:
            raise InvalidInput(self.name, "repeats edges beyond the steps that repeat")
        if steps % len(self.left[-1].epoch):
            raise InvalidInput(self.name, "repeats edges that are not whole epochs")
        (every,) = self.take(times * steps)
        return [Repeat(every.epoch, steps, every.offset)]


def _choose_lines(repeats: Sequence[Repeat], stretch: Stretch, name: str) -> list[Repeat]:
    """The steps with the line of its modulus that the witness names for each."""
    single = all(len(lines) == 1 for repeat in repeats for lines in repeat.epoch)
    total = sum(repeat.steps for repeat in repeats)
    choices = stretch.lines or ([(total, 0)] if single else [])
    tape, chosen = _Tape(repeats, f"{name}.lines"), []
    for steps, line in choices:
        for epoch, count, offset in tape.take(steps):
            if not all(0 <= line < len(lines) for lines in epoch):
                raise InvalidInput(tape.name, "names a line that the modulus has not")
            chosen.append(Repeat(tuple(lines[line] for lines in epoch), count, offset))
    if tape.left:
        raise InvalidInput(tape.name, "has fewer steps than the history")
    return chosen


# ---- Steps in one: (W, S, V) = (prod c, sum s prod c, sum v prod c^2) --------------------------


class Summary(NamedTuple):
    """Steps in one, in the units of their end: all that a bound needs to know of them."""

    W: Ball
    S: Ball
    V: Ball


def _then(a: Summary, b: Summary) -> Summary:
    """The steps of a, then those of b: sums and products only."""
    return Summary(a.W * b.W, a.S * b.W + b.S, a.V * (b.W * b.W) + b.V)


def _power(block: Summary, times: int) -> Summary:
    """A block so many times, by squaring."""
    power = None
    while times:
        if times & 1:
            power = block if power is None else _then(power, block)
        times >>= 1
        block = _then(block, block) if times else block
    return power or _nothing()


def _nothing() -> Summary:
    return Summary(_ball(1), _ball(0), _ball(0))


def _ball(exact: Fraction | int) -> Ball:
    """A ball around an exact fraction, at the present precision."""
    from flint import arb, fmpq

    return arb(fmpq(exact.numerator, exact.denominator))


class _Summaries(dict[int, Summary]):
    """The summary of every step, made once: steps that repeat are the same object."""

    def of(self, epoch: Sequence[Step]) -> list[Summary]:
        """The summaries of these steps."""
        for step in epoch:
            if id(step) not in self:
                self[id(step)] = Summary(*map(_ball, step))
        return [self[id(step)] for step in epoch]


# ---- One edge ----------------------------------------------------------------------------------


def _edge(
    repeats: Sequence[Repeat], distance: Fraction, name: str, known: _Summaries
) -> tuple[Ball, Ball]:
    """S/sqrt(V) of the steps of an edge, and the charge E/nu_last for what is not shown."""
    zero = _ball(0)
    pieces = [piece for repeat in repeats for piece in repeat.blocks()]
    blocks = [_power(reduce(_then, known.of(epoch)), times) for epoch, times in pieces]
    first = Summary(_ball(1), _ball(distance), zero)
    before = list(accumulate(blocks, _then, initial=first))
    after = list(accumulate(reversed(blocks), lambda a, b: _then(b, a), initial=_nothing()))[::-1]
    whole = before[-1]
    if whole.S.is_zero():
        return zero, zero
    if not whole.V > 0:
        raise InvalidInput(name, "no noise hides what the forgotten records did")
    slope = whole.S / whole.V
    cost = whole.S / whole.V.sqrt()
    x = zero  # below every x_k
    for (epoch, times), start, end in zip(pieces, before, after[1:], strict=False):
        growth = _growth(epoch, name) if times > 2 else False
        for place in _lowest_places(known.of(epoch), times, growth, start, end, slope):
            if place.is_nan():
                raise InvalidInput(name, "grows beyond what balls can hold")
            x = min(x, place)
    if x.is_zero():
        return cost, zero
    last = pieces[-1][0][-1].v
    if last == 0:
        raise InvalidInput(name, "an edge ends without noise and z below 0 is not excluded")
    return cost, -x / _ball(last).sqrt()


def _growth(epoch: Sequence[Step], name: str) -> bool:
    """Whether distances grow under these steps; if so, under each of them."""
    if all(step.c <= 1 for step in epoch):
        return False
    if not all(step.c >= 1 for step in epoch):
        raise InvalidInput(name, "repeats steps of which some grow and some contract")
    return True


def _lowest_places(
    steps: Sequence[Summary], times: int, grows: bool, before: Summary, after: Summary, slope: Ball
) -> Iterator[Ball]:
    """Lower bounds of x where it can be lowest among `times` epochs of these steps."""
    heads = list(accumulate(steps, _then))
    tails = list(accumulate(reversed(steps), lambda a, b: _then(b, a), initial=_nothing()))[-2::-1]
    others = _power(heads[-1], times - 1)
    without_first, without_last = _then(others, after), _then(before, others)
    for head, tail in zip(heads, tails, strict=True):
        yield _x(before, head, _then(tail, without_first), slope)
        if times > 1:
            yield _x(without_last, head, _then(tail, after), slope)
        if grows:
            yield _turn(heads[-1], head, tail, times, before, after, slope)


def _x(before: Summary, head: Summary, after: Summary, slope: Ball) -> Ball:
    """A lower bound of x between (before, head) and after: by the latter, or by the former."""
    x = (slope * after.V - after.S).lower()
    if x >= 0:
        return x
    first = _then(before, head)
    return max(x, (after.W * (first.S - slope * after.W * first.V)).lower())


def _turn(
    epoch: Summary,
    head: Summary,
    tail: Summary,
    times: int,
    before: Summary,
    after: Summary,
    slope: Ball,
) -> Ball:
    """A lower bound of x over equal places of growing epochs, by its turn from - to +.

    Place i = 0 ... times - 1 follows `head` in epoch i. x_i - x_{i-1} = w_i (S - slope V w_i) for
    the epoch (S, V) that ends there, and w_i falls with i: rises once it rises.
    """
    around = _then(tail, head)

    def weight(i: int) -> Ball:
        return tail.W * epoch.W ** (times - 1 - i) * after.W

    def sign(i: int) -> Ball:
        return around.S - slope * around.V * weight(i)

    falls = _last(lambda i: bool(sign(i) <= 0), times - 1)  # x_falls is the lowest up to there
    rises = 1 + _last(lambda i: not sign(i) >= 0, times - 1)  # from rises - 1 on, it is x_{rises-1}
    x = _x(
        _then(before, _power(epoch, falls)),
        head,
        _then(_then(tail, _power(epoch, times - 1 - falls)), after),
        slope,
    )
    undecided = rises - 1 - falls
    if undecided <= 0:
        return x
    w = weight(falls).union(weight(rises - 1))
    return (x - undecided * (w * (around.S - slope * around.V * w)).abs_upper()).lower()


def _last(holds: Any, most: int) -> int:
    """The last i in 1 ... most where a condition that ends at some point still holds; else 0."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


# ---- The whole witness -------------------------------------------------------------------------


def prove_mu(assumptions: Assumptions, history: History, witness: Witness) -> float:
    """The least double at or above the mu that the witness proves for this history.

    Raises:
        InvalidInput: the witness does not fit the history, or proves no finite mu.
    """
    return prove_stretches(
        derive_stretches(assumptions, history),
        witness,
        distance=Fraction(assumptions.initial_distance),
        diameter=None if assumptions.radius is None else 2 * Fraction(assumptions.radius),
    )


def prove_stretches(
    stretches: Sequence[Sequence[Repeat]],
    witness: Witness,
    *,
    distance: Fraction = ZERO,
    diameter: Fraction | None = None,
) -> float:
    """The same for steps whose moduli are known, each as the tuple of its lines.

    Raises:
        InvalidInput: the witness does not fit them, or proves no finite mu.
    """
    from flint import ctx

    if len(stretches) != len(witness.stretches):
        raise InvalidInput(
            "witness.stretches", f"{len(witness.stretches)} for {len(stretches)} in the history"
        )
    cut: list[_Cut] = []
    for i, (repeats, stretch) in enumerate(zip(stretches, witness.stretches, strict=True)):
        name = f"witness.stretches[{i}]"
        chosen = _choose_lines(repeats, stretch, name)
        cut += _edges(chosen, stretch, distance if i == 0 else ZERO, diameter, name)
    mu = math.inf
    for bits in BITS:
        with ctx.workprec(bits):
            proven, without_charge = _sum(cut)
            mu = _double_above(proven)
            if proven <= without_charge * (1 + _ball(NEGLIGIBLE)):
                break
    return mu


class _Cut(NamedTuple):
    """The steps of an edge, how far apart the chains enter it, and how often it occurs."""

    repeats: list[Repeat]
    distance: Fraction
    times: int
    name: str


def _edges(
    repeats: Sequence[Repeat],
    stretch: Stretch,
    distance: Fraction,
    diameter: Fraction | None,
    name: str,
) -> Iterator[_Cut]:
    """Every edge of a stretch; together they are all of its steps."""
    tape = _Tape(repeats, f"{name}.edges")
    if stretch.start is not None:
        if diameter is None or stretch.start < 1:
            raise InvalidInput(f"{name}.start", "needs a step that projects onto a ball")
        distance = diameter
        tape.take(stretch.start)
    for edge in stretch.edges:
        times, lengths = _unpack(edge)
        if times < 1 or not lengths or min(lengths) < 1 or (times > 1 and distance):
            raise InvalidInput(tape.name, "edges have steps, and only those from z = 0 repeat")
        source = tape
        if times > 1:
            source = _Tape(tape.take_repeated(sum(lengths), times), tape.name)
        for length in lengths:
            yield _Cut(source.take(length), distance, times, tape.name)
            distance = ZERO
    if tape.left or distance:
        raise InvalidInput(tape.name, "has fewer steps than the history")


def _unpack(edge: Edge) -> tuple[int, Sequence[int]]:
    return (1, (edge,)) if isinstance(edge, int) else edge


def _sum(cut: Sequence[_Cut]) -> tuple[Ball, Ball]:
    """mu over all edges, with and without the charges."""
    total = bare = _ball(0)
    known = _Summaries()
    for repeats, distance, times, name in cut:
        cost, charge = _edge(repeats, distance, name, known)
        total += times * (cost + charge) ** 2
        bare += times * cost**2
    return total.sqrt(), bare.sqrt()


def _double_above(value: Ball) -> float:
    """The least double that is surely not below a ball."""
    from flint import arb

    if value.is_zero():
        return 0.0
    if not value.is_finite():
        raise InvalidInput("witness", "proves no finite mu")
    double = float(value.upper())
    while not arb(double) >= value:
        double = math.nextafter(double, math.inf)
    return double


# ---- From mu to (epsilon, delta) and Rényi divergences -----------------------------------------


def meets(mu: float, epsilon: float, delta: float) -> bool:
    """Whether Phi(-a) - e^epsilon Phi(-a - mu) <= delta is shown, a = epsilon/mu - mu/2."""
    from flint import arb, ctx

    if mu == 0:
        return True
    for bits in BITS:
        with ctx.workprec(bits):
            root = arb(2).sqrt()
            a = arb(epsilon) / arb(mu) - arb(mu) / 2
            tails = (a / root).erfc() - arb(epsilon).exp() * ((a + mu) / root).erfc()
            if tails <= 2 * arb(delta):
                return True
            if tails > 2 * arb(delta):
                return False
    return False


def check_figures(
    mu: float, *, epsilon: float, delta: float, renyi: Mapping[str, float] | None = None
) -> None:
    """Check that mu-GDP gives (epsilon, delta) and D_alpha = alpha mu^2/2 at every order stated.

    Raises:
        InvalidInput: it does not; the first figure that is too low is named.
    """
    if not meets(mu, epsilon, delta):
        raise InvalidInput("claim.epsilon", f"{epsilon!r} is less than mu = {mu!r} gives")
    for order, stated in (renyi or {}).items():
        if Fraction(float(order)) * Fraction(mu) ** 2 / 2 > Fraction(stated):
            raise InvalidInput(f"claim.renyi.{order}", f"{stated!r} is less than mu = {mu!r} gives")
