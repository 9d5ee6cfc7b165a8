"""Faults planted in the accountant are caught by the checker alone.

Faults are drawn by a seed from every small change of `moduli`, `shift` and `taut_string`. One that
lets the accountant report too small a mu for some history is unsound: for that history the checker
must reject the witness or prove a larger mu. Others are loose, change nothing here, or crash.
"""

import functools
import importlib
import itertools
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import expunge
from expunge.accounting import checker
from expunge.errors import InvalidInput
from tests.accounting.random_histories import REGIMES, Case, draw
from tests.mutation.operators import Mutant, places
from tests.mutation.operators import draw as draw_mutants

BOUNDS = "expunge.accounting.bounds"
CHAIN = (  # modules in the order of their imports
    "expunge.accounting.moduli",
    f"{BOUNDS}.taut_string",
    f"{BOUNDS}.pieces",
    f"{BOUNDS}.corners",
    f"{BOUNDS}.shift",
)
FAULTY = ("expunge.accounting.moduli", f"{BOUNDS}.taut_string", f"{BOUNDS}.shift")
UNSOUND = 1e-9  # relative: what a fault must take from mu to count


def source_of(module: str) -> str:
    return (Path(expunge.__file__).parents[1] / f"{module.replace('.', '/')}.py").read_text()


@contextmanager
def planted(module: str, mutant: Mutant) -> Iterator[ModuleType]:
    """The shift bound with a fault in one of the modules that it rests on."""
    kept = {name: sys.modules.pop(name) for name in CHAIN}
    try:
        faulty = ModuleType(module)
        sys.modules[module] = faulty
        exec(compile(mutant.planted(source_of(module)), module, "exec"), faulty.__dict__)
        yield importlib.import_module(f"{BOUNDS}.shift")
    finally:
        sys.modules.update(kept)
        for name, original in kept.items():
            parent, _, attribute = name.rpartition(".")
            setattr(sys.modules[parent], attribute, original)


class TooLong(Exception):
    """A fault that does not end."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def verdict(module: str, mutant: Mutant, cases: list[tuple[Case, float]]) -> str:
    """`caught` or `missed` for an unsound fault; else `harmless here` or `crashes`."""
    seen = Counter()
    try:
        with at_most(20), planted(module, mutant) as shift:
            for case, right in cases:
                seen[_case_verdict(shift, case, right)] += 1
    except TooLong:
        seen["crashes"] += 1
    except Exception:  # a fault may break anything, also while modules load
        seen["crashes"] += 1
    return next(kind for kind in ("missed", "caught", "crashes", "harmless here") if seen[kind])


def _case_verdict(shift: ModuleType, case: Case, right: float) -> str:
    try:
        shifted = shift.bound(*case)
        witness = shifted.witness
    except TooLong:
        raise
    except Exception:
        return "crashes"
    if shifted.mu >= right * (1 - UNSOUND):
        return "harmless here"
    try:
        proven = checker.prove_mu(*case, witness)
    except InvalidInput:
        return "caught"
    return "caught" if proven > shifted.mu else "missed"


@functools.cache
def drawn_cases(each: int) -> list[tuple[Case, float]]:
    """Histories of every regime with the mu that the sound accountant gives them."""
    cases = []
    for regime in REGIMES:
        drawn = (draw(regime, number, seed=5) for number in itertools.count())
        kept = ((case, shifted.mu) for case, shifted in drawn if shifted.mu > 1e-100)
        cases += itertools.islice(kept, each)
    return cases


def drawn_faults(each: int) -> list[tuple[str, Mutant]]:
    return [
        (module, mutant)
        for module in FAULTY
        for mutant in draw_mutants(places(source_of(module), module), each, seed=0)
    ]


@pytest.mark.slow
def test_every_unsound_fault_drawn_by_the_seed_is_caught_by_the_checker():
    cases = drawn_cases(4)
    verdicts = {
        (module, mutant.line, mutant.after): verdict(module, mutant, cases)
        for module, mutant in drawn_faults(60)
    }
    missed = [fault for fault, kind in verdicts.items() if kind == "missed"]
    counts = Counter(verdicts.values())
    print(dict(counts))
    assert missed == []
    assert counts["caught"] >= 20
    caught = {fault[0] for fault, kind in verdicts.items() if kind == "caught"}
    assert caught == set(FAULTY)


FAULTS = {  # one of each kind, for every run of the suite
    "no factor 2": ("expunge.accounting.moduli", "sides = 1 if", "sides = 1 if True or"),
    "curvature forgotten": (
        "expunge.accounting.moduli",
        "max(abs(1 - eta * least), abs(1 - eta * most))",
        "abs(1 - eta * most)",
    ),
    "no rounding": ("expunge.accounting.moduli", "if not (parted and phase.rounding)", "if True"),
    "a chord unchecked": (f"{BOUNDS}.taut_string", "a.s * b.v > b.s * a.v * b.c", "True"),
    "half the noise": (f"{BOUNDS}.taut_string", "PooledSteps(s, nu * nu, c, 1)",
                       "PooledSteps(s, nu * nu * 4, c, 1)"),
    "one stretch forgotten": (f"{BOUNDS}.shift", "if pulled.string.mu]",
                              "if pulled.string.mu][:1]"),
    "start forgotten": (f"{BOUNDS}.shift", "distance = assumptions.initial_distance",
                        "distance = 0.0"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_caught_by_the_checker(name):
    module, before, after = FAULTS[name]
    source = source_of(module)
    start = source.encode().index(before.encode())
    assert source.count(before) == 1
    mutant = Mutant(module, "", 0, name, before, after, start, start + len(before.encode()), after)
    assert verdict(module, mutant, drawn_cases(4)) == "caught"


def test_without_a_fault_nothing_is_caught():
    mutant = Mutant(FAULTY[0], "", 0, "none", "", "", 0, 0, "")
    assert verdict(FAULTY[0], mutant, drawn_cases(4)) == "harmless here"
