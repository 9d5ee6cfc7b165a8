"""How the solver scales, what 10^12 steps cost, and how fast the command line starts."""

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from expunge.accounting import Assumptions, History, Phase, account
from expunge.accounting.bounds.taut_string import pull
from expunge.accounting.moduli import Contraction, Run

__all__ = ["measure"]


def measure() -> list[dict[str, object]]:
    """Measure the solver, long phases and the start of the command line."""
    return [solver_scaling(), long_phases(), help_speed()]


def solver_scaling() -> dict[str, object]:
    """Measure the solver on 10^6 distinct steps against 10^5."""
    small, large = distinct_steps(10**5), distinct_steps(10**6)
    seconds = {n: median_of(3, lambda runs=runs: pull(runs)) for n, runs in
               (("1e5", small), ("1e6", large))}  # fmt: skip
    return {
        "name": "solver: 10^6 distinct steps over 10^5",
        "ratio": seconds["1e6"] / seconds["1e5"],
        "limit": 12.0,
        "seconds": seconds,
    }


def distinct_steps(count: int) -> list[Run]:
    """Steps with random contractions, shifts and noises."""
    rng = random.Random(0)
    factors = [Contraction.of(rng.uniform(0.9, 1.05)) for _ in range(1000)]
    return [
        Run(1, factors[k % 1000], rng.uniform(0, 1) * (k % 3 == 0), rng.uniform(0.5, 1))
        for k in range(count)
    ]


def long_phases() -> dict[str, object]:
    """Measure a history of 2 x 10^12 steps against one of 2 x 10 steps."""
    loss = Assumptions(strong_convexity=0.0119, smoothness=0.2619, lipschitz=1.0)

    def judge(steps: int) -> None:
        phases = (Phase(steps, 3.8, 0.3, 3000, 30), Phase(steps, 3.8, 0.3, 2970))
        account(loss, History(phases), delta=1e-5)

    seconds = {
        "10": median_of(20, lambda: judge(10)),
        "1e12": median_of(20, lambda: judge(10**12)),
    }
    return {
        "name": "account: 10^12 steps a phase over 10",
        "ratio": seconds["1e12"] / seconds["10"],
        "limit": 5.0,
        "seconds": seconds,
    }


def help_speed() -> dict[str, object]:
    """Measure `expunge plan --help` against `python -c pass`."""
    expunge = Path(sys.executable).with_name("expunge")
    commands = {"pass": [sys.executable, "-c", "pass"], "help": [str(expunge), "plan", "--help"]}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(15):  # in turn, so that both see the same machine
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            times[name].append(time.perf_counter() - start)
    seconds = {name: statistics.median(values) for name, values in times.items()}
    return {
        "name": "expunge plan --help over python -c pass",
        "ratio": seconds["help"] / seconds["pass"],
        "limit": 25.0,
        "seconds": seconds,
    }


def median_of(repeats: int, work: Callable[[], object]) -> float:
    """The median seconds of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
