"""Tests and examples in the docs draw the same numbers in every run: `tests/repeatable.py`.

Examples of a page run in a folder that holds the sample files of the docs and nothing else. Those
of docs/mlflow.md need a package that the development environment does not have: `make mlflow`.
"""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest_plugins = ["tests.repeatable"]
collect_ignore = [] if find_spec("mlflow") else ["docs/mlflow.md"]
SAMPLES = Path(__file__).parent / "docs/samples"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if item.path.suffix != ".md":
        return (yield)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shutil.copytree(SAMPLES, folder, dirs_exist_ok=True)
        return (yield)
