"""A pytest plugin: every test draws the same numbers in every run, in any order, on any worker.

What `expunge` asks of the operating system (noise of releases and of descents, salts, names of
files) comes from a generator that is seeded by the name of the test, or of the fixture where one
draws; so do the global generators of torch, NumPy and Python. A test that must see the system's
own randomness says so:

    @pytest.mark.system_randomness  # and computes in its body how often it fails on correct code

Out of reach are child processes, which draw from the system. `tests/test_repeatable.py` holds the
list of both against the source.
"""

import hashlib
import os
import random
import secrets
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

try:  # not on a bare machine with a GPU
    from hypothesis import settings
except ImportError:
    pass
else:
    settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
    settings.load_profile("repeatable")

__all__ = ["MARK", "drawn_here", "seeded", "start_from"]

MARK = "system_randomness"
SEEDED = "expunge", "experiments"  # callers whose randomness is replaced; libraries keep theirs

_generator: np.random.Generator | None = None  # None: the system's own


def seeded(name: str) -> np.random.Generator:
    """The generator that stands in for the system where this name draws."""
    return np.random.default_rng(_seed(name))


def drawn_here() -> bool:
    """Whether a draw now comes from a seed."""
    return _generator is not None


def _seed(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def start_from(name: str, *, system: bool = False) -> None:
    """From here on randomness follows from the name."""
    global _generator
    _generator = None if system else seeded(name)
    short = _seed(name) % 2**32
    random.seed(short)
    np.random.seed(short)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(short)


def _replace(module: Any, name: str, stand_in: Callable[..., Any]) -> None:
    """Where a package of ours calls `module.name` and a seed is set, the stand-in answers."""
    plain = getattr(module, name)

    def dispatched(*arguments: Any, **options: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
        if _generator is None or caller not in SEEDED:
            return plain(*arguments, **options)
        return stand_in(_generator, *arguments, **options)

    setattr(module, name, dispatched)


def _default_rng(generator: np.random.Generator, seed: Any = None) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(generator.integers(2**63) if seed is None else seed))


def _on_our_own_in_children() -> None:
    """Two children of a fork would draw the same salts and names."""
    global _generator
    _generator = None


_replace(os, "urandom", lambda generator, size: generator.bytes(size))
_replace(secrets, "token_bytes", lambda generator, size=32: generator.bytes(size))
_replace(secrets, "token_hex", lambda generator, size=32: generator.bytes(size).hex())
_replace(
    secrets,
    "randbits",
    lambda generator, bits: int.from_bytes(generator.bytes(bits // 8 + 1), "big") % 2**bits,
)
_replace(np.random, "default_rng", _default_rng)
os.register_at_fork(after_in_child=_on_our_own_in_children)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARK}: draws from the operating system, and computes how often it fails"
    )


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    start_from(collector.nodeid)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Iterator[None]:
    """Shared by several tests, the same whichever of them comes first."""
    global _generator
    before = _generator
    index = getattr(request, "param_index", 0)
    start_from(f"{fixturedef.baseid}::{fixturedef.argname}[{index}]")
    try:
        return (yield)
    finally:
        _generator = before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    start_from(item.nodeid, system=item.get_closest_marker(MARK) is not None)
    return (yield)
