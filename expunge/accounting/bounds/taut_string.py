"""The cheapest shifts: a taut string pulled under the cumulated sensitivity.

Minimise sum (a_k/nu_k)^2 subject to z_k = c_k z_{k-1} + s_k - a_k >= 0 and z_N = 0.
With w_k = prod_{j>k} c_j the optimum is the greatest convex minorant of the points
(V_k, S_k), V_k = sum_{j<=k} w_j^2 nu_j^2 and S_k = w_0 z_0 + sum_{j<=k} w_j s_j, and

    mu^2 = sum over edges of the minorant (dS)^2 / dV                  (THEORY 2.2)

found by pooling adjacent violators from the last step backwards. Everything is kept
in logarithms relative to a point inside the block, so that neither 10^12 steps nor
c > 1 overflow. Identical steps pool into one block when c <= 1 or s = 0; with c > 1
and s > 0 their slopes rise, so they stay a `Climb` from which neighbours bite pieces.
In a cycle whose contraction is at most 1 only the first and the last epoch can hold a
corner of the minorant: points of equal phase lie on a concave curve. The middle is one block.

With a projection of diameter D, distances never exceed D; where the cap binds, all
shifts before it are useless, so mu^2 is the least over the starting points tau at which
it binds, each started from z = D. Any tau gives a valid bound; those inside the middle of a
cycle too long to unroll are not tried.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from expunge.accounting.moduli import Part, Run, total_steps
from expunge.accounting.refusal import Refused
from expunge.accounting.search import first_where, least_of_valley

__all__ = ["TautString", "forward_distance", "pull"]

MOST_UNROLLED = 4_000_000
MOST_CAPPED = 20_000  # runs of a cycle that are unrolled to try every capped start
LEAST = 1e-304  # an underflow is not an exact 0


class TautString(NamedTuple):
    mu: float
    operations: int  # roundings that went into mu, for the error budget


class Block(NamedTuple):
    """Pooled steps: S and V in the units of a reference point inside the block."""

    log_s: float
    log_v: float
    before: float  # log of the contraction from the block's start to the reference
    after: float  # and from there to the block's end

    @property
    def log_slope(self) -> float:
        """log S/V; noiseless blocks are infinitely steep, even those without a shift."""
        return math.inf if self.log_v == -math.inf else self.log_s - self.log_v

    @property
    def energy(self) -> float:
        """(dS)^2 / dV of the edge."""
        if self.log_s == -math.inf:
            return 0.0
        return max(_exp(2 * self.log_s - self.log_v), LEAST)


class Climb(NamedTuple):
    """Identical steps with c > 1, s > 0 and noise: slopes rise by c from step to step."""

    steps: int
    log_c: float
    log_s: float
    log_v: float

    def first(self, steps: int) -> Block:
        """`steps` consecutive ones pooled, in the units of the first one's end."""
        s = math.expm1(-steps * self.log_c) / math.expm1(-self.log_c)
        v = math.expm1(-2 * steps * self.log_c) / math.expm1(-2 * self.log_c)
        return Block(
            self.log_s + math.log(s),
            self.log_v + math.log(v),
            self.log_c,
            (steps - 1) * self.log_c,
        )

    @property
    def energy(self) -> float:
        return self.steps * _exp(2 * self.log_s - self.log_v)


class Node(NamedTuple):
    """The minorant of everything from here to the end; shared, never changed."""

    item: Block | Climb
    rest: "Node | None"
    energy: float


Minorant = Node | None
ERASER = Block(-math.inf, 0.0, -math.inf, 0.0)


def pull(
    parts: Sequence[Part], *, initial_distance: float = 0.0, diameter: float = math.inf
) -> TautString:
    """mu of one stretch of steps that starts at most `initial_distance` apart.

    Raises:
        Refused: an expanding cyclic partition too long to unroll.
    """
    capped = diameter < math.inf
    pieces = _unrolled(parts, capped=capped)
    starts = _distances(pieces, initial_distance, diameter) if capped else []
    best = math.inf
    minorant: Minorant = None
    for i in range(len(pieces) - 1, -1, -1):
        if capped:
            best = min(best, _least_capped(minorant, pieces[i], starts[i], diameter))
        minorant = _prepend_piece(minorant, pieces[i], _size(pieces[i]))
    best = min(best, _started_at(minorant, initial_distance))
    mu = math.sqrt(best) if best < math.inf else math.inf
    return TautString(mu, 8 * len(pieces) + 32)


