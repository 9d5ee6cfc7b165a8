"""The cheapest shifts: a taut string pulled under the cumulated sensitivity.

Minimise sum (a_k/nu_k)^2 subject to z_k = c_k z_{k-1} + s_k - a_k >= 0 and z_N = 0.
With w_k = prod_{j>k} c_j the optimum is the greatest convex minorant of the points
(V_k, S_k), V_k = sum_{j<=k} w_j^2 nu_j^2 and S_k = w_0 z_0 + sum_{j<=k} w_j s_j, and

    mu^2 = sum over edges of the minorant (dS)^2 / dV                  (THEORY 2.2)

found by pooling adjacent violators from the last step backwards. A block of steps is
(prod c, sum s prod c, sum nu^2 prod c^2) in the units of its own end, and two blocks compose
as (c c', s c' + s', v c'^2 + v'): only sums and products of positive numbers, in decimals that
span 10^18 orders of magnitude, so that 10^15 steps, c > 1, c = 0 and nu = 0 need no special
case and every result is right to about 20 digits (THEORY 7).
Identical steps pool into one block when c <= 1 or s = 0; with c > 1
and s > 0 their slopes rise, so they stay a `Climb` from which neighbours bite pieces.
In a cycle whose contraction is at most 1 only the first and the last epoch can hold a
corner of the minorant: points of equal phase lie on a concave curve. The middle is one block.

With a projection of diameter D, distances never exceed D; where the cap binds, all
shifts before it are useless, so mu^2 is the least over the starting points tau at which
it binds, each started from z = D. Any tau gives a valid bound; those inside the middle of a
cycle too long to unroll are not tried.

What is pulled is also handed out as a `String`: where it touches is all that a proof needs.
"""

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import NamedTuple

from expunge.accounting.decimals import geometric, round_up, wide_range
from expunge.accounting.moduli import Part, Run, total_steps
from expunge.accounting.search import first_where, least_of_valley
from expunge.errors import Refused

__all__ = ["LEAST_MU", "String", "forward_distance", "pull", "pull_string"]

MOST_UNROLLED = 4_000_000
MOST_CAPPED = 20_000  # runs of a cycle that are unrolled to try every capped start
LEAST = Decimal("1e-304")  # of mu^2: an underflow of a double is not an exact 0
LEAST_MU = 1e-152  # its root: a positive mu below is reported as this
ZERO, UNIT, INFINITE = Decimal(0), Decimal(1), Decimal("Infinity")


class PooledSteps(NamedTuple):
    """Pooled steps: S, V and the product of their contractions, in the units of their end."""

    s: Decimal
    v: Decimal
    c: Decimal
    steps: int

    @property
    def energy(self) -> Decimal:
        """(dS)^2 / dV of the edge."""
        if not self.s:
            return ZERO
        return self.s * self.s / self.v if self.v else INFINITE


class Climb(NamedTuple):
    """Identical steps with c > 1, s > 0 and noise: slopes rise by c from step to step."""

    steps: int
    run: Run

    def first(self, steps: int) -> PooledSteps:
        """The first `steps` steps pooled."""
        return _run_block(self.run, steps)

    @property
    def energy(self) -> Decimal:
        """(dS)^2 / dV summed over the steps."""
        return self.steps * self.first(1).energy


class Node(NamedTuple):
    """The minorant of everything from here to the end; shared, never changed."""

    item: PooledSteps | Climb
    rest: "Node | None"
    energy: Decimal


Minorant = Node | None


class String(NamedTuple):
    """A taut string: its mu, rounded up, and where it touches.

    Args:
        start: The step after which it starts from the diameter; None: from the beginning.
        minorant: Its edges; of a climb, every step is one.
    """

    mu: float
    start: int | None
    minorant: Minorant

    def edges(self) -> Iterator[tuple[int, int]]:
        """(length, number) of its edges in order: so many edges of that many steps each."""
        node = self.minorant
        while node is not None:
            climbs = isinstance(node.item, Climb)
            yield (1, node.item.steps) if climbs else (node.item.steps, 1)
            node = node.rest


def pull(
    parts: Sequence[Part], *, initial_distance: float = 0.0, diameter: float = math.inf
) -> float:
    """mu of one stretch of steps that starts at most `initial_distance` apart, rounded up.

    Raises:
        Refused: an expanding cyclic partition too long to unroll, or steps that grow or
            shrink beyond 10^(+-10^18).
    """
    return pull_string(parts, initial_distance=initial_distance, diameter=diameter).mu


