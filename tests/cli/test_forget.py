"""`expunge forget`: ids as arguments, in a file or from standard input."""

import sqlite3

import pytest

from expunge.ledger import sqlite_file
from tests.cli.test_main import expunge
from tests.cli.workspaces import made, printed, refused, tables
from tests.workspace.tables_made import change_ledger, everything_in, private_chunk


@pytest.fixture
def workspace(tmp_path):
    return made(tmp_path)


def test_ids_may_be_arguments(workspace):
    document = printed("forget", workspace, "00003", "00004")
    assert document["records"] == {"public": 120, "private": 148, "forgotten": 2}
    assert document["honoured"] == ["request 1"]
    assert document["certificate"]["epsilon"] <= 1


def test_ids_may_stand_in_a_file_one_a_line_and_beside_arguments(workspace, tmp_path):
    (tmp_path / "ids.txt").write_text("00003\r\n\n00004\n")
    document = printed("forget", workspace, "00005", "--ids", tmp_path / "ids.txt")
    assert document["records"]["forgotten"] == 3


def test_ids_may_come_from_standard_input(workspace):
    document = printed("forget", workspace, "--ids", "-", stdin="00003\n00004\n")
    assert document["records"]["forgotten"] == 2


def test_a_request_may_have_a_name(workspace):
    document = printed("forget", workspace, "00003", "--name", "ticket 7")
    assert document["honoured"] == ["ticket 7"]
    assert document["requests"][0]["name"] == "ticket 7"


