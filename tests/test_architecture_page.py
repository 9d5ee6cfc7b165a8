"""The page on the architecture: files that exist, short walks, questions with an answer."""

import re
from pathlib import Path

import pytest

from docs import imports

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/architecture.md").read_text()
FILE = re.compile(r"`((?:expunge|experiments|benchmarks|tests|docs)/[\w/.]+\.(?:py|json|md))`")
# Files of the layout that the page describes, which are still to come. It may only shrink: a file
# that is there is taken off, and when the list is empty it goes.
STILL_TO_COME: set[str] = set()
LAYERS_TO_COME: set[str] = set()


def walks() -> dict[str, str]:
    """Title and text of each walk."""
    section = PAGE.split("## Four walks")[1].split("\n## ")[0]
    parts = section.split("\n### ")[1:]
    return {part.splitlines()[0]: part for part in parts}


def questions() -> dict[str, list[str]]:
    """The questions, and the files that answer each."""
    section = PAGE.split("## Ten questions")[1]
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| ")][1:]
    return {question.strip(): FILE.findall(answer) for question, answer in rows}


def test_every_file_that_the_page_names_exists():
    missing = {name for name in FILE.findall(PAGE) if not (ROOT / name).is_file()}
    assert missing == STILL_TO_COME


def test_every_picture_and_link_of_the_page_leads_somewhere():
    links = re.findall(r"\]\(((?!http)[^)#]+)", PAGE)
    assert links
    for link in links:
        assert (ROOT / "docs" / link).is_file(), link


def test_every_layer_has_a_row():
    section = PAGE.split("## Folders are layers")[1].split("\n## ")[0]
    shown = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    folders = {imports.layer_of(name) for name in imports.modules()} - {"errors", "expunge"}
    assert shown - LAYERS_TO_COME == folders - LAYERS_TO_COME
    assert shown >= LAYERS_TO_COME


def test_there_are_four_walks():
    assert len(walks()) == 4


@pytest.mark.parametrize("title", walks())
def test_a_walk_names_at_most_ten_files_one_a_step(title):
    steps = [line for line in walks()[title].splitlines() if re.match(r"\d+\. ", line)]
    files = [FILE.findall(step) for step in steps]
    assert all(len(named) == 1 for named in files)
    assert 3 <= len(files) <= 10
    assert len({named[0] for named in files}) == len(files)
    assert FILE.findall(walks()[title]) == [named[0] for named in files]


def test_ten_questions_are_each_answered_by_one_or_two_files():
    assert len(questions()) == 10
    for question, files in questions().items():
        assert question.endswith("?")
        assert len(files) in (1, 2), question


def test_a_file_that_does_not_exist_would_be_noticed():
    assert FILE.findall("see `expunge/core/nowhere.py`") == ["expunge/core/nowhere.py"]
    assert not (ROOT / "expunge/core/nowhere.py").exists()
