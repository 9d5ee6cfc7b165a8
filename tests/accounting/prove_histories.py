"""Random histories of every regime, each proven by the checker; altered witnesses, each judged.

    python -m tests.accounting.prove_histories --histories 100000 --seed 0 --jobs 2

Goes on from where the results file ends, so that it can be stopped at any time; the committed
results are tests/accounting/proven_histories.json. For every history

- the checker must prove the bound, within 1e-9 of the accountant's mu and never above it,
- a claim lowered by 1e-6 and a witness of another length must be rejected,

and for every seventh one an altered witness of the right length must be rejected, unless a plain
evaluation with at least 300 bits, step by step, shows that it still proves the reported mu.
"""

import argparse
import json
import math
import multiprocessing
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from expunge.accounting import checker
from expunge.accounting.bounds.taut_string import LEAST_MU
from expunge.accounting.witness import Edge, Stretch, Witness
from expunge.errors import InvalidInput
from tests.accounting.random_histories import REGIMES, Case, draw

RESULTS = Path(__file__).with_name("proven_histories.json")
CLOSE = 1e-9
LOWERED = 1e-6
EVERY = 7  # each seventh witness is altered too
MOST_STEPS = 4000  # of a history whose altered witness is evaluated step by step
SAVED_EVERY = 100
AT_ONCE = 10  # histories that one process judges before it takes others


class Broken(AssertionError):
    """A history for which the checker or the accountant is wrong."""


def judge(regime: str, number: int, seed: int) -> dict[str, Any]:
    """What the checker makes of one history and of claims and witnesses that are wrong."""
    case, shifted = draw(regime, number, seed)
    witness, rng = shifted.witness, random.Random(f"wrong {seed} {regime} {number}")
    start = time.process_time()
    mu = checker.prove_mu(*case, witness)
    seconds = time.process_time() - start
    # A positive mu below the smallest is reported as that; the accountant does so each stretch.
    smallest = LEAST_MU * math.sqrt(len(witness.stretches)) * (1 + CLOSE)
    both_smallest = 0 < mu <= smallest and LEAST_MU <= shifted.mu <= smallest
    reported = max(mu, LEAST_MU) if mu else 0.0
    gap = 0.0 if both_smallest or reported == shifted.mu else 1 - reported / shifted.mu
    if not 0 <= gap <= CLOSE:
        raise Broken(f"{regime} {number}: proven {mu!r}, by the accountant {shifted.mu!r}")
    lowered = mu > LEAST_MU  # a lower mu is reported as that: the claim is above what is proven
    if lowered and accepts(case, witness, mu * (1 - LOWERED)):
        raise Broken(f"{regime} {number}: a claim lowered by {LOWERED} is accepted")
    lengths = 0
    for wrong in wrong_lengths(rng, witness):
        lengths += 1
        if accepts(case, wrong, math.inf):
            raise Broken(f"{regime} {number}: another length is accepted: {wrong}")
    judged = {"gap": gap, "seconds": seconds, "lengths": lengths, "lowered": int(lowered)}
    size = len(json.dumps(witness.document(), separators=(",", ":")))
    if number % EVERY:
        return judged | {"bytes": size}
    return judged | {"bytes": size, "altered": judge_altered(rng, case, witness, mu)}


def accepts(case: Case, witness: Witness, claimed: float) -> bool:
    """Whether the checker accepts a claim with this witness."""
    try:
        return checker.prove_mu(*case, witness) <= claimed
    except InvalidInput:
        return False


# ---- Wrong witnesses ---------------------------------------------------------------------------


def wrong_lengths(rng: random.Random, witness: Witness) -> Iterator[Witness]:
    """Witnesses with one step or stretch more or less."""
    yield Witness((*witness.stretches, Stretch()))
    yield Witness(witness.stretches[:-1])
    places = [i for i, stretch in enumerate(witness.stretches) if stretch.edges]
    if not places:
        return
    i = rng.choice(places)
    stretch = witness.stretches[i]
    j = rng.randrange(len(stretch.edges))
    for change in (1, -1):
        yield put(
            witness, i, replace(stretch, edges=with_edge(stretch, j, longer(stretch, j, change)))
        )
    yield put(witness, i, replace(stretch, edges=stretch.edges[:j] + stretch.edges[j + 1 :]))
    yield put(witness, i, replace(stretch, edges=(*stretch.edges, 1)))


