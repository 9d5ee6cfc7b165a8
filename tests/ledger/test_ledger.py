"""The ledger: a block happens whole or not at all, and one process writes at a time."""

import sqlite3

import pytest
from sqlalchemy.exc import IntegrityError

from expunge.errors import InvalidInput
from expunge.ledger import Busy, Ledger, Overtaken, sqlite_file
from expunge.ledger import ledger as module


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "ledger.sqlite")
    made.create()
    with made.writing() as entries:
        entries.add_records(["p1", "p2"], "public")
        entries.add_records([f"r{i}" for i in range(9)], "private")
        entries.add_model(sha256="a", seal="s1", evaluation="{}")
    yield made
    made.close()


def rows(ledger):
    """Every row, read without the code under test."""
    connection = sqlite3.connect(ledger.where)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
    tables = [name for name in names if not name.startswith(("sqlite_", "requested_by"))]
    found = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
    connection.close()
    return found


def test_counts_follow_roles_and_requests(ledger):
    with ledger.writing() as entries:
        assert entries.counts() == {"public": 2, "private": 9, "forgotten": 0}
        request = entries.add_request(["r1", "r2"])
        assert entries.counts() == {"public": 2, "private": 9, "forgotten": 0}
        entries.add_model(sha256="b", seal="s2", honours=request)
        assert entries.counts() == {"public": 2, "private": 7, "forgotten": 2}


def test_settings_come_back_and_are_written_once(ledger):
    with ledger.writing() as entries:
        entries.set("options", "{}")
    with ledger.reading() as entries:
        assert entries.setting("options") == "{}"
        with pytest.raises(KeyError, match="encoding"):
            entries.setting("encoding")
    with pytest.raises(IntegrityError), ledger.writing() as entries:
        entries.set("options", "[]")


def test_requests_are_numbered_named_and_listed_in_order(ledger):
    with ledger.writing() as entries:
        first = entries.add_request(["r5", "r1"])
        second = entries.add_request(["r2"], "ticket 7")
    assert (first.number, first.name, first.state) == (1, "request 1", "pending")
    assert (second.number, second.name) == (2, "ticket 7")
    with ledger.reading() as entries:
        found = entries.requests()
        assert [one.name for one in found] == ["request 1", "ticket 7"]
        assert found[0].records == ("r1", "r5")
        assert entries.requests("honoured") == []
        assert entries.requests("pending") == found


def test_a_model_that_honours_a_request_commits_it_and_its_records_leave(ledger):
    with ledger.writing() as entries:
        request = entries.add_request(["r1"])
        other = entries.add_request(["r2"])
        model = entries.add_model(sha256="b", seal="s2", honours=request, certificate="{}")
    with ledger.reading() as entries:
        assert [one.state for one in entries.requests()] == ["committed", "pending"]
        assert entries.requests("pending") == [other]
        assert entries.certificates("committed") == {1: "{}"}
        assert entries.certificates("honoured") == {}
        assert entries.models()[-1] == model
        assert (model.number, model.request) == (2, 1)
        assert entries.certificates() == {1: "{}"}
        assert entries.certificate_of(model) == "{}"
        assert entries.certificate_of(entries.models()[0]) is None


def test_a_committed_request_is_honoured_once_it_is_closed_and_no_pending_one_is(ledger):
    with ledger.writing() as entries:
        done = entries.add_request(["r1"])
        entries.add_request(["r2"])
        entries.add_model(sha256="b", seal="s2", honours=done)
        entries.close_committed()
    with ledger.reading() as entries:
        assert [entries.state_of(number) for number in (1, 2)] == ["honoured", "pending"]
        assert entries.request(1).records == ("r1",)


def test_a_request_is_committed_once(ledger):
    with ledger.writing() as entries:
        request = entries.add_request(["r1"])
        entries.add_model(sha256="b", seal="s2", honours=request)
    before = rows(ledger)
    with pytest.raises(Overtaken, match="no longer pending"), ledger.writing() as entries:
        entries.add_model(sha256="c", seal="s3", honours=request)
    assert rows(ledger) == before


def test_the_same_request_is_known_by_its_records_and_its_name(ledger):
    with ledger.writing() as entries:
        first = entries.add_request(["r1", "r2"])
        second = entries.add_request(["r5"], "ticket 7")
    with ledger.reading() as entries:
        assert entries.find_request(["r1", "r2"]) == first
        assert entries.find_request(["r2", "r1"], "request 1") == first
        assert entries.find_request(["r5"]) == entries.find_request(["r5"], "ticket 7") == second
        for ids, name in (
            ([], None),
            (["r1"], None),
            (["r1", "r2", "r3"], None),
            (["r1", "r2", "r2"], None),
            (["r1", "r2"], "ticket 7"),
            (["r1", "r2"], "ticket 8"),
            (["nobody"], None),
        ):
            assert entries.find_request(ids, name) is None


def test_whoever_takes_the_lease_leaves_the_holder_before_without_it(ledger):
    with ledger.writing() as entries:
        assert entries.lease() is None
        first = entries.take_lease("process 1")
        entries.check_lease(first)
    with ledger.writing() as entries:
        second = entries.take_lease("process 2")
        entries.check_lease(second)
    assert (first.number, second.number) == (1, 2)
    with ledger.writing() as entries, pytest.raises(Overtaken, match="1 was taken over by lease 2"):
        entries.check_lease(first)
    with ledger.writing() as entries:
        entries.return_lease(first)  # it has none to return
        assert entries.lease() == second
        entries.return_lease(second)
        lease = entries.lease()
    assert lease is not None
    assert (lease.number, lease.holder) == (2, None)


