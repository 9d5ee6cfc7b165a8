"""The proven distance of Newton steps against the truth at 50 digits, on many random problems.

    python -m tests.unlearning.linear.compare_distances --problems 5000 --seed 0 --jobs 16

Goes on from where the results file ends, so that it can be stopped at any time; the committed
results are tests/unlearning/linear/compared_distances.json. Needs torch, numpy, scipy and mpmath,
and nothing else. Each problem is one of `deletions.random_deletions`: up to 200 requests, rows that
join among them, compared after the first request and at five more places up to the last.
"""

import argparse
import json
import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import torch

from tests.unlearning.linear.deletions import distance, optimum, random_deletions

RESULTS = Path(__file__).with_name("compared_distances.json")
CHECKPOINTS = 5
SAVED_EVERY = 100


def compare(deletions, checkpoints=CHECKPOINTS, spoil=lambda anchor, _: anchor):
    """Bounds and true distances after some of the requests; where nothing is proven, none."""
    states = list(deletions.states())
    for place in places(len(states), checkpoints):
        anchor, present = states[place]
        step = deletions.step(spoil(anchor, place))
        if math.isfinite(step.distance):
            yield step.distance, distance(step.theta, optimum(deletions, present, step.theta))


def places(requests, checkpoints):
    """After which requests there is a comparison."""
    return sorted({round(i * (requests - 1) / checkpoints) for i in range(checkpoints + 1)})


def judge(number, seed):
    """What comes of one problem."""
    problem = random_deletions([seed, number])
    requests = len(problem.requests)
    pairs = list(compare(problem))
    return {
        "drawn": problem.drawn,
        "requests": requests,
        "joined": sum(joins for request in problem.requests for _, joins in request),
        "compared": len(pairs),
        "nothing proven": len(places(requests, CHECKPOINTS)) - len(pairs),
        "below": sum(bound < truth for bound, truth in pairs),
        "least ratio": min((float(b / t) for b, t in pairs if t > 0), default=math.inf),
    }


def add(totals, judged):
    """Count one more problem, in all and under each name of its kind."""
    for name in ("all", *judged["drawn"]):
        total = totals.setdefault(name, {"problems": 0})
        total["problems"] += 1
        for count in ("requests", "joined", "compared", "nothing proven", "below"):
            total[count] = total.get(count, 0) + judged[count]
        total["most requests"] = max(total.get("most requests", 0), judged["requests"])
        total["least ratio"] = min(total.get("least ratio", math.inf), judged["least ratio"])


def run(problems, seed, jobs, results):
    """Compare so many problems in all, going on from the results file."""
    done = {"seed": seed, "totals": {}}
    if results.is_file():
        earlier = json.loads(results.read_text())
        done = earlier if earlier["seed"] == seed else done
    first = done["totals"].get("all", {"problems": 0})["problems"]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, spawn, torch.set_num_threads, (1,)) as pool:
        numbers = range(first, problems)
        for judged in pool.map(partial(judge, seed=seed), numbers, chunksize=4):
            add(done["totals"], judged)
            if done["totals"]["all"]["problems"] % SAVED_EVERY == 0:
                save(done, results)
    save(done, results)
    return done["totals"]


def save(done, results):
    fresh = results.with_suffix(".new")
    fresh.write_text(json.dumps(done, indent=2) + "\n")
    fresh.replace(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    totals = run(options.problems, options.seed, options.jobs, options.results)
    for name, total in totals.items():
        print(
            f"{name}: {total['problems']:,} problems, {total['compared']:,} comparisons, "
            f"{total['below']} below the truth, least ratio {total['least ratio']:.4g}"
        )


if __name__ == "__main__":
    main()
