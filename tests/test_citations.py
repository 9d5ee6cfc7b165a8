"""Every result that the code cites is known and tested by name."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
LABEL = re.compile(
    r"\[((?:theorem|thm|cor|prop|proposition|lemma|eq|alg|fig|app|tab|def):[\w-]+)\]"
)
ERRATUM = re.compile(r"(?:\b|_)[Ee]([1-9]|[12]\d|3[0-8])(?=\b|_)")


def cited(folder: str, pattern: re.Pattern[str]) -> set[str]:
    return {
        label
        for path in (ROOT / folder).glob("**/*.py")
        if path != Path(__file__)
        for label in pattern.findall(path.read_text())
    }


def test_every_cited_label_is_in_the_list_of_labels():
    known = {line.split()[0] for line in (ROOT / "docs/paper_labels.txt").read_text().splitlines()}
    assert cited("expunge", LABEL) | cited("experiments", LABEL) <= known


def test_every_label_that_the_library_cites_is_named_by_a_test():
    untested = cited("expunge", LABEL) - cited("tests", LABEL)
    assert not untested, untested


def test_every_erratum_that_the_library_cites_is_named_by_a_test():
    untested = cited("expunge", ERRATUM) - cited("tests", ERRATUM)
    assert not untested, untested


def test_the_errata_page_has_one_entry_for_each_erratum_and_its_tests_exist():
    page = (ROOT / "docs/errata.md").read_text()
    entries = re.findall(r"^## E(\d+)\b", page, re.MULTILINE)
    assert entries == [str(i) for i in range(1, 39)]
    names = {
        name
        for path in (ROOT / "tests").glob("**/*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    mentioned = set(re.findall(r"`(test_\w+)`", page))
    assert mentioned, "no entry names its test"
    assert mentioned <= names, mentioned - names
