"""The proven distance of Newton steps against the truth at 50 digits, on many random problems.

    python -m tests.unlearning.linear.compare_distances --problems 5000 --seed 0 --jobs 16

Goes on from where the results file ends, so that it can be stopped at any time; the committed
results are tests/unlearning/linear/compared_distances.json. Needs torch, numpy, scipy and mpmath,
and nothing else. Each problem is one of `deletions.random_deletions`: up to 200 requests, rows that
join among them, compared after the first request and at five more places up to the last.
`--problems 0` only writes the committed counts into docs/pass_free.md.
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
PAGE = Path(__file__).parents[3] / "docs/pass_free.md"
MARK, END = "<!-- tests/unlearning/linear/compared_distances.json -->\n", "<!-- end -->"


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


def show(totals):
    """Write the counts into the page that states them."""
    before, _, rest = PAGE.read_text().partition(MARK)
    PAGE.write_text(before + MARK + sentence(totals) + END + rest.partition(END)[2])


def sentence(totals):
    """What the campaign found."""
    whole = totals["all"]
    ratios = ", ".join(
        f"{totals[kind]['least ratio']:.4g} ({kind})" for kind in ("logistic", "softmax", "squared")
    )
    return (
        f"By hand, {whole['problems']:,} random problems with up to {whole['most requests']} "
        f"requests, {whole['joined']:,} rows joining among them,\ngave {whole['compared']:,} "
        f"comparisons with minimisers at 50 digits, {whole['below'] or 'none'} below the truth; "
        f"the least\nratios of bound to truth were {ratios}.\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    totals = run(options.problems, options.seed, options.jobs, options.results)
    if options.results == RESULTS:
        show(totals)
    for name, total in totals.items():
        print(
            f"{name}: {total['problems']:,} problems, {total['compared']:,} comparisons, "
            f"{total['below']} below the truth, least ratio {total['least ratio']:.4g}"
        )


if __name__ == "__main__":
    main()
