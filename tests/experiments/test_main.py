"""Experiments are found, run at smoke scale, and name what is unknown."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import running
from experiments.running import commit, execute, names, provenance

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


def test_a_scale_that_an_experiment_has_not_names_those_it_has():
    with pytest.raises(SystemExit, match="errata has no scale large; it has smoke, cpu, paper"):
        execute("errata", "large")


@pytest.mark.slow
def test_a_smoke_run_leaves_nothing_behind():
    before = {p: p.stat().st_mtime_ns for p in (ROOT / "experiments").glob("*/results/*")}
    assert experiments("run", "--all", "--scale", "smoke").returncode == 0
    after = {p: p.stat().st_mtime_ns for p in (ROOT / "experiments").glob("*/results/*")}
    assert after == before


def test_results_say_where_they_come_from():
    assert provenance()["versions"]["numpy"]


def test_a_commit_is_dirty_if_code_changed_not_if_results_did(tmp_path):
    def git(*arguments):
        name = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *name, *arguments], cwd=tmp_path, check=True, capture_output=True)

    results = tmp_path / "experiments/one/results/paper.json"
    others = tmp_path / "code.py", tmp_path / "experiments/read_by_one/results/part.json"
    assert commit(tmp_path, ["one"]) is None
    for file in (results, *others):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("1")
    git("init")
    git("add", ".")
    git("commit", "-m", "all")
    clean = commit(tmp_path, ["one"])
    results.write_text("2")
    assert commit(tmp_path, ["one"]) == clean
    assert "dirty" not in clean
    for file in others:
        file.write_text("2")
        assert commit(tmp_path, ["one"]) == f"{clean}-dirty"
        file.write_text("1")


def test_a_run_records_machine_and_seconds(monkeypatch):
    found, ticks = [], iter([100.0, 107.0])
    monkeypatch.setattr(running, "_write", lambda *written: found.append(written[1]))
    monkeypatch.setattr(running.time, "perf_counter", lambda: next(ticks))
    execute("errata", "smoke")
    assert found[0]["device"]
    assert found[0]["seconds"] == 7


def test_rows_are_judged_again_without_being_made_again(tmp_path, monkeypatch):
    path = tmp_path / "paper.json"
    path.write_text('{"commit": "abc", "rows": [1, 2], "verdicts": ["old"]}')
    monkeypatch.setattr(running, "verdicts_of", lambda _: lambda result: [len(result["rows"])])
    monkeypatch.setattr(running, "draw", lambda *_: "drawn")
    assert running.judge("errata", path) == "drawn"
    judged = json.loads(path.read_text())
    assert judged["verdicts"] == [2]
    assert judged["commit"] == "abc"
    assert judged["judged"] == provenance()["commit"]


def test_an_experiment_without_verdicts_cannot_be_judged():
    with pytest.raises(SystemExit, match="errata states no verdicts"):
        running.verdicts_of("errata")


def test_no_experiment_imports_another():
    """What several need lies in modules of `experiments` named for what they hold."""
    others = set(names())
    for name in names():
        for path in sorted((running.ROOT / name).glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and node.module:
                    package, *rest = node.module.split(".")
                    assert (
                        package != "experiments"
                        or rest[:1] == [name]
                        or not (
                            {*rest[:1], *(alias.name for alias in node.names if not rest)} & others
                        )
                    ), f"{path}: {ast.unparse(node)}"
