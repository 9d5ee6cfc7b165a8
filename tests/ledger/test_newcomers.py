"""Records that join have rows of their own, and whoever comes back can be asked for again."""

import sqlite3
from contextlib import closing

import pytest

from expunge.errors import Altered, InvalidInput
from expunge.ledger import Ledger, newcomers
from expunge.ledger.newcomers import arrival_problems


@pytest.fixture
def ledger(tmp_path):
    """Two public records, four private ones, of which r1 is forgotten and r2 asked for."""
    made = Ledger(tmp_path / "ledger.sqlite")
    made.create()
    with made.writing() as entries:
        entries.add_records(["p1", "p2"], "public")
        entries.add_records([f"r{i}" for i in range(4)], "private")
        entries.add_model(sha256="a", seal="s1")
        first = entries.add_request(["r1"], "one")
        entries.add_model(sha256="b", seal="s2", honours=[first], certificates=["{}"])
        entries.close_committed()
        entries.add_request(["r2"], "two")
    yield made
    made.close()


def join(ledger, *ids):
    with ledger.writing() as entries:
        return entries.join_records(ids, entries.add_model(sha256="c", seal="s3"))


def looked(ledger, at):
    with ledger.reading() as entries:
        return at(entries)


def test_newcomers_have_the_next_rows_and_their_model_is_noted(ledger, monkeypatch):
    monkeypatch.setattr(newcomers, "CHUNK", 2)
    made = join(ledger, "n1", "n2", "n3")
    assert (made.number, made.model, made.first, made.stop, made.records) == (1, 3, 6, 9, 3)
    assert made.state == "committed"
    assert looked(ledger, lambda entries: entries.additions()) == [made]
    assert looked(ledger, lambda entries: entries.places(["n3", "r0", "n1"])) == [8, 2, 6]
    assert looked(ledger, lambda entries: entries.counts()) == {
        "public": 2,
        "private": 6,
        "forgotten": 1,
    }
    assert join(ledger, "n4").number == 2
    assert ledger.check() == 2 + 4 + 4 + 2 + 2 + 4 + 1 + 2


def test_an_addition_is_honoured_with_what_else_is_committed(ledger):
    join(ledger, "n1")
    assert looked(ledger, lambda entries: entries.has_committed())
    with ledger.writing() as entries:
        entries.close_committed()
        assert [each.state for each in entries.additions()] == ["honoured"]
        assert not entries.has_committed()


def test_whoever_comes_back_has_a_new_row_and_can_be_asked_for_again(ledger):
    join(ledger, "r1", "n1")
    assert looked(ledger, lambda entries: entries.places(["r1", "n1"])) == [6, 7]
    assert looked(ledger, lambda entries: entries.outcomes(["r1"])) == {"r1": "forgotten"}
    assert looked(ledger, lambda entries: entries.counts()) == {
        "public": 2,
        "private": 5,
        "forgotten": 1,
    }
    assert looked(ledger, lambda entries: entries.request(1).records) == ("r1",)
    assert looked(ledger, lambda entries: entries.find_request(["r1"])) is None
    assert looked(ledger, lambda entries: entries.find_request(["r1"], "one")) is None
    ledger.check()
    with ledger.writing() as entries:
        again = entries.add_request(["r1"])
        entries.add_model(sha256="d", seal="s4", honours=[again], certificates=["{}"])
    assert looked(ledger, lambda entries: entries.outcomes(["r1"])) == {"r1": "already forgotten"}
    assert looked(ledger, lambda entries: entries.counts())["forgotten"] == 2
    join(ledger, "r1")
    assert [looked(ledger, lambda entries, n=n: entries.request(n).records) for n in (1, 3)] == [
        ("r1",)
    ] * 2
    ledger.check()


@pytest.mark.parametrize("id_", ["r0", "r2", "p1"])
def test_nobody_who_is_there_joins_once_more(ledger, id_):
    with pytest.raises(InvalidInput, match=f"'{id_}' is there already"):
        join(ledger, "n1", id_)
    assert looked(ledger, lambda entries: entries.additions()) == []
    assert looked(ledger, lambda entries: len(entries.models())) == 2


QUIET = (
    "UPDATE records SET place = 1 WHERE id = 'r1'",  # the row that it had before
    "DELETE FROM records WHERE id = 'n1'",
)
LOUD = (
    "DELETE FROM former",
    "UPDATE former SET request = 2",
    "UPDATE additions SET stop = 99",
    "DELETE FROM additions",
    "DROP TABLE former",
)


@pytest.mark.parametrize("statement", QUIET + LOUD)
def test_what_was_changed_behind_its_back_is_found(ledger, statement):
    join(ledger, "r1", "n1")
    with closing(sqlite3.connect(ledger.where)) as connection, connection:
        connection.execute(statement)
    with pytest.raises(Altered):
        ledger.check()
    if statement in LOUD:
        with pytest.raises(Altered):
            looked(ledger, lambda entries: entries.counts())


@pytest.mark.parametrize(
    ("again", "replace", "accepted"),
    [
        (False, False, {"unknown"}),
        (True, False, {"unknown", "already forgotten"}),
        (False, True, {"forgotten"}),
        (True, True, {"forgotten"}),
    ],
)
def test_who_may_join_is_a_matter_of_what_is_said(again, replace, accepted):
    outcomes = ["unknown", "forgotten", "already forgotten", "public"]
    problems = arrival_problems(
        [(outcome, outcome) for outcome in outcomes], again=again, replace=replace
    )
    named = {outcome for outcome in outcomes if any(p.startswith(f"'{outcome}'") for p in problems)}
    assert named == set(outcomes) - accepted