def forward_distance(
    parts: Sequence[Part], *, initial_distance: float = 0.0, diameter: float = math.inf
) -> float:
    """The largest distance after the last step: d <- min(D, c d + s)."""
    end = Middle(Block(-math.inf, -math.inf, 0.0, 0.0))
    return _distances([*_unrolled(parts, capped=False), end], initial_distance, diameter)[-1]


# A piece is a run, or the pooled middle of a long cycle.


class Middle(NamedTuple):
    """Whole epochs of a contracting cycle that cannot hold a corner of the minorant."""

    block: Block


Piece = Run | Middle


def _size(piece: Piece) -> int:
    return piece.steps if isinstance(piece, Run) else 1


def _unrolled(parts: Sequence[Part], *, capped: bool) -> list[Piece]:
    pieces: list[Piece] = []
    for part in parts:
        if isinstance(part, Run):
            pieces.append(part)
        elif part.repeats <= 3 or (capped and len(part.runs) * part.repeats <= MOST_CAPPED):
            pieces += part.runs * part.repeats
        elif (log_c := sum(run.steps * run.contraction.log for run in part.runs)) <= 0:
            pieces += part.runs
            pieces.append(Middle(_epochs(part.runs, part.repeats - 2, log_c)))
            pieces += part.runs
        elif len(part.runs) * part.repeats <= MOST_UNROLLED:
            pieces += part.runs * part.repeats
        else:
            raise Refused(
                f"{total_steps(part)} steps of an expanding cyclic partition; "
                f"at most {MOST_UNROLLED} can be unrolled"
            )
    return pieces


def _epochs(runs: Sequence[Run], repeats: int, log_c: float) -> Block:
    """`repeats` epochs pooled, in the units of the last one's end."""
    epoch = _run_block(runs[0], runs[0].steps)
    for run in runs[1:]:
        epoch = _merge(epoch, _run_block(run, run.steps))
    log_s, log_v = epoch.log_s + epoch.after, epoch.log_v + 2 * epoch.after
    return Block(
        log_s + math.log(_geometric(log_c, repeats)),
        log_v + math.log(_geometric(2 * log_c, repeats)),
        repeats * log_c,
        0.0,
    )


def _geometric(log_ratio: float, terms: int) -> float:
    """sum_{j < terms} exp(j log_ratio) for a ratio of at most 1."""
    return math.expm1(terms * log_ratio) / math.expm1(log_ratio) if log_ratio else float(terms)


def _run_block(run: Run, steps: int) -> Block:
    """`steps` of the run's steps pooled."""
    c = run.contraction
    log_s, log_v = _log(run.shift), 2 * _log(run.noise_std)
    if steps == 1:
        return Block(log_s, log_v, c.log, 0.0)
    if c.gap < 0:
        return Climb(steps, c.log, log_s, log_v).first(steps)
    s = v = float(steps)
    if c.gap > 0:
        s = -math.expm1(steps * c.log) / c.gap
        v = -math.expm1(2 * steps * c.log) / (c.gap * (1 + c.c))
    return Block(log_s + math.log(s), log_v + math.log(v), steps * c.log, 0.0)


def _prepend_piece(minorant: Minorant, piece: Piece, steps: int) -> Minorant:
    if not steps:
        return minorant
    if isinstance(piece, Middle):
        return _prepend(minorant, piece.block)
    if piece.contraction.gap < 0 and piece.shift > 0 and piece.noise_std > 0:
        return _prepend_climb(
            minorant,
            Climb(steps, piece.contraction.log, _log(piece.shift), 2 * _log(piece.noise_std)),
        )
    return _prepend(minorant, _run_block(piece, steps))


def _prepend(minorant: Minorant, block: Block) -> Minorant:
    """Put a block before the others and pool it with all that it is steeper than."""
    while minorant is not None:
        top = minorant.item
        if isinstance(top, Climb):
            eaten = _bites(block, top)
            if not eaten:
                break
            block = _merge(block, top.first(eaten))
            minorant = minorant.rest
            if eaten < top.steps:
                minorant = _push(minorant, top._replace(steps=top.steps - eaten))
                break
        elif _steeper(block, top):
            block = _merge(block, top)
            minorant = minorant.rest
        else:
            break
    if minorant is None and block.log_s == block.log_v == -math.inf:
        # Noiseless steps on equal data at the very end: post-processing, unless they erase all.
        return _push(None, ERASER) if block.before == -math.inf else None
    return _push(minorant, block)


