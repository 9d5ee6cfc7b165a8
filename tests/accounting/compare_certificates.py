"""Whether certificates of equal histories have equal numbers before and after a change.

    python tests/accounting/compare_certificates.py --to new.jsonl
    python tests/accounting/compare_certificates.py --to new.jsonl --against old.jsonl

Issues the certificates of 1,000 seeded histories of every kind and writes what they say, one JSON
document a line, without times and random names. It runs on the code before a change too: set
PYTHONPATH to a checkout of that commit and run this same file.
"""

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from expunge.accounting import Assumptions, History, Phase, Poisson, account
from expunge.errors import InvalidInput, Refused

try:
    from expunge.accounting.issue import issue
    from expunge.accounting.stated import Stated
except ImportError:  # one module until certificates were taken apart
    from expunge.accounting.certificate import Stated, issue

MARKS = ("enforced", "public", "assumed")


class Case(NamedTuple):
    """A history with what its issuer states."""

    assumptions: Assumptions
    history: History
    facts: dict[str, Any]


def draw_langevin(rng: random.Random) -> Case:
    """Learning, then up to three requests, full batches."""
    loss, step_size = draw_loss(rng)
    normaliser = rng.choice(["mean", "fixed"])
    records, sigma = rng.randint(200, 20_000), 10 ** rng.uniform(-1.5, 1)
    gone = sorted(rng.sample(range(1, records // 10), rng.randint(1, 3)))
    rounding = rng.choice([0.0, 0.0, 1e-12])
    before = [0, *gone]
    phases = tuple(
        Phase(
            rng.randint(1, 300),
            step_size,
            sigma,
            records - left,
            gone[-1] - left,
            rounding=rounding,
        )
        for left in before
    )
    return Case(loss, History(phases, normaliser), {"strategy": "langevin", **draw_facts(rng)})


def draw_releases(rng: random.Random) -> Case:
    """The same with models that were handed out on the way, and counted."""
    case = draw_langevin(rng)
    phases = list(case.history.phases)
    shown = rng.randrange(len(phases) - 1)
    phases[shown] = replace(phases[shown], released=True)
    history = History(tuple(phases), case.history.normaliser)
    return case._replace(history=history, facts={"strategy": "langevin"})


def draw_capacity(rng: random.Random) -> Case:
    """A whole capacity counted at every model, so that requests may look at them."""
    loss, step_size = draw_loss(rng)
    records, sigma = rng.randint(500, 20_000), 10 ** rng.uniform(0.5, 2)
    capacity, left, phases = rng.randint(5, records // 20), 0, []
    for steps in (rng.randint(1, 200), *[1] * rng.randint(1, 4)):
        samples, counted = records - left, capacity - left
        phases.append(Phase(steps, step_size, sigma, samples, counted, released=True))
        left += rng.randint(0, min(counted, capacity // 5))
    budget = 10 ** rng.uniform(-0.5, 1.2)
    facts = {"strategy": "langevin", "capacity": capacity, "budget": budget, "records": records}
    return Case(loss, History(tuple(phases)), facts)


def draw_batches(rng: random.Random) -> Case:
    """A fixed cyclic partition, then full batches on what remains."""
    loss, step_size = draw_loss(rng)
    sizes = tuple(rng.randint(20, 400) for _ in range(rng.randint(2, 12)))
    gone = (*(rng.randint(0, size // 10) for size in sizes[:-1]), 1)
    sigma, records = 10 ** rng.uniform(-1, 1), sum(sizes)
    steps = rng.randint(1, 200)
    learn = Phase(steps, step_size, sigma, records, sum(gone), batches=gone, batch_size=sizes)
    rest = Phase(rng.randint(1, 50), step_size, sigma, records - sum(gone))
    return Case(loss, History((learn, rest)), {"strategy": "langevin", **draw_facts(rng)})


def draw_poisson(rng: random.Random) -> Case:
    """Realised Poisson batches."""
    loss, step_size = draw_loss(rng)
    records, forgotten = rng.randint(200, 5_000), rng.randint(1, 20)
    rate, steps, sigma = rng.uniform(0.02, 0.5), rng.randint(1, 60), 10 ** rng.uniform(-1, 1)
    counts = tuple(
        (int(rate * (records - forgotten)), rng.randint(0, min(forgotten, 3))) for _ in range(steps)
    )
    drawn = Poisson(rate, counts)
    learn = Phase(steps, step_size, sigma, records, forgotten, poisson=drawn)
    rest = Phase(rng.randint(1, 50), step_size, sigma, records - forgotten)
    return Case(loss, History((learn, rest), "fixed"), {"strategy": "langevin", **draw_facts(rng)})


def draw_noise_first(rng: random.Random) -> Case:
    """Clean learning, one noisy step, clean descent."""
    loss, step_size = draw_loss(rng)
    records, forgotten = rng.randint(200, 20_000), rng.randint(1, 20)
    phases = [
        Phase(rng.randint(1, 300), step_size, 0.0, records, forgotten),
        Phase(1, step_size, 10 ** rng.uniform(-1, 1), records - forgotten),
    ]
    if rng.random() < 0.7:
        phases.append(Phase(rng.randint(1, 50), step_size, 0.0, records - forgotten))
    facts = {"strategy": "noise_first", **draw_facts(rng)}
    return Case(loss, History(tuple(phases)), facts)


def draw_residual(rng: random.Random) -> Case:
    """One draw around a solution, for linear models and heads of networks."""
    records, forgotten = rng.randint(200, 20_000), rng.randint(1, 100)
    loss = Assumptions(
        strong_convexity=0.0,
        smoothness=0.0,
        lipschitz=1.0,
        initial_distance=10 ** rng.uniform(-9, -3),
        marks=draw_marks(rng, "initial_distance", "lipschitz"),
    )
    history = History((Phase(1, 0.5, 10 ** rng.uniform(-8, -1), records - forgotten),))
    strategy = rng.choice(["residual", "head", "head+finetune"])
    return Case(loss, history, {"strategy": strategy, "records": records, **draw_facts(rng)})


def draw_clipped(rng: random.Random) -> Case:
    """Noisy clipped steps from any point of a ball."""
    records, forgotten = rng.randint(200, 20_000), rng.randint(1, 100)
    loss = Assumptions(
        clip=10 ** rng.uniform(-1, 1),
        weight_decay=rng.uniform(0.01, 0.9),
        initial_distance=rng.uniform(0.1, 5),
        radius=rng.choice([None, 3.0]),
        marks=draw_marks(rng, "clip", "weight_decay", "initial_distance"),
    )
    steps, sigma = rng.randint(1, 60), 10 ** rng.uniform(0, 2)
    history = History((Phase(steps, 1.0, sigma, records - forgotten),))
    return Case(loss, history, {"strategy": "clipped", "records": records, **draw_facts(rng)})


def draw_clipped_descent(rng: random.Random) -> Case:
    """Learning with clipped gradients, smooth or not."""
    case = draw_langevin(rng)
    smoothness = rng.choice([None, rng.uniform(0.5, 2)])
    decay = rng.uniform(0.01, 0.4)
    loss = Assumptions(clip=rng.uniform(0.1, 2), weight_decay=decay, smoothness=smoothness)
    return case._replace(assumptions=loss)


def draw_retrain(rng: random.Random) -> Case:
    """Trained anew: nothing of the forgotten records is left."""
    records, forgotten = rng.randint(200, 20_000), rng.randint(1, 100)
    loss = Assumptions(strong_convexity=0.0, smoothness=0.0, lipschitz=1.0)
    history = History((Phase(1, 0.5, 0.0, records - forgotten),))
    return Case(loss, history, {"strategy": "retrain", "records": records})


def draw_other_strategy(rng: random.Random) -> Case:
    """A strategy of another package, which states its comparator."""
    case = draw_langevin(rng)
    word = {"strategy": "amnesia", "comparator": "a fresh start", "forgotten": rng.randint(0, 9)}
    return case._replace(facts=word)


def draw_loss(rng: random.Random) -> tuple[Assumptions, float]:
    """Constants of a loss in one of the three regimes, and a step size that it allows."""
    smoothness = 10 ** rng.uniform(-1, 1)
    modulus = rng.choice([rng.uniform(0.01, 0.9) * smoothness, 0.0, None])
    radius = rng.choice([None, None, rng.uniform(0.3, 5)])
    loss = Assumptions(
        strong_convexity=modulus,
        smoothness=smoothness,
        lipschitz=10 ** rng.uniform(-1, 0.5),
        radius=radius,
        marks=draw_marks(rng, "strong_convexity", "smoothness", "lipschitz", "radius"),
    )
    largest = 0.02 if modulus is None else 1.9  # without convexity distances grow
    return loss, rng.uniform(0.01, 1) * largest / smoothness


def draw_marks(rng: random.Random, *names: str) -> dict[str, Any]:
    return {name: rng.choice(MARKS) for name in names}


def draw_facts(rng: random.Random) -> dict[str, Any]:
    """What else may be stated of any history."""
    noise, labels, state = (
        rng.choice([None, "operating system", "seeded"]),
        rng.choice([None, "declared", "public", "private"]),
        rng.choice([None, "sole", "copied"]),
    )
    return {
        "earlier_releases": rng.choice([None, "not covered"]),
        "provenance": {"noise": noise, "labels": labels, "state": state},
        "declared": rng.choice([[], ["the caller's line"]]),
    }


KINDS: dict[str, Callable[[random.Random], Case]] = {
    "langevin": draw_langevin,
    "releases": draw_releases,
    "capacity": draw_capacity,
    "batches": draw_batches,
    "poisson": draw_poisson,
    "noise_first": draw_noise_first,
    "residual": draw_residual,
    "clipped": draw_clipped,
    "clipped descent": draw_clipped_descent,
    "retrain": draw_retrain,
    "another package's strategy": draw_other_strategy,
}


def certified(count: int) -> Iterator[dict[str, Any]]:
    """What so many certificates say, each kind in turn."""
    kinds = list(KINDS)
    for i in range(count):
        kind = kinds[i % len(kinds)]
        rng = random.Random(f"certificates {i}")
        case = KINDS[kind](rng)
        delta, orders = 10 ** rng.uniform(-8, -4), rng.choice([[2.0, 8.0], [1.5, 32.0], [2.0]])
        yield {"case": i, "kind": kind, **_said(case, delta, orders)}


def _said(case: Case, delta: float, orders: list[float]) -> dict[str, Any]:
    """The numbers and words of one certificate, or why there is none."""
    try:
        judged = account(case.assumptions, case.history, delta=delta, orders=orders).document()
        stated = Stated.model_validate({**case.facts, "issued": "2026-01-02T03:04:05Z"})
        certificate = issue(
            case.assumptions, case.history, delta=delta, orders=orders, stated=stated
        )
    except (Refused, InvalidInput) as error:
        return {"refused": str(error)}
    body = certificate.model_dump(mode="json")
    names = ("claim", "reservations", "observer", "regime", "assumptions", "scope", "not_claimed")
    facts = ("strategy", "comparator", "records", "forgotten", "earlier_releases")
    assert isinstance(judged["bounds"], dict)
    ours = {name: figures for name, figures in judged["bounds"].items() if ":" not in name}
    return {
        **{name: body[name] for name in (*names, *facts)},
        "bounds": ours,
        "best": judged["best"],
        "best_reason": judged["best_reason"],
        "sha256": certificate.sha256,
    }


def compare(new: list[dict[str, Any]], old: list[dict[str, Any]]) -> list[str]:
    """Every case and field that differs; the hash of the whole document is not compared."""
    differing = [] if len(new) == len(old) else [f"{len(new)} certificates against {len(old)}"]
    for after, before in zip(new, old, strict=False):
        fields = [
            name
            for name in sorted({*after, *before} - {"sha256"})
            if after.get(name) != before.get(name)
        ]
        if fields:
            differing.append(f"case {after['case']} ({after['kind']}): {', '.join(fields)}")
    return differing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--to", type=Path, required=True, help="JSON lines are written here")
    parser.add_argument("--against", type=Path, help="JSON lines of the code before")
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    said = [json.loads(json.dumps(line)) for line in certified(options.count)]
    options.to.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in said))
    issued = Counter(line["kind"] for line in said if "refused" not in line)
    print(
        f"{issued.total():,} of {len(said):,} issued, the others refused by reason:", dict(issued)
    )
    if options.against is None:
        return 0
    earlier = [json.loads(line) for line in options.against.read_text().splitlines()]
    differing = compare(said, earlier)
    whole = sum(a.get("sha256") == b.get("sha256") for a, b in zip(said, earlier, strict=False))
    print(f"{len(said) - len(differing):,} of {len(said):,} equal; {whole:,} to the last byte")
    print("\n".join(differing[:20]))
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
