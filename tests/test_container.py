"""The container file without a container: it is read, and its steps run in a copy of the tree."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.test_packaging import PROJECT

ROOT = Path(__file__).parents[1]
TARGETS = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
# Steps that do not run here, by how they begin, and why.
ELSEWHERE = {
    "apt-get ": "installs packages of the system, as root",
    "useradd ": "makes a user, as root",
    'test -z "$TORCH_INDEX" ||': "installs from an index that whoever builds names",
}


def instructions(text: str) -> list[tuple[str, str]]:
    """Each instruction with what it is given; lines that go on are joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines())]


STEPS = instructions((ROOT / "Containerfile").read_text())


def of(word: str) -> list[str]:
    return [rest for given, rest in STEPS if given == word]


def runs_here(step: str) -> bool:
    return not any(step.startswith(start) for start in ELSEWHERE)


def copied(folder: Path) -> Path:
    """What `COPY . .` takes: the tree without what `.dockerignore` names."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    names = [line.removeprefix("**/") for line in lines if not line.startswith("#")]
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*names))
    return folder


def test_it_starts_from_a_python_that_is_supported_and_leaves_root_before_files_come():
    (image,) = of("FROM")
    (version,) = re.findall(r"^python:(3\.\d+)-slim$", image)
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
    words = [word for word, _ in STEPS]
    assert words.index("USER") < words.index("COPY")
    assert of("USER") == ["expunge"]


def test_it_runs_the_demo_and_with_a_word_every_other_target():
    assert [json.loads(rest) for rest in of("ENTRYPOINT")] == [["make"]]
    assert [json.loads(rest) for rest in of("CMD")] == [["demo"]]
    assert {"setup", "demo", "test"} <= TARGETS


def test_every_step_that_does_not_run_here_is_on_the_list_and_nothing_else():
    steps = of("RUN")
    assert all(any(step.startswith(start) for step in steps) for start in ELSEWHERE)
    assert [step for step in steps if runs_here(step)] == ["make setup"]


def test_ignored_and_secret_things_are_not_copied():
    ignored = set((ROOT / ".dockerignore").read_text().splitlines())
    for line in (ROOT / ".gitignore").read_text().splitlines():
        place = line.strip("/")
        if "/results/" not in f"/{place}/" and not place.endswith(".baseline.json"):
            assert {place, f"**/{place}"} & ignored, line
    assert ".git" in ignored


@pytest.mark.slow
def test_its_steps_make_an_environment_in_which_the_demo_runs(tmp_path):
    tree = copied(tmp_path / "expunge")
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    asked = f"make {json.loads(of('CMD')[0])[0]}"
    for step in [*filter(runs_here, of("RUN")), asked]:
        done = subprocess.run(
            step, shell=True, cwd=tree, env=kept, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (step, done.stderr)
    assert (tree / "demo/report.html").stat().st_size > 0
