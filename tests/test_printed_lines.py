"""Every command line and Python block of README and docs runs as printed, in order.

In a folder with the sample files and nothing else. What does not run is on a list, with the reason.

One process runs all command lines: what takes long is to load torch. Python blocks are examples
with their results, which `make test` runs as doctests (`conftest.py` gives them the folder); the
few that show a file as it would be written are run here. Only those of docs/mlflow.md are run by
hand, `make mlflow`, because the development environment has no MLflow.
"""

import importlib.util
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_main import expunge

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHELLS = re.compile(r"^```(bash|sh|shell|py|pycon)\b", re.MULTILINE)
STANDS_FOR = re.compile(r"\b(WORKSPACE|FILE|COLUMN|DIR|TICKET)\b")
# What does not run here, by how it begins, and why. Lines with capitals stand for the reader's own
# names: of these the options are looked up.
ELSEWHERE = {
    "make ": "makes its own environment: .ci/run runs it in a fresh clone",
    "pip install": "installs this package or another one",
    "python -m venv": "installs packages that the development environment must not have",
    "podman ": "no container engine here: tests/test_container.py runs the steps",
    "python -m experiments": "smoke runs of all experiments are `make smoke`; these take longer",
    "export EXPUNGE_DATA=": "needs data that are not in the repository",
    "EXPUNGE_DATA=": "needs data that are not in the repository",
    "expunge demo": "runs in tests/cli/test_demo.py, and takes a minute",
    "expunge verify certificate.json --model": "needs a file that was handed out: test_verify.py",
    "expunge verify certificate.json   ": "of one that an officer was given; README runs the same",
    "expunge verify 3.json": "needs three certificates of one fit: tests/cli/test_verify.py",
    "expunge fit workspace --private private.csv": "is tried in test_declared_schema.py",
    "cat schema.toml": "as the line after it",
    **dict.fromkeys(
        (
            "expunge fit shop --private customers/",
            "expunge refresh shop --engine ray",
            "expunge forget shop --ids requests.txt --engine ray",
        ),
        "starts a cluster, or needs one: tests/workspace/test_refresh.py",
    ),
}


def lines(page: Path) -> list[str]:
    """The command lines of a page; one that goes on in the next is joined."""
    found = []
    for block in CONSOLE.findall(page.read_text(encoding="utf-8")):
        joined = block.replace("\\\n", " ")
        prompted = joined.lstrip().startswith("$")
        for line in joined.splitlines():
            if line.strip() and (line.startswith("$ ") or not prompted):
                found.append(line.removeprefix("$ "))
    return found


def reason(line: str) -> str | None:
    return next((why for start, why in ELSEWHERE.items() if line.startswith(start)), None)


def commands(line: str) -> list[list[str]]:
    """The commands of a line, without its comment."""
    parts, every = shlex.split(line, comments=True), [[]]
    for part in parts:
        if part == "&&":
            every.append([])
        else:
            every[-1].append(part)
    return every


RUN = {
    page: [line for line in lines(page) if not STANDS_FOR.search(line) and reason(line) is None]
    for page in PAGES
}


FILES = [
    (page, block)
    for page in PAGES
    for block in PYTHON.findall(page.read_text(encoding="utf-8"))
    if ">>> " not in block
]


@pytest.mark.parametrize(("page", "block"), FILES, ids=[page.stem for page, _ in FILES])
def test_a_block_that_shows_a_file_runs_as_one(page, block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, page.name, "exec"), {"__name__": page.stem})


def test_no_block_hides_from_these_tests_behind_another_name():
    for page in PAGES:
        assert not SHELLS.findall(page.read_text(encoding="utf-8")), page


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if RUN[page]], ids=lambda page: page.stem)
def test_every_line_of_a_page_runs_in_order_on_the_sample_files(page, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "docs/samples", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for line in RUN[page]:
        for name, *arguments in commands(line):
            if name == "expunge":
                outcome = expunge(*arguments)
                assert outcome.status == 0, (line, outcome.err)
            else:
                done = subprocess.run([name, *arguments], capture_output=True, check=False)
                assert done.returncode == 0, (line, done.stderr)


def test_what_is_printed_of_a_file_is_what_is_in_it():
    text = (ROOT / "docs/tutorial_your_files.md").read_text()
    assert f"$ cat rules.json\n{(ROOT / 'docs/samples/rules.json').read_text()}" in text


def test_the_pages_that_a_newcomer_follows_run_as_a_whole():
    for page in (ROOT / "README.md", ROOT / "docs/tutorial_your_files.md"):
        left_out = [line for line in lines(page) if line not in RUN[page]]
        assert all(line.startswith(("make ", "pip install")) for line in left_out), left_out
        assert len(RUN[page]) >= 8


def test_whatever_does_not_run_is_on_the_list_and_the_list_has_nothing_else():
    every = [line for page in PAGES for line in lines(page)]
    assert all(any(line.startswith(start) for line in every) for start in ELSEWHERE)


OPTIONS = [
    (page.stem, line)
    for page in PAGES
    for line in lines(page)
    if STANDS_FOR.search(line) and line.startswith("expunge ")
]


@pytest.mark.parametrize(
    ("page", "line"), OPTIONS, ids=[f"{p}-{i}" for i, (p, _) in enumerate(OPTIONS)]
)
def test_commands_on_the_readers_own_names_have_the_options_that_are_printed(page, line):
    _, verb, *rest = shlex.split(line, comments=True)
    shown = expunge(verb, "--help").out
    for option in (part for part in rest if part.startswith("--")):
        assert option in shown, line


def test_the_sample_files_are_what_their_script_makes(tmp_path):
    source = importlib.util.spec_from_file_location("make_samples", ROOT / "docs/make_samples.py")
    module = importlib.util.module_from_spec(source)
    source.loader.exec_module(module)
    module.main(tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    there = {path.name: path.read_bytes() for path in (ROOT / "docs/samples").iterdir()}
    assert made == there
