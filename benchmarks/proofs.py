"""What a proof costs: a certificate of 100 requests, a whole `expunge verify`, many long cycles."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from expunge.accounting import Assumptions, History, Phase
from expunge.accounting.bounds import shift
from expunge.accounting.certificate import Certificate
from expunge.accounting.checker import check_figures, prove_mu
from expunge.accounting.issue import issue

__all__ = ["measure"]

LOSS = Assumptions(strong_convexity=0.0119, smoothness=0.2619, lipschitz=1.0)
RECORDS = 33_000
LIBRARIES = "import numpy, scipy.optimize, scipy.special"


def measure() -> list[dict[str, object]]:
    """Measure proofs of certificates."""
    return [
        certificate_speed("100 requests", released=False),
        certificate_speed("100 requests, every model released", released=True),
        verify_speed(),
        long_cycles(),
    ]


def certificate_of_requests(count: int, *, released: bool) -> Certificate:
    """Learning and so many requests of a record each."""
    phases = [
        Phase(100 if i else 10_000, 3.8, 0.3, RECORDS - i, count - i, released=released)
        for i in range(count + 1)
    ]
    return issue(LOSS, History(tuple(phases)), delta=1e-6)


def certificate_speed(name: str, *, released: bool) -> dict[str, object]:
    """Measure the checker alone on a certificate of 100 requests, in milliseconds."""
    certificate = certificate_of_requests(100, released=released)
    claim, case = certificate.claim, certificate.records_of_history()
    assert certificate.witness is not None
    assert claim.mu is not None
    witness, mu = certificate.witness.record(), claim.mu

    def prove() -> None:
        assert prove_mu(*case, witness) <= mu
        check_figures(mu, epsilon=claim.epsilon, delta=claim.delta, renyi=claim.renyi)

    return {
        "name": f"ms to prove a certificate: {name}",
        "ratio": 1e3 * cpu_seconds(20, prove),
        "limit": 30.0,
    }


def verify_speed() -> dict[str, object]:
    """Measure a whole `expunge verify` against importing numpy and scipy."""
    expunge = Path(sys.executable).with_name("expunge")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "certificate.json"
        file.write_text(certificate_of_requests(100, released=False).readable())
        commands = {
            "imports": [sys.executable, "-c", LIBRARIES],
            "verify": [str(expunge), "verify", str(file)],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(15):  # in turn, so that both see the same machine
            for name, command in commands.items():
                start = time.perf_counter()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                times[name].append(time.perf_counter() - start)
    seconds = {name: statistics.median(values) for name, values in times.items()}
    return {
        "name": "expunge verify over importing numpy and scipy",
        "ratio": seconds["verify"] / seconds["imports"],
        "limit": 3.0,
        "seconds": seconds,
    }


def long_cycles() -> dict[str, object]:
    """Measure 300 cyclic phases of 100 batches and 10,000 steps each, in seconds."""
    batches, requests = 100, 300
    phases = []
    for i in range(requests + 1):
        gone = [0] * batches
        for j in range(requests - i):
            gone[7 * j % batches] += 1
        samples = 100 * batches - i
        learn = Phase(10_000, 3.8, 0.3, samples, requests - i, batches=tuple(gone), batch_size=100)
        phases.append(learn)
    history = History(tuple(phases), "fixed", 100 * batches)
    witness = shift.bound(LOSS, history).witness
    return {
        "name": "seconds to prove 300 cyclic phases of 100",
        "ratio": cpu_seconds(3, lambda: prove_mu(LOSS, history, witness)),
        "limit": 3.0,
    }


def cpu_seconds(repeats: int, work: Callable[[], object]) -> float:
    """The median processor time of several runs: a proof is one thread and waits for nothing."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)