def longer(stretch: Stretch, j: int, by: int) -> Edge:
    edge = stretch.edges[j]
    return edge + by if isinstance(edge, int) else (edge[0] + by, edge[1])


def with_edge(stretch: Stretch, j: int, *edges: Edge) -> tuple[Edge, ...]:
    return (*stretch.edges[:j], *edges, *stretch.edges[j + 1 :])


def put(witness: Witness, i: int, stretch: Stretch) -> Witness:
    return Witness((*witness.stretches[:i], stretch, *witness.stretches[i + 1 :]))


def alter(rng: random.Random, case: Case, witness: Witness) -> Witness | None:
    """Another witness for as many steps; None if this one has nothing to alter."""
    ways: list[Callable[[random.Random, Stretch], Stretch | None]] = [
        split_edge, join_edges, move_corner, unfold, change_line, move_turn, move_start,
    ]  # fmt: skip
    if case[0].radius is not None:
        ways.append(begin_later)
    places = [i for i, stretch in enumerate(witness.stretches) if stretch.edges]
    for _ in range(20 * bool(places)):
        i = rng.choice(places)
        other = rng.choice(ways)(rng, witness.stretches[i])
        if other is not None and other != witness.stretches[i]:
            return put(witness, i, other)
    return None


def split_edge(rng: random.Random, stretch: Stretch) -> Stretch | None:
    long = [j for j, edge in enumerate(stretch.edges) if isinstance(edge, int) and edge > 1]
    if not long:
        return None
    j = rng.choice(long)
    edge = stretch.edges[j]
    assert isinstance(edge, int)
    at = rng.choice([1, edge - 1, rng.randint(1, edge - 1)])
    return replace(stretch, edges=with_edge(stretch, j, at, edge - at))


def join_edges(rng: random.Random, stretch: Stretch) -> Stretch | None:
    if len(stretch.edges) < 2:
        return None
    j = rng.randrange(len(stretch.edges) - 1)
    joined = sum(steps_of(edge) for edge in stretch.edges[j : j + 2])
    return replace(stretch, edges=(*stretch.edges[:j], joined, *stretch.edges[j + 2 :]))


def move_corner(rng: random.Random, stretch: Stretch) -> Stretch | None:
    pairs = [
        j
        for j in range(len(stretch.edges) - 1)
        if all(isinstance(edge, int) for edge in stretch.edges[j : j + 2])
    ]
    if not pairs:
        return None
    j = rng.choice(pairs)
    total = steps_of(stretch.edges[j]) + steps_of(stretch.edges[j + 1])
    at = rng.randint(1, total - 1)
    edges = (*stretch.edges[:j], at, total - at, *stretch.edges[j + 2 :])
    return replace(stretch, edges=edges)


def unfold(rng: random.Random, stretch: Stretch) -> Stretch | None:
    """One repetition of a pattern as an edge of its own, or a pattern as a single edge."""
    folded = [j for j, edge in enumerate(stretch.edges) if not isinstance(edge, int)]
    if not folded:
        return None
    j = rng.choice(folded)
    edge = stretch.edges[j]
    assert isinstance(edge, tuple)
    times, pattern = edge
    if rng.random() < 0.5 or times < 2:
        return replace(stretch, edges=with_edge(stretch, j, times * sum(pattern)))
    rest: Edge = (times - 1, pattern)
    return replace(stretch, edges=with_edge(stretch, j, sum(pattern), rest))


def change_line(rng: random.Random, stretch: Stretch) -> Stretch | None:
    if not stretch.lines:
        return None
    j = rng.randrange(len(stretch.lines))
    steps, line = stretch.lines[j]
    lines = (*stretch.lines[:j], (steps, 1 - line), *stretch.lines[j + 1 :])
    return replace(stretch, lines=lines)


def move_turn(rng: random.Random, stretch: Stretch) -> Stretch | None:
    if not stretch.lines:
        return None
    j = rng.randrange(len(stretch.lines))
    steps, line = stretch.lines[j]
    at = rng.randint(0, steps)
    turned = tuple((n, x) for n, x in ((at, line), (steps - at, 1 - line)) if n)
    return replace(stretch, lines=(*stretch.lines[:j], *turned, *stretch.lines[j + 1 :]))