def _prepend_climb(minorant: Minorant, climb: Climb) -> Minorant:
    while climb.steps and minorant is not None:
        top = minorant.item
        eaten = _bitten(climb, top if isinstance(top, Block) else top.first(1))
        if not eaten:
            break
        minorant = _prepend(minorant, climb.first(eaten))
        climb = climb._replace(steps=climb.steps - eaten)
    return _push(minorant, climb) if climb.steps else minorant


def _bites(block: Block, climb: Climb) -> int:
    """How many first steps of the climb the block before it is steeper than."""
    one = climb.first(1)

    def stops(steps: int) -> bool:
        return not _steeper(_merge(block, climb.first(steps)) if steps else block, one)

    return first_where(stops, climb.steps)


def _bitten(climb: Climb, block: Block) -> int:
    """How many last steps of the climb are steeper than the block after it."""
    one = climb.first(1)

    def stops(steps: int) -> bool:
        return not _steeper(one, _merge(climb.first(steps), block) if steps else block)

    return first_where(stops, climb.steps)


def _push(minorant: Minorant, item: Block | Climb) -> Node:
    return Node(item, minorant, item.energy + (minorant.energy if minorant else 0.0))


def _merge(a: Block, b: Block) -> Block:
    """Pool b, which follows a; the larger of the two units is kept."""
    between = a.after + b.before
    if between <= 0:
        return Block(
            _add(a.log_s + between, b.log_s),
            _add(a.log_v + 2 * between, b.log_v),
            a.before + between,
            b.after,
        )
    return Block(
        _add(a.log_s, b.log_s - between),
        _add(a.log_v, b.log_v - 2 * between),
        a.before,
        between + b.after,
    )


def _steeper(a: Block, b: Block) -> bool:
    """Whether a, followed by b, breaks convexity: S_a/V_a > S_b/V_b in common units."""
    slope_a, slope_b = a.log_slope, b.log_slope
    if slope_a == -math.inf:
        return False
    if slope_a == math.inf:
        return True
    return slope_a - (a.after + b.before) > slope_b


def _started_at(minorant: Minorant, distance: float) -> float:
    """mu^2 when the first step starts `distance` apart."""
    if distance > 0:
        minorant = _prepend(minorant, Block(math.log(distance), -math.inf, 0.0, 0.0))
    return minorant.energy if minorant else 0.0


def _least_capped(minorant: Minorant, piece: Piece, start: float, diameter: float) -> float:
    """Least mu^2 over the starting points inside this piece where the cap binds."""
    if isinstance(piece, Middle):
        return math.inf

    def energy(steps: int) -> float:
        """tau lies `steps` steps before the end of this piece."""
        return _started_at(_prepend_piece(minorant, piece, steps), diameter)

    first = 1  # the first tau at which the cap binds
    if start < diameter:
        first = first_where(lambda n: _forward(piece, start, n) >= diameter, piece.steps)
    if _forward(piece, start, first) < diameter:
        return math.inf
    if piece.contraction.c * diameter + piece.shift < diameter:
        return energy(piece.steps - first)  # a start outside the ball: it binds once
    return least_of_valley(energy, piece.steps - first)[0]


def _distances(pieces: Sequence[Piece], initial: float, diameter: float) -> list[float]:
    """The forward recursion d <- min(D, c d + s): the distance before each piece."""
    starts, distance = [], initial
    for piece in pieces:
        starts.append(distance)
        if isinstance(piece, Run):
            distance = min(diameter, _forward(piece, distance, piece.steps))
        else:
            block = piece.block
            distance = min(diameter, _exp(block.before) * distance + _exp(block.log_s))
    return starts


def _forward(run: Run, distance: float, steps: int) -> float:
    """c^n d + s (1 + c + ... + c^(n-1)), the distance after n steps."""
    if not steps:
        return distance
    block = _run_block(run, steps)
    return _exp(steps * run.contraction.log) * distance + _exp(block.log_s + block.after)


def _add(x: float, y: float) -> float:
    high, low = (x, y) if x >= y else (y, x)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf
