"""What experiments take at the scale `cpu` is measured, noted and told."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docs import runs
from experiments import __main__, timing
from experiments.running import names


@pytest.fixture
def noted(tmp_path, monkeypatch):
    """A file of its own to note in; runs that say what they are told to have taken."""
    monkeypatch.setattr(timing, "TIMES", tmp_path / "cpu_seconds.json")

    def says(seconds):
        def execute(name: str, scale: str, *, output: Path) -> None:
            assert scale == "cpu"
            output.mkdir(exist_ok=True)
            result = {"seconds": seconds, "device": "CPU", "commit": "abc"}
            (output / "cpu.json").write_text(json.dumps(result))

        monkeypatch.setattr(timing, "execute", execute)

    says(0.0)
    return says


def test_a_run_is_noted_beside_the_others(noted):
    for name in ("known_answers", "errata"):
        timing.note(name)
    found = timing.times()
    assert list(found) == ["errata", "known_answers"]
    assert found["errata"]["commit"] == "abc"
    assert found["errata"]["seconds"] < 60
    assert found["errata"]["processor_seconds"] is not None


def test_blocks_that_are_kept_count_with_the_seconds_they_took(noted):
    noted({"one": 200.0, "another": 300.5})
    row = timing.note("ulira_reviews")
    assert row["seconds"] == 500.5
    assert row["processor_seconds"] is None


def test_parts_of_a_stopped_run_are_not_measured(noted, tmp_path, monkeypatch):
    monkeypatch.setattr(timing, "ROOT", tmp_path)
    (tmp_path / "errata/results/unfinished").mkdir(parents=True)
    with pytest.raises(SystemExit, match="parts of a stopped run"):
        timing.note("errata")
    assert timing.times() == {}


def test_the_command_line_keeps_results_where_it_is_told(noted, tmp_path):
    done = CliRunner().invoke(__main__.app, ["time", "errata", "--output", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "errata: " in done.output
    assert (tmp_path / "errata/cpu.json").exists()


def test_every_experiment_is_in_the_table_and_what_takes_too_long_is_bold(monkeypatch):
    row = {"seconds": 700.0, "processor_seconds": 650.0, "threads": 1, "commit": "abc"}
    idle = row | {"processor_seconds": 500.0}  # the machine did other work
    found = {"errata": row, "networks": idle, "frontier": idle | {"threads": 2}}
    monkeypatch.setattr(runs, "times", lambda: found)
    table = runs.times_table()
    assert all(f"| `{name}` |" in table for name in names())
    assert "| `errata` | **700** | 650 | 1 | abc |" in table
    assert "| `networks` | 700 | 500 | 1 | abc |" in table
    assert "| `frontier` | **700** | 500 | 2 | abc |" in table