def move_start(rng: random.Random, stretch: Stretch) -> Stretch | None:
    """The capped start earlier or later, or none."""
    first = stretch.edges[0]
    if stretch.start is None or not isinstance(first, int):
        return None
    choices = [(None, stretch.start + first)]
    if first > 1:
        choices.append((stretch.start + 1, first - 1))
    if stretch.start > 1:
        choices.append((stretch.start - 1, first + 1))
    start, edge = rng.choice(choices)
    return replace(stretch, start=start, edges=with_edge(stretch, 0, edge))


def begin_later(rng: random.Random, stretch: Stretch) -> Stretch | None:
    """A start at the diameter where there was none."""
    first = stretch.edges[0]
    if stretch.start is not None or not isinstance(first, int) or first < 2:
        return None
    at = rng.randint(1, first - 1)
    return replace(stretch, start=at, edges=with_edge(stretch, 0, first - at))


def steps_of(edge: Edge) -> int:
    return edge if isinstance(edge, int) else edge[0] * sum(edge[1])


def judge_altered(rng: random.Random, case: Case, witness: Witness, mu: float) -> str:
    """`rejected`, or `still proves it`, which is then shown step by step; `nothing to alter`."""
    steps = sum(phase.steps for phase in case[1].phases)
    other = alter(rng, case, witness) if steps <= MOST_STEPS else None
    if other is None:
        return "nothing to alter"
    if not accepts(case, other, mu):
        return "rejected"
    evaluated = evaluate(case, other)
    if evaluated is None or evaluated > mpf(mu) * (1 + mpf(2) ** -200):  # mu is rounded up
        raise Broken(f"{case}: accepted without proof: {other}, {evaluated}")
    return "still proves it"


# ---- A plain evaluation ------------------------------------------------------------------------


def evaluate(case: Case, witness: Witness) -> mpf | None:
    """mu of a witness by its definition, step by step, with 300 bits beside what growth costs.

    None where its shifts do not bring the chains together.
    """
    loss, total = case[0], mpf(0)
    stretches = checker.derive_stretches(*case)
    for i, (repeats, stretch) in enumerate(zip(stretches, witness.stretches, strict=True)):
        every = [r.epoch[(r.offset + k) % len(r.epoch)] for r in repeats for k in range(r.steps)]
        chosen = [line for n, line in stretch.lines for _ in range(n)] or [0] * len(every)
        steps = [lines[line] for lines, line in zip(every, chosen, strict=True)]
        growth = sum(max(0.0, math.log2(step.c)) for step in steps if step.c)
        with mp.workprec(300 + 2 * math.ceil(growth)):
            start = mpf(loss.initial_distance) if i == 0 else mpf(0)
            first = stretch.start or 0
            if stretch.start is not None:
                start = 2 * mpf(loss.radius)
            for edge in stretch.edges:
                times, lengths = (1, (edge,)) if isinstance(edge, int) else edge
                for length in lengths * times:
                    spent = _spend(steps[first : first + length], start)
                    if spent is None:
                        return None
                    total, first, start = total + spent, first + length, mpf(0)
            assert first == len(steps)
    with mp.workprec(300):
        return mp.sqrt(total)