def test_hash_and_scores_of_earlier_models_can_be_erased(ledger):
    with ledger.writing() as entries:
        model = entries.add_model(sha256="b", seal="s2", evaluation="[]")
        entries.erase_earlier(model)
        assert [one.evaluation for one in entries.models()] == [None, "[]"]
        assert [one.sha256 for one in entries.models()] == ["erased", "b"]


@pytest.mark.parametrize(
    ("ids", "complaint"),
    [
        ([], "none given"),
        (["r1", "r1"], "'r1' is given twice"),
        (["r1", "nobody"], "'nobody' is unknown"),
        (["p1"], "'p1' is public, and only private records"),
        (["r8"], "'r8' is already forgotten"),
        (["r7"], "'r7' is already in request 2, which is pending"),
        (["R1"], "'R1' is unknown"),
        (["\udcff"], "holds characters that cannot be printed"),
        (["r1' OR '1'='1"], "is unknown"),
    ],
)
def test_an_id_that_cannot_leave_is_named_and_nothing_is_written(ledger, ids, complaint):
    with ledger.writing() as entries:
        done = entries.add_request(["r8"])
        entries.add_model(sha256="b", seal="s2", honours=done)
        entries.add_request(["r7"])
    before = rows(ledger)
    with pytest.raises(InvalidInput, match=complaint), ledger.writing() as entries:
        entries.add_request(ids)
    assert rows(ledger) == before


@pytest.mark.parametrize("name", ["", " "])
def test_a_name_must_be_one(ledger, name):
    with pytest.raises(InvalidInput, match="the name is empty"), ledger.writing() as entries:
        entries.add_request(["r1"], name)


@pytest.mark.parametrize("pending", [[], ["r1", "r2"]])
def test_a_request_that_leaves_nobody_is_refused(tmp_path, pending):
    made = Ledger(tmp_path / "ledger.sqlite")
    made.create()
    with made.writing() as entries:
        entries.add_records(["r1", "r2", "r3"], "private")
        if pending:
            entries.add_request(pending)
    before = rows(made)
    asked = [one for one in ("r1", "r2", "r3") if one not in pending]
    with pytest.raises(InvalidInput, match="no record would remain"), made.writing() as entries:
        entries.add_request(asked)
    assert rows(made) == before
    made.close()


@pytest.mark.parametrize("name", ["two\nlines", "\udcff"])
def test_a_name_that_cannot_be_printed_is_refused(ledger, name):
    for verb in ("add_request", "find_request"):
        with ledger.writing() as entries, pytest.raises(InvalidInput, match="cannot be printed"):
            getattr(entries, verb)(["r1"], name)


def test_a_name_is_taken_once(ledger):
    with ledger.writing() as entries:
        entries.add_request(["r1"], "mine")
    with pytest.raises(InvalidInput, match="'mine' is taken"), ledger.writing() as entries:
        entries.add_request(["r2"], "mine")


def test_more_ids_than_one_query_takes(ledger, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 2)
    with ledger.writing() as entries:
        request = entries.add_request([f"r{i}" for i in range(9)])
        assert len(request.records) == 9
    with pytest.raises(InvalidInput, match="'r6' is already in"), ledger.writing() as entries:
        entries.add_request(["r6"])


def test_an_exception_undoes_the_whole_block(ledger):
    def interrupted():
        with ledger.writing() as entries:
            request = entries.add_request(["r1"])
            entries.add_model(sha256="b", seal="s2", honours=request)
            raise KeyboardInterrupt

    before = rows(ledger)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert rows(ledger) == before


def test_a_second_writer_is_told_and_readers_see_what_was_there(ledger, monkeypatch):
    monkeypatch.setattr(sqlite_file, "PATIENCE", 1)
    other = Ledger(ledger.where)
    with ledger.writing() as entries:
        entries.add_request(["r1"])
        with pytest.raises(Busy, match="another process is working"), other.writing():
            pass
        with other.reading() as seen:
            assert seen.requests() == []
    with other.reading() as seen:
        assert len(seen.requests()) == 1
    other.close()


def test_a_view_does_not_change_while_it_is_looked_at(ledger):
    other = Ledger(ledger.where)
    with other.reading() as seen:
        assert seen.requests() == []
        with ledger.writing() as entries:
            entries.add_request(["r1"])
        assert seen.requests() == []
    other.close()


def test_a_commit_waits_for_the_disk(ledger):
    with ledger.writing() as entries:
        lines = ("journal_mode", "synchronous", "foreign_keys")
        found = [entries._connection.exec_driver_sql(f"PRAGMA {line}").scalar() for line in lines]
    assert found == ["wal", 2, 1]


def test_a_certificate_needs_its_model(ledger):
    with pytest.raises(IntegrityError), ledger.writing() as entries:
        entries._connection.exec_driver_sql("INSERT INTO certificates VALUES (1, 99, '{}')")


@pytest.mark.parametrize("content", [b"", b"this is no database at all " * 99])
def test_what_is_no_ledger_is_refused(tmp_path, content):
    (tmp_path / "ledger.sqlite").write_bytes(content)
    other = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(InvalidInput, match="not a ledger"), other.reading() as entries:
        entries.models()
    other.close()


def test_a_url_does_as_well_as_a_path(tmp_path):
    made = Ledger(f"sqlite:///{tmp_path}/by_url.sqlite")
    made.create()
    with made.writing() as entries:
        entries.add_records(["r1"], "private")
    made.close()
    with Ledger(tmp_path / "by_url.sqlite").reading() as entries:
        assert entries.counts()["private"] == 1
