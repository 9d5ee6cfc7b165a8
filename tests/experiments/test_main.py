"""Experiments are found, run at smoke scale, and name what is unknown."""

import subprocess
import sys
from pathlib import Path

import pytest

from experiments.running import names, provenance

ROOT = Path(__file__).parents[2]


def experiments(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "experiments", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_folder_with_a_run_is_listed():
    assert {"errata", "required_noise"} <= set(names())
    listed = experiments("list").stdout
    assert all(name in listed for name in names())


def test_an_unknown_experiment_is_named():
    done = experiments("run", "no_such_thing")
    assert done.returncode != 0
    assert "no_such_thing: unknown" in done.stderr


@pytest.mark.slow
def test_a_smoke_run_leaves_nothing_behind():
    before = {p: p.stat().st_mtime_ns for p in (ROOT / "experiments").glob("*/results/*")}
    assert experiments("run", "--all", "--scale", "smoke").returncode == 0
    after = {p: p.stat().st_mtime_ns for p in (ROOT / "experiments").glob("*/results/*")}
    assert after == before


def test_results_say_where_they_come_from():
    assert provenance()["versions"]["numpy"]
