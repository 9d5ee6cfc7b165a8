"""A fit in the place of another: rows go on, and whoever its tables lack has left."""

import sqlite3
from contextlib import closing

import pytest

from expunge.errors import Altered, InvalidInput
from expunge.ledger import Ledger
from expunge.ledger.fits import current_fit
from expunge.ledger.sealed_records import record_row
from tests.ledger.ledgers import small_ledger


@pytest.fixture
def ledger(tmp_path):
    """p1, p2 and r0 to r8, of which r8 is forgotten, r7 and r6 are asked for."""
    made = small_ledger(tmp_path)
    with made.writing() as entries:
        done = entries.add_request(["r8"], "done")
        entries.add_model(sha256="b", seal="s2", honours=[done], certificates=["{}"])
        entries.close_committed()
        entries.add_request(["r7"], "seven")
        entries.add_request(["r6", "r5"], "two")
    yield made
    made.close()


def again(ledger, public, private, **given):
    """A fit on records with these ids."""
    with ledger.writing() as entries:
        fit = entries.fit()
        first = fit.first + entries.counts_of_fit()["records"]
        named = [("public", id_) for id_ in public] + [("private", id_) for id_ in private]
        rows = [record_row(id_, role, first + at) for at, (role, id_) in enumerate(named)]
        given = {"sha256": "c", "seal": "s3", "released_before": True} | given
        return entries.begin_fit([rows[:2], rows[2:]], **given)


def looked(ledger, at):
    with ledger.reading() as entries:
        return at(entries)


REST = ["r0", "r2", "r5", "r6", "r7", "n1"]  # r1, r3, r4 are not in the new tables


def test_rows_go_on_and_are_counted_from_the_fit(ledger):
    model = again(ledger, ["p2"], REST)
    (fit,) = looked(ledger, lambda entries: entries.fits())
    assert (fit.number, fit.model, fit.first, fit.earlier) == (2, model.number, 11, 4)
    assert (fit.released_before, fit.state) == (True, "committed")
    assert looked(ledger, lambda entries: entries.fit()) == fit
    assert looked(ledger, lambda entries: entries.places(["p2", "n1", "r0"])) == [0, 6, 1]
    ledger.check()


def test_the_first_fit_begins_with_row_zero(ledger):
    first = looked(ledger, lambda entries: entries.fit())
    assert (first.number, first.first, first.earlier, first.released_before) == (1, 0, 0, False)


def test_whoever_the_new_tables_lack_is_a_request_of_the_fit(ledger):
    again(ledger, ["p2"], REST, name="gone with the old table")
    left = looked(ledger, lambda entries: entries.requests())[-1]
    assert (left.name, left.records) == ("gone with the old table", ("r1", "r3", "r4"))
    assert left.state == "committed"
    assert looked(ledger, lambda entries: entries.left_at()) == {left.number: 3}
    assert looked(ledger, lambda entries: entries.has_committed())
    with ledger.writing() as entries:
        entries.close_committed()
    assert not looked(ledger, lambda entries: entries.has_committed())
    assert looked(ledger, lambda entries: entries.fit()).state == "honoured"
    assert looked(ledger, lambda entries: entries.state_of(left.number)) == "honoured"


def test_nobody_left_is_no_request(ledger):
    again(ledger, ["p1", "p2"], [f"r{i}" for i in range(8)])
    assert len(looked(ledger, lambda entries: entries.requests())) == 3
    assert looked(ledger, lambda entries: entries.left_at()) == {}


def test_counts_are_of_all_fits_and_of_this_one(ledger):
    again(ledger, ["p2"], REST)
    assert looked(ledger, lambda entries: entries.counts()) == {
        "public": 1,
        "private": 6,
        "forgotten": 4,
    }
    assert looked(ledger, lambda entries: entries.counts_of_fit()) == {"records": 7, "forgotten": 0}
    with ledger.writing() as entries:
        entries.add_model(sha256="d", seal="s4", honours=[entries.request(2)])
    assert looked(ledger, lambda entries: entries.counts_of_fit())["forgotten"] == 1
    assert looked(ledger, lambda entries: entries.counts())["forgotten"] == 5


def test_a_public_record_that_is_gone_is_in_no_row_and_may_be_private_now(ledger):
    again(ledger, ["p2"], [*REST, "p1"])
    assert looked(ledger, lambda entries: entries.outcomes(["p1"])) == {"p1": "forgotten"}
    again(ledger, ["p2"], REST)
    assert looked(ledger, lambda entries: entries.outcomes(["p1"])) == {"p1": "already forgotten"}
    ledger.check()


