"""Bit flips: a seeded sample in every run, with planted faults; the page shows the whole."""

import json
from collections import Counter

import numpy as np
import pytest

from expunge.ledger import ledger as ledger_module
from expunge.store.index import File
from expunge.workspace import generation_checks
from tests.torture import flips, tables
from tests.torture.sqlite_bytes import GAP, harmless_bytes
from tests.torture.subjects import SUBJECTS

LEAST = 2000


def lines_committed():
    return [json.loads(line) for line in (tables.RESULTS / "flips.jsonl").read_text().splitlines()]


def test_the_page_shows_the_committed_results():
    page = tables.PAGE.read_text()
    assert page == tables.page_with_tables(page)


def test_the_committed_results_are_of_enough_flips_in_every_file_and_nothing_went_wrong():
    lines = lines_committed()
    counts = Counter()
    for line in lines:
        counts[line["kind"]] += line["count"]
        assert line["wrong"] == []
        if line["kind"] != "search":
            assert line["named"] + sum(line["harmless"].values()) == line["count"] > 0
    assert counts["flips"] >= LEAST
    assert counts["targeted"] > 1000
    assert {line["subject"] for line in lines} == set(SUBJECTS)
    assert all(line["there_before"] for line in lines if line["kind"] == "search")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One workspace serves all: every flip is taken back."""
    return SUBJECTS["residual"](tmp_path_factory.mktemp("flips") / "residual")


def sampled(made, count, seed=1, files=()):
    subject = made[0]
    places = flips.chosen_places(subject, count, seed)
    places = [(path, bit) for path, bit in places if not files or path.name.startswith(files)]
    return list(flips.flipped_lines("residual", subject, places))


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_sample_of_flips_changes_nothing_silently(tmp_path, name):
    subject, searched, there = SUBJECTS[name](tmp_path / "s")
    places = flips.chosen_places(subject, 60, seed=7)
    lines = list(flips.flipped_lines(name, subject, places))
    lines.append(flips.traces_left(name, subject, searched, there))
    assert [line["wrong"] for line in lines if line["wrong"]] == []
    assert sum(line["count"] for line in lines[:-1]) == 60


def test_a_flip_in_every_file_is_named_or_harmless(made):
    """The first flips are one in each file."""
    there = [path for path in made[0].folder.rglob("*") if path.is_file()]
    lines = sampled(made, count=len(there))
    assert [line["wrong"] for line in lines] == [[]] * len(there)
    assert sum(line["count"] for line in lines) == len(there) > 20


def test_a_ledger_that_does_not_check_its_seal_would_be_caught(made, monkeypatch):
    monkeypatch.setattr(ledger_module, "check_seal", lambda *_: None)
    monkeypatch.setattr(ledger_module, "check_everything", lambda *_: 0)
    subject = made[0]
    path = subject.folder / "ledger.sqlite"
    place = path.read_bytes().index(b'"epsilon": 1.0')
    bits = [(path, 8 * (place + 11) + 1)]  # the 1 becomes a 3
    (line,) = flips.flipped_lines("residual", subject, bits)
    assert any("status said" in wrong for wrong in line["wrong"])


def test_a_store_that_does_not_check_its_digests_would_be_caught(made, monkeypatch):
    def unchecked(_, *places):
        return next(path for path in places if path.exists()).read_bytes()

    monkeypatch.setattr(File, "read", unchecked)
    lines = sampled(made, count=40, files=("document-", "chunk-", "state-"))
    assert any(line["wrong"] for line in lines)


def test_records_that_are_read_unchecked_would_be_caught(made, monkeypatch):
    monkeypatch.setattr(generation_checks, "read_public", lambda *_: b"")
    lines = sampled(made, count=20, files=("public",))
    assert len(lines) == 1
    assert all("not noticed" in wrong for line in lines for wrong in line["wrong"])
    assert all(len(line["wrong"]) == line["count"] for line in lines)


def test_a_trace_that_is_left_would_be_caught(made):
    subject, searched, there = made
    assert flips.traces_left("residual", subject, searched, there)["wrong"] == []
    (subject.folder / "records/left").write_bytes(b"..." + searched["colour"])
    found = flips.traces_left("residual", subject, searched, there)["wrong"]
    (subject.folder / "records/left").unlink()
    assert found == ["colour in left"]


def test_bytes_called_harmless_hold_none_of_the_ledgers_texts(made):
    """Every byte of every text in the ledger is outside of them."""
    content = (made[0].folder / "ledger.sqlite").read_bytes()
    harmless = harmless_bytes(content)
    holds = np.ones(len(content), dtype=bool)
    holds[list(harmless)] = False
    for text in (b"00003", b'"epsilon": 1.0', b"request 2", b"private", b"CREATE TABLE settings"):
        place = content.find(text)
        assert place >= 0
        while place >= 0:
            assert holds[place : place + len(text)].all(), text
            place = content.find(text, place + 1)
    stale = [place for place, why in harmless.items() if why == GAP and content[place]]
    # What was freed is zero, but for headers of free blocks, two numbers of two bytes each.
    assert all(place + 4 not in stale for place in stale)
    assert len(stale) < 40