def _spend(steps: list[checker.Step], start: mpf) -> mpf | None:
    """sum a^2/v of one edge; None where its shifts do not bring the chains together.

    Where some z = c z + s - a would be below 0, all distances are taken to be larger, as they may,
    and the last step removes the difference.
    """
    cs, ss, vs = ([mpf(x.numerator) / x.denominator for x in xs] for xs in zip(*steps, strict=True))
    weight, weights = mpf(1), []
    for c in reversed(cs):
        weights.append(weight)
        weight *= c
    weights.reverse()
    S = weight * start + mp.fsum(w * s for w, s in zip(weights, ss, strict=True))
    V = mp.fsum(w * w * v for w, v in zip(weights, vs, strict=True))
    if S == 0:
        return mpf(0)
    if V == 0:
        return None
    shifts = [S / V * w * v for w, v in zip(weights, vs, strict=True)]
    zs = [start]
    for c, s, shift in zip(cs, ss, shifts, strict=True):
        zs.append(c * zs[-1] + s - shift)
    missing = max(mpf(0), *(-w * z for w, z in zip(weights, zs[1:], strict=True)))
    if missing > S * mpf(2) ** -250 and vs[-1] == 0:
        return None
    if vs[-1]:  # however little is missing: at the first steps w may be smaller still
        shifts[-1] += missing
        larger = [z + missing / w if w else z for w, z in zip([weight, *weights], zs, strict=True)]
        zs = [*larger[:-1], zs[-1]]
    for c, s, shift, z, reached in zip(cs, ss, shifts, zs, zs[1:], strict=False):
        tiny = (c * z + s + shift) * mpf(2) ** -240
        if reached < -tiny or c * z + s - shift > reached + tiny:
            return None
    return mp.fsum(shift * shift / v for shift, v in zip(shifts, vs, strict=True) if v)


# ---- The campaign ------------------------------------------------------------------------------


def add(total: dict[str, Any], judged: dict[str, Any]) -> None:
    """Count one more history."""
    total["proven"] = total.get("proven", 0) + 1
    total["wrong lengths rejected"] = total.get("wrong lengths rejected", 0) + judged["lengths"]
    total["lowered claims rejected"] = total.get("lowered claims rejected", 0) + judged["lowered"]
    total["largest gap to the accountant"] = max(
        total.get("largest gap to the accountant", 0.0), judged["gap"]
    )
    total["check seconds"] = total.get("check seconds", 0.0) + judged["seconds"]
    total["longest check"] = max(total.get("longest check", 0.0), judged["seconds"])
    total["largest witness, bytes"] = max(total.get("largest witness, bytes", 0), judged["bytes"])
    if "altered" in judged:
        altered = total.setdefault("altered", {})
        altered[judged["altered"]] = altered.get(judged["altered"], 0) + 1


def run(histories: int, seed: int, results: Path, jobs: int = 1) -> dict[str, Any]:
    """Prove so many histories in all, as many of each regime, going on from the results file.

    Args:
        jobs: Processes that judge at the same time; the counts do not depend on it.
    """
    done: dict[str, Any] = {"seed": seed, "asked": histories, "regimes": {}}
    if results.is_file():
        earlier = json.loads(results.read_text())
        if earlier["seed"] == seed:
            done["regimes"] = earlier["regimes"]
    each = math.ceil(histories / len(REGIMES))
    totals = {regime: done["regimes"].setdefault(regime, {}) for regime in REGIMES}
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        while parts := list(batches(totals, each, seed)):
            for (regime, *_), judged in zip(parts, pool.map(judge_batch, parts, 1), strict=True):
                for one in judged:
                    add(totals[regime], one)
            save(done, results)
    return done


def batches(totals: dict[str, Any], each: int, seed: int) -> Iterator[tuple[str, range, int]]:
    """The next histories of every regime, a few at a time and in order."""
    for regime, total in totals.items():
        first = total.get("proven", 0)
        last = min(first + SAVED_EVERY, each)
        for start in range(first, last, AT_ONCE):
            yield regime, range(start, min(start + AT_ONCE, last)), seed


def judge_batch(batch: tuple[str, range, int]) -> list[dict[str, Any]]:
    """Judge histories of one regime, in order."""
    regime, numbers, seed = batch
    return [judge(regime, number, seed) for number in numbers]


def save(done: dict[str, Any], results: Path) -> None:
    regimes = done["regimes"].values()
    done["proven"] = sum(total.get("proven", 0) for total in regimes)
    done["altered"] = {
        verdict: sum(total.get("altered", {}).get(verdict, 0) for total in regimes)
        for verdict in ("rejected", "still proves it", "nothing to alter")
    }
    fresh = results.with_suffix(".new")
    fresh.write_text(json.dumps(done, indent=2) + "\n")
    fresh.replace(results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--histories", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    done = run(options.histories, options.seed, options.results, options.jobs)
    print(f"{done['proven']:,} histories proven; altered witnesses: {done['altered']}")


if __name__ == "__main__":
    main()