def test_a_pending_request_is_honoured_where_all_of_its_records_have_left(ledger):
    again(ledger, ["p2"], ["r0", "r5", "r7"])
    states = {one.name: one.state for one in looked(ledger, lambda entries: entries.requests())}
    assert states == {
        "done": "honoured",
        "seven": "pending",
        "two": "pending",
        "request 4": "committed",
    }
    assert looked(ledger, lambda entries: entries.in_this_fit(["r5", "r6"])) == ["r5"]
    with pytest.raises(InvalidInput, match="'r6' left before this fit"):
        looked(ledger, lambda entries: entries.places(["r6"]))
    with ledger.writing() as entries:  # the records that are there suffice
        entries.add_model(sha256="d", seal="s4", honours=[entries.request(3)])
    assert looked(ledger, lambda entries: entries.counts())["private"] == 2
    again(ledger, ["p2"], ["r0"])
    states = {one.name: one.state for one in looked(ledger, lambda entries: entries.requests())}
    assert states["seven"] == "committed"
    assert looked(ledger, lambda entries: entries.left_at()) == {2: 5, 4: 3}
    ledger.check()


def test_requests_that_were_to_share_a_model_are_honoured_one_by_one_if_one_has_left(ledger):
    with ledger.writing() as entries:
        both = entries.add_batch([("a", ["r1"]), ("b", ["r2"])], each=False)
        others = entries.add_batch([("c", ["r3"]), ("d", ["r4"])], each=False)
    again(ledger, ["p2"], ["r0", "r2", "r3", "r4", "r5", "r6", "r7"])
    with ledger.reading() as entries:
        assert entries.state_of(both.numbers[0]) == "committed"
        left = entries.request(both.numbers[1])
        assert entries.batch_of(left).requests == (left,)
        assert entries.batch_of(entries.request(others.numbers[0])) == others


def test_whoever_was_forgotten_stays_so_unless_taken_back(ledger):
    again(ledger, ["p2"], REST)
    assert looked(ledger, lambda entries: entries.outcomes(["r8", "r1", "r0"])) == {
        "r8": "already forgotten",
        "r1": "already forgotten",
        "r0": "forgotten",
    }
    again(ledger, ["p2"], [*REST, "r8", "r1"], back=["r8", "r1"])
    assert set(looked(ledger, lambda entries: entries.outcomes(["r8", "r1"])).values()) == {
        "forgotten"
    }
    assert looked(ledger, lambda entries: entries.request(1).records) == ("r8",)
    assert looked(ledger, lambda entries: entries.counts())["private"] == 8
    ledger.check()


def test_records_join_a_later_fit_at_its_next_rows(ledger):
    again(ledger, ["p2"], REST)
    with ledger.writing() as entries:
        joined = entries.join_records(["n2", "r8"], entries.add_model(sha256="d", seal="s4"))
    assert (joined.first, joined.stop) == (18, 20)
    assert looked(ledger, lambda entries: entries.places(["n2", "r8"])) == [7, 8]
    assert looked(ledger, lambda entries: entries.counts_of_fit()) == {"records": 9, "forgotten": 0}
    again(ledger, [], ["n2"])
    assert looked(ledger, lambda entries: entries.fit()).first == 20
    assert looked(ledger, lambda entries: entries.requests())[-1].records == (
        *("n1", "r0", "r2", "r8"),
    )
    ledger.check()


def test_a_name_that_is_taken_is_refused_and_nothing_changes(ledger):
    with pytest.raises(InvalidInput, match="'seven' is taken"):
        again(ledger, ["p2"], REST, name="seven")
    assert looked(ledger, lambda entries: entries.fits()) == []
    assert looked(ledger, lambda entries: entries.places(["r1"])) == [3]


def test_hashes_of_earlier_models_are_gone(ledger):
    again(ledger, ["p2"], REST)
    assert [model.sha256 for model in looked(ledger, lambda entries: entries.models())] == [
        *("erased", "erased", "c"),
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET place = 3 WHERE id = 'n1'",
        "DELETE FROM records WHERE id = 'r1'",
        "UPDATE fits SET first = 10",
        "DELETE FROM left_out",
        "INSERT INTO records VALUES ('p1', 'public', 0, 0)",
    ],
)
def test_what_was_changed_behind_its_back_is_found(ledger, statement):
    again(ledger, ["p2"], REST)
    with closing(sqlite3.connect(ledger.where)) as connection, connection:
        assert connection.execute(statement).rowcount
    with pytest.raises(Altered):
        ledger.check()


def test_a_ledger_of_an_earlier_version_gets_the_tables(tmp_path):
    from sqlalchemy import create_engine

    from expunge.ledger.sealing import renew_seal

    ledger = small_ledger(tmp_path)
    with ledger.writing():
        pass
    ledger.close()
    with closing(sqlite3.connect(ledger.where)) as connection, connection:
        for table in ("left_out", "fits"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("DELETE FROM seals WHERE name IN ('left_out', 'fits')")
    engine = create_engine(f"sqlite:///{ledger.where}")
    with engine.begin() as connection:
        assert current_fit(connection).first == 0
        renew_seal(connection)
    engine.dispose()
    made = Ledger(ledger.where)
    assert looked(made, lambda entries: entries.left_at()) == {}
    again(made, ["p1"], ["r1"])
    assert looked(made, lambda entries: entries.fit()).first == 11
    made.check()
    made.close()