@wide_range()
def pull_string(
    parts: Sequence[Part], *, initial_distance: float = 0.0, diameter: float = math.inf
) -> String:
    """The taut string of one stretch of steps that starts at most `initial_distance` apart.

    Raises:
        Refused: as `pull` does.
    """
    start, widest, capped = Decimal(initial_distance), Decimal(diameter), diameter < math.inf
    pieces = _unroll(parts, capped=capped)
    starts = _distances(pieces, start, widest) if capped else []
    ends = list(accumulate(map(_steps_of, pieces))) if capped else []
    best: tuple[Decimal, int | None, Minorant] = (INFINITE, None, None)
    minorant: Minorant = None
    for i in range(len(pieces) - 1, -1, -1):
        if capped:
            energy, after = _least_capped_energy(minorant, pieces[i], starts[i], widest)
            if energy < best[0]:
                kept = _prepend_piece(minorant, pieces[i], after)
                best = energy, ends[i] - after, _start_from(kept, widest)
        minorant = _prepend_piece(minorant, pieces[i], _size(pieces[i]))
    minorant = _start_from(minorant, start)
    if _energy(minorant) <= best[0]:
        best = _energy(minorant), None, minorant
    energy, tau, minorant = best
    return String(round_up(max(energy, LEAST).sqrt()) if energy else 0.0, tau, minorant)


@wide_range()
def forward_distance(
    parts: Sequence[Part], *, initial_distance: float = 0.0, diameter: float = math.inf
) -> float:
    """The largest distance after the last step, rounded up: d <- min(D, c d + s)."""
    end = Middle(PooledSteps(ZERO, ZERO, UNIT, 0))
    pieces = [*_unroll(parts, capped=False), end]
    return round_up(_distances(pieces, Decimal(initial_distance), Decimal(diameter))[-1])


# A piece is a run, or the pooled middle of a long cycle.


class Middle(NamedTuple):
    """Whole epochs of a contracting cycle that cannot hold a corner of the minorant."""

    block: PooledSteps


Piece = Run | Middle


def _size(piece: Piece) -> int:
    return piece.steps if isinstance(piece, Run) else 1


def _steps_of(piece: Piece) -> int:
    return piece.steps if isinstance(piece, Run) else piece.block.steps


def _unroll(parts: Sequence[Part], *, capped: bool) -> list[Piece]:
    pieces: list[Piece] = []
    for part in parts:
        if isinstance(part, Run):
            pieces.append(part)
        elif part.repeats <= 3 or (capped and len(part.runs) * part.repeats <= MOST_CAPPED):
            pieces += part.runs * part.repeats
        elif (epoch := _epoch(part.runs)).c <= 1:
            pieces += part.runs
            pieces.append(Middle(_repeat(epoch, part.repeats - 2)))
            pieces += part.runs
        elif len(part.runs) * part.repeats <= MOST_UNROLLED:
            pieces += part.runs * part.repeats
        else:
            raise Refused(
                f"{total_steps(part)} steps of an expanding cyclic partition; "
                f"at most {MOST_UNROLLED} can be unrolled"
            )
    return pieces


def _epoch(runs: Sequence[Run]) -> PooledSteps:
    """One epoch pooled."""
    epoch = _run_block(runs[0], runs[0].steps)
    for run in runs[1:]:
        epoch = _merge(epoch, _run_block(run, run.steps))
    return epoch


def _repeat(epoch: PooledSteps, repeats: int) -> PooledSteps:
    """`repeats` epochs pooled."""
    power = epoch.c**repeats if epoch.c else ZERO
    squared = epoch.c * epoch.c
    return PooledSteps(
        epoch.s * geometric(power, 1 - epoch.c, repeats),
        epoch.v * geometric(power * power, 1 - squared, repeats),
        power,
        epoch.steps * repeats,
    )


def _run_block(run: Run, steps: int) -> PooledSteps:
    """`steps` of the run's steps pooled: s (1-c^n)/(1-c), nu^2 (1-c^(2n))/(1-c^2), c^n."""
    c, gap = run.contraction.wide, run.contraction.wide_gap
    s, nu = Decimal(run.shift), Decimal(run.noise_std)
    if steps == 1:
        return PooledSteps(s, nu * nu, c, 1)
    power = c**steps
    return PooledSteps(
        s * geometric(power, gap, steps) if s else ZERO,
        nu * nu * geometric(power * power, gap * (1 + c), steps) if nu else ZERO,
        power,
        steps,
    )


def _prepend_piece(minorant: Minorant, piece: Piece, steps: int) -> Minorant:
    if not steps:
        return minorant
    if isinstance(piece, Middle):
        return _prepend(minorant, piece.block)
    if piece.contraction.wide_gap < 0 and piece.shift > 0 and piece.noise_std > 0:
        return _prepend_climb(minorant, Climb(steps, piece))
    return _prepend(minorant, _run_block(piece, steps))


