"""The example package, installed once for the tests in this folder."""

from pathlib import Path

import pytest

from tests.foreign.example import install_example


@pytest.fixture(scope="session")
def example(tmp_path_factory) -> Path:
    return install_example(tmp_path_factory.mktemp("foreign"))