def test_people_read_what_was_certified(workspace):
    outcome = expunge("forget", workspace, "00003")
    assert outcome.status == 0
    assert "request 1: 1 record, honoured" in outcome.out
    assert "EARLIER RELEASES NOT COVERED." in outcome.out
    assert "strategy residual, bound shift" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["nobody"], "'nobody' is unknown"),
        (["3"], "'3' is unknown"),
        (["90003"], "'90003' is public"),
        (["00001", "00003"], "'00001' is already forgotten"),
        (["00003", "00003"], "'00003' is given twice"),
        (["00003", "--ids", "-"], "'00003' is given twice"),
        (["00004", "nobody"], "'nobody' is unknown"),
        (["00004", "--name", "request 1"], "'request 1' is taken"),
        (["00004", "--name", ""], "the name is empty"),
        (["\udcff"], "cannot be printed"),
        (["--ids", "none.txt"], "none.txt"),
        ([], "no request is pending"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_bad_input_is_one_line_that_names_it_and_nothing_is_recorded(workspace, arguments, named):
    printed("forget", workspace, "00001")
    before = everything_in(workspace)
    assert named in refused("forget", workspace, *arguments, stdin="00003\n")
    assert everything_in(workspace) == before


def test_every_culprit_is_named_at_once(workspace):
    printed("forget", workspace, "00001")
    ids = "nobody\n00001\n90003\n00004\n00005\n00005\n"
    complaint = refused("forget", workspace, "--ids", "-", stdin=ids)
    for culprit in ("'nobody' is unknown", "'00001' is already", "'90003' is public", "'00005' is"):
        assert culprit in complaint
    assert "'00004'" not in complaint


def test_the_same_file_can_be_sent_every_day(workspace):
    ids = "00003\nnobody\n90003\n00004\n"
    flags = ["--ids", "-", "--skip-unknown", "--skip-forgotten"]
    for day, mine in (("first", "forgotten"), ("second", "already forgotten")):
        document = printed("forget", workspace, *flags, stdin=ids)
        assert document["outcomes"] == [
            {"id": "00003", "outcome": mine},
            {"id": "nobody", "outcome": "unknown"},
            {"id": "90003", "outcome": "public"},
            {"id": "00004", "outcome": mine},
        ]
        assert document["honoured"] == (["request 1"] if day == "first" else [])
        assert document["records"]["forgotten"] == 2
    with_one_more = printed("forget", workspace, *flags, stdin=ids + "00005\n")
    assert with_one_more["records"]["forgotten"] == 3
    assert "unknown: 1, public: 1" in expunge("forget", workspace, *flags, stdin=ids).out


@pytest.mark.parametrize(
    ("flag", "culprits"),
    [("--skip-unknown", ["'00001' is already"]), ("--skip-forgotten", ["'nobody'", "'90003'"])],
)
def test_each_flag_skips_its_own_kind_and_no_other(workspace, flag, culprits):
    printed("forget", workspace, "00001")
    complaint = refused("forget", workspace, "00001", "nobody", "90003", "00004", flag)
    assert all(culprit in complaint for culprit in culprits)
    assert complaint.count("'") == 2 * len(culprits)


def test_an_interrupted_request_is_taken_up_with_its_flags(workspace):
    change_ledger(workspace, "INSERT INTO requests VALUES (1, 'old', '2026-01-01', 'pending')")
    change_ledger(workspace, "INSERT INTO requested VALUES (1, '00003')")
    document = printed("forget", workspace, "00003", "nobody", "--skip-unknown")
    assert (document["honoured"], document["repeated"]) == (["old"], "old")


def test_an_id_that_is_pending_is_refused_in_another_request_and_honoured_without_ids(workspace):
    change_ledger(workspace, "INSERT INTO requests VALUES (1, 'old', '2026-01-01', 'pending')")
    change_ledger(workspace, "INSERT INTO requested VALUES (1, '00003')")
    before = everything_in(workspace)
    assert "'00003' is already in request 1" in refused("forget", workspace, "00003", "00004")
    assert everything_in(workspace) == before
    assert "PENDING" in expunge("status", workspace).out
    assert printed("forget", workspace)["honoured"] == ["old"]


def test_the_same_command_twice_ends_0_and_says_so(workspace):
    first = printed("forget", workspace, "00003", "--name", "ticket 7")
    again = printed("forget", workspace, "00003", "--name", "ticket 7")
    assert again["requests"] == first["requests"]
    assert (first["repeated"], again["repeated"]) == (None, "ticket 7")
    shown = expunge("forget", workspace, "00003", "--name", "ticket 7")
    assert shown.status == 0
    assert shown.out.startswith("ticket 7 was asked before; this is how it stands\n")


def test_what_cannot_be_erased_exits_1_and_every_command_says_what_it_is(workspace, tmp_path):
    records = private_chunk(workspace)
    records.rename(tmp_path / "rows.parquet")
    records.symlink_to(tmp_path / "rows.parquet")
    outcome = expunge("forget", workspace, "00003")
    assert outcome.status == 1
    assert f"request 1 is committed, but not erased: {records}: is a link" in outcome.err
    assert outcome.err.count("\n") == 1
    shown = expunge("status", workspace)
    assert "request 1: 1 record, COMMITTED, NOT ERASED YET" in shown.out
    assert f"not erased yet: {records}\n" in shown.out
    checked = expunge("verify", workspace)
    assert (shown.status, checked.status) == (0, 0)
    assert (
        "ERASURE UNFINISHED: request 1 is committed; finish it with expunge forget" in checked.out
    )
    assert f"  not erased yet: {records}\n" in checked.out
    records.unlink()
    assert printed("forget", workspace)["honoured"] == ["request 1"]
    assert "UNFINISHED" not in expunge("verify", workspace).out


def test_a_request_that_cannot_be_honoured_yet_exits_1_and_blocks_no_other(tmp_path):
    arguments = [*tables(tmp_path), "--strategy", "langevin"]  # its noise has a capacity
    workspace = tmp_path / "workspace"
    assert expunge("fit", workspace, *arguments).status == 0
    many = "\n".join(f"{row:05d}" for row in range(60))
    outcome = expunge("forget", workspace, "--ids", "-", "--json", stdin=many)
    assert outcome.status == 1
    assert outcome.err.startswith("expunge: request 1 stays pending: ")
    assert outcome.err.count("\n") == 1
    document = printed("forget", workspace, "00100", "--name", "small")
    assert document["honoured"] == ["small"]
    assert [one.partition(":")[0] for one in document["refused"]] == ["request 1 stays pending"]
    assert [one["state"] for one in document["requests"]] == ["pending", "honoured"]
    assert printed("verify", workspace)["pending"] == 1


def test_a_file_without_ids_is_refused(workspace, tmp_path):
    (tmp_path / "ids.txt").write_text("\n \n")
    assert "no ids in it" in refused("forget", workspace, "--ids", tmp_path / "ids.txt")
    (tmp_path / "ids.txt").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in refused("forget", workspace, "--ids", tmp_path / "ids.txt")


def test_what_is_no_workspace_is_refused(tmp_path):
    assert "not a workspace" in refused("forget", tmp_path, "00003")
    assert list(tmp_path.iterdir()) == []


def test_while_another_process_works_there_is_one_line_and_readers_go_on(workspace, monkeypatch):
    monkeypatch.setattr(sqlite_file, "PATIENCE", 1)
    other = sqlite3.connect(workspace / "ledger.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert "another process is working" in refused("forget", workspace, "00003")
    assert printed("status", workspace)["requests"] == []
    output = workspace.parent / "out.csv"
    assert printed("predict", workspace, workspace.parent / "public.csv", "--output", output)
    other.close()


def test_a_dry_run_says_what_would_be_done_and_does_nothing(workspace):
    before = everything_in(workspace)
    document = printed("forget", workspace, "00003", "--dry-run")
    assert document["dry_run"]
    assert document["outcomes"] == [{"id": "00003", "outcome": "forgotten"}]
    outcome = expunge("forget", workspace, "00003", "--dry-run")
    assert outcome.out.startswith("dry run: nothing is recorded")
    assert "strategy residual: typically" in outcome.out
    assert "records afterwards: 149 private, 1 forgotten" in outcome.out
    assert everything_in(workspace) == before


def test_a_dry_run_of_what_would_be_refused_ends_1(workspace):
    outcome = expunge("forget", workspace, "nobody", "--dry-run", "--json")
    assert outcome.status == 1
    assert outcome.document["outcomes"] == [{"id": "nobody", "outcome": "unknown"}]
    assert outcome.err == "expunge: would be refused: ids: 'nobody' is unknown\n"
    assert "none given" in refused("forget", workspace, "--dry-run")


def test_spaces_around_ids_are_reported_and_do_not_count(workspace, tmp_path):
    (tmp_path / "ids.txt").write_text(" 00003\n00004 \n00005\n")
    outcome = expunge("forget", workspace, "--ids", tmp_path / "ids.txt", "--json")
    assert outcome.status == 0
    assert outcome.err == "expunge: 2 ids have spaces around, which do not count\n"
    assert [one["id"] for one in outcome.document["outcomes"]] == ["00003", "00004", "00005"]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "requests.csv"
    path.write_text("request,id\nticket 7,00003\nticket 8,00004\nticket 7,00140\n")
    return path


def test_a_table_of_requests_is_honoured_by_one_model_with_a_certificate_each(workspace, table):
    document = printed("forget", workspace, "--requests", table)
    assert document["honoured"] == ["ticket 7", "ticket 8"]
    assert [one["certificate"] for one in document["requests"]] == [1, 2]
    first, second = (workspace / f"certificates/{number}.json" for number in (1, 2))
    checked = printed("verify", second, "--earlier", first)
    assert checked["valid"]
    assert checked["together"] is None  # one model
    outcome = expunge("forget", workspace, "--requests", table)
    assert outcome.status == 0
    assert "2 of 2 requests were asked before" in outcome.out
    assert "ticket 7: 2 records, honoured, certificate 1" in outcome.out


def test_requests_of_a_table_may_have_one_certificate_together(workspace, table):
    document = printed("forget", workspace, "--requests", table, "--certificates", "together")
    assert [one["certificate"] for one in document["requests"]] == [1, 1]
    assert len(list((workspace / "certificates").iterdir())) == 1


def test_a_table_of_requests_can_be_tried_without_doing_anything(workspace, table):
    before = everything_in(workspace)
    document = printed("forget", workspace, "--requests", table, "--dry-run")
    assert document["accepted"]
    assert document["records"] == {"public": 120, "private": 147, "forgotten": 3}
    assert everything_in(workspace) == before


@pytest.mark.parametrize("more", [["00003"], ["--ids", "-"], ["--name", "mine"]])
def test_a_table_of_requests_stands_alone(workspace, table, more):
    assert "has names and ids" in refused("forget", workspace, "--requests", table, *more)
