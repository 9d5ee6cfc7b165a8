"""A pytest plugin: which tests run which functions of the package, written as JSON.

    REACHED=out.json python -m pytest -p tests.mutation.reach tests/audit/test_rates.py

A test that does not run a function cannot notice a fault in it, so a mutant need not be held
against it. What runs while tests are collected or set up may serve all tests of the file and is
put down to all of them. Child processes are out of sight.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

__all__ = ["EVERY", "OUTPUT", "reaching"]

EVERY = "*"  # in place of a test's name: every test of the file
OUTPUT = "REACHED"  # the environment variable that names the file to write

_root = f"{Path.cwd() / 'expunge'}{os.sep}"
_tests: dict[str, set[str]] = {}  # "file function" to the tests that run it
_running = EVERY


def reaching(reached: dict[str, list[str]], file: str, function: str) -> list[str] | None:
    """The tests that run a function, EVERY among them for all; None where none was seen to.

    Args:
        function: Dotted, as `Mutant.function`; one inside another is run where the outer one is.
    """
    parts = function.split(".")
    names = [f"{file} {'.'.join(parts[:length])}" for length in range(1, len(parts) + 1)]
    return next((reached[name] for name in names if name in reached), None)


def _trace(frame: FrameType, event: str, argument: object) -> None:
    code = frame.f_code
    if code.co_filename.startswith(_root):
        file = f"expunge/{code.co_filename[len(_root) :]}"
        outermost = code.co_qualname.split(".<locals>")[0]
        _tests.setdefault(f"{file} {outermost}", set()).add(_running)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    global _running
    _running = item.nodeid.split("[")[0]
    yield
    _running = EVERY


def pytest_sessionfinish() -> None:
    sys.settrace(None)
    told = {name: sorted(tests) for name, tests in _tests.items()}
    Path(os.environ[OUTPUT]).write_text(json.dumps(told))


if OUTPUT in os.environ:
    threading.settrace(_trace)
    sys.settrace(_trace)