def _prepend(minorant: Minorant, block: PooledSteps) -> Minorant:
    """Put a block before the others and pool it with all that it is steeper than."""
    while minorant is not None:
        top = minorant.item
        if isinstance(top, Climb):
            eaten = _first_steps_to_pool(block, top)
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
    if minorant is None and not (block.s or block.v):
        # Noiseless steps at the very end under which no distance grows by more than a factor:
        # one function of both chains. A factor of 0 leaves nothing of what came before, as noise
        # that hides everything would.
        return _push(None, block if block.c else block._replace(v=UNIT))
    return _push(minorant, block)


def _prepend_climb(minorant: Minorant, climb: Climb) -> Minorant:
    while climb.steps and minorant is not None:
        top = minorant.item
        eaten = _last_steps_to_pool(climb, top if isinstance(top, PooledSteps) else top.first(1))
        if not eaten:
            break
        minorant = _prepend(minorant, climb.first(eaten))
        climb = climb._replace(steps=climb.steps - eaten)
    return _push(minorant, climb) if climb.steps else minorant


def _first_steps_to_pool(block: PooledSteps, climb: Climb) -> int:
    """How many first steps of the climb the block before it is steeper than."""
    step = climb.first(1)

    def stops(steps: int) -> bool:
        return not _steeper(_merge(block, climb.first(steps)) if steps else block, step)

    return first_where(stops, climb.steps)


def _last_steps_to_pool(climb: Climb, block: PooledSteps) -> int:
    """How many last steps of the climb are steeper than the block after it."""
    step = climb.first(1)

    def stops(steps: int) -> bool:
        return not _steeper(step, _merge(climb.first(steps), block) if steps else block)

    return first_where(stops, climb.steps)


def _push(minorant: Minorant, item: PooledSteps | Climb) -> Node:
    return Node(item, minorant, item.energy + (minorant.energy if minorant else ZERO))


def _merge(a: PooledSteps, b: PooledSteps) -> PooledSteps:
    """Pool b, which follows a."""
    return PooledSteps(a.s * b.c + b.s, a.v * b.c * b.c + b.v, a.c * b.c, a.steps + b.steps)


def _steeper(a: PooledSteps, b: PooledSteps) -> bool:
    """Whether a, followed by b, breaks convexity: S_a/V_a > S_b/V_b in common units.

    Noiseless blocks are infinitely steep, even those without a shift.
    """
    if not a.v:
        return True
    return bool(a.s) and a.s * b.v > b.s * a.v * b.c


def _start_from(minorant: Minorant, distance: Decimal) -> Minorant:
    """The minorant when its first step starts `distance` apart."""
    return _prepend(minorant, PooledSteps(distance, ZERO, UNIT, 0)) if distance > 0 else minorant


def _energy(minorant: Minorant) -> Decimal:
    """mu^2."""
    return minorant.energy if minorant else ZERO


def _least_capped_energy(
    minorant: Minorant, piece: Piece, start: Decimal, diameter: Decimal
) -> tuple[Decimal, int]:
    """Least mu^2 over the starting points inside this piece where the cap binds.

    The second number says how many of its steps follow that point.
    """
    if isinstance(piece, Middle):
        return INFINITE, 0

    def energy(steps: int) -> Decimal:
        """mu^2 when tau lies `steps` steps before the end of this piece."""
        return _energy(_start_from(_prepend_piece(minorant, piece, steps), diameter))

    first = 1  # the first tau at which the cap binds
    if start < diameter:
        first = first_where(lambda n: _forward(piece, start, n) >= diameter, piece.steps)
    if _forward(piece, start, first) < diameter:
        return INFINITE, 0
    if _forward(piece, diameter, 1) < diameter:  # a start outside the ball: it binds once
        return energy(piece.steps - first), piece.steps - first
    return least_of_valley(energy, piece.steps - first)


def _distances(pieces: Sequence[Piece], initial: Decimal, diameter: Decimal) -> list[Decimal]:
    """The forward recursion d <- min(D, c d + s): the distance before each piece."""
    starts, distance = [], initial
    for piece in pieces:
        starts.append(distance)
        block = piece.block if isinstance(piece, Middle) else _run_block(piece, piece.steps)
        distance = min(diameter, block.c * distance + block.s)
    return starts


def _forward(run: Run, distance: Decimal, steps: int) -> Decimal:
    """c^n d + s (1 + c + ... + c^(n-1)), the distance after n steps."""
    if not steps:
        return distance
    block = _run_block(run, steps)
    return block.c * distance + block.s
