"""Forgetting: nothing of the records stays, a refusal changes nothing, a kill loses nothing."""

import hashlib
import json
import shutil
import sqlite3
from collections import Counter

import numpy as np
import pytest
from safetensors.torch import load_file

from expunge.accounting.certificate import parse_certificate
from expunge.accounting.verification import differences
from expunge.errors import InvalidInput
from expunge.ledger import Busy, Ledger, RequestBatch, sqlite_file
from expunge.workspace import see_through as module
from expunge.workspace.at_work import Pending
from expunge.workspace.folder import Folder
from expunge.workspace.forget import forget, forget_batch
from expunge.workspace.honour import honour
from expunge.workspace.predict import predict
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.killed import killed
from tests.workspace.tables_made import (
    change_ledger,
    everything_in,
    files_of,
    fitted,
    ledger_rows,
    private_chunk,
    private_people,
    public_people,
    read,
    usual,
)


@pytest.fixture
def workspace(tmp_path):
    return usual(tmp_path)


def leave_pending(workspace, *ids):
    """As a run does that was interrupted before it began to work."""
    change_ledger(
        workspace, "INSERT INTO requests VALUES (1, 'request 1', '2026-01-01', 'pending')"
    )
    for one in ids:
        change_ledger(workspace, "INSERT INTO requested VALUES (1, ?)", one)


def predictions(workspace):
    output = workspace.parent / "predictions.csv"
    predict(workspace, workspace.parent / "public.csv", output)
    return output.read_bytes()


# ---- what is left -------------------------------------------------------------------------------


def test_the_records_leave_the_counts_and_a_certificate_comes(workspace):
    before = status(workspace)
    document = forget(workspace, ["00003", "00140"], name="ticket 7")
    assert document["records"] == {"public": 120, "private": 148, "forgotten": 2}
    assert document["honoured"] == ["ticket 7"]
    assert [one["state"] for one in document["requests"]] == ["honoured"]
    assert document["model"]["sha256"] != before["model"]["sha256"]
    assert document["certificate"]["epsilon"] <= 1
    certificate = parse_certificate((workspace / "certificates/1.json").read_text())
    assert differences(certificate) == []
    assert certificate.requests == []
    assert "ticket 7" not in (workspace / "certificates/1.json").read_text()
    assert certificate.model_sha256 == document["model"]["sha256"]


def test_forgotten_rows_are_in_no_file_and_all_others_are(tmp_path):
    private = private_people()
    private["age"][3], private["colour"][3], private["age"][4] = 77.125, "ultraviolet", 66.625
    workspace = fitted(tmp_path, private)
    before = files_of(workspace)
    forget(workspace, ["00003"])
    after = files_of(workspace)
    assert any(b"ultraviolet" in content for content in before.values())
    assert not any(b"ultraviolet" in content for content in after.values())
    assert b"ultraviolet" not in b"".join(
        path.read_bytes() for path in workspace.glob("ledger.sqlite*")
    )
    kept = private_chunk(workspace)
    left = [row for row in range(150) if row != 3]
    table = read(kept)
    for name, column in private.items():
        missing = "" if name == "colour" else None  # as CSV has it
        assert table[name] == [missing if column[row] is None else column[row] for row in left]
    public = read(workspace / "records/public.parquet")
    assert public["id"] == public_people()["id"]


def test_forgotten_rows_of_the_stored_tensors_are_zero_and_no_others(workspace):
    forget(workspace, ["00003", "00004"])
    (chunk,) = (workspace / "secret").glob("saved/secret/chunk-*.safetensors")
    tensors = load_file(chunk)
    features = tensors["features"].numpy()  # public rows come first
    gone = [120 + 3, 120 + 4]
    assert not features[gone].any()
    assert not tensors["targets"][gone].any()
    assert np.delete(features, gone, axis=0).any(axis=1).all()


def test_what_knew_the_records_is_deleted(workspace):
    before = files_of(workspace)
    forget(workspace, ["00003"])
    after = files_of(workspace)
    kept = {name for name in before if before[name] == after.get(name)}
    assert kept == {"records/public.parquet"}
    assert _kinds(after) == ONE_OF_EACH


def test_the_ledger_keeps_ids_and_no_values(workspace):
    forget(workspace, ["00003"])
    rows = ledger_rows(workspace)
    assert ("00003", "private", 120 + 3) in [row[:3] for row in rows["records"]]
    assert {len(row) for row in rows["records"]} == {4}  # and a seal
    assert len(rows["records"]) == 270


def test_requests_add_up(workspace):
    forget(workspace, ["00003"], name="first")
    forget(workspace, ["00004", "00005"], name="second")
    document = status(workspace)
    assert document["records"] == {"public": 120, "private": 147, "forgotten": 3}
    current = parse_certificate((workspace / "certificates/2.json").read_text())
    assert current.forgotten == 3
    assert current.sequence == 2
    assert verify(workspace)["valid"]


def test_names_are_published_where_that_was_asked_for(tmp_path):
    workspace = fitted(tmp_path, publish_names=True)
    forget(workspace, ["00003"], name="first")
    forget(workspace, ["00004"], name="second")
    current = parse_certificate((workspace / "certificates/2.json").read_text())
    assert current.requests == ["second"]
    assert verify(workspace)["valid"]


@pytest.mark.parametrize("released", [True, False])
def test_hash_and_scores_of_an_unreleased_model_are_erased(tmp_path, released):
    """Without noise, whoever has the tables can make the model again and compare hashes."""
    workspace = fitted(tmp_path, released=released)
    ((*_, scores),) = ledger_rows(workspace)["models"]
    sha256 = status(workspace)["model"]["sha256"]
    forget(workspace, ["00003"])
    first, second = ledger_rows(workspace)["models"]
    assert first[-1] == (scores if released else None)
    assert second[-1] is None  # the report evaluates the current model when it is drawn
    content = b"".join(path.read_bytes() for path in workspace.rglob("*") if path.is_file())
    assert (sha256.encode() in content) == released


def test_digests_of_files_with_forgotten_records_are_erased(workspace):
    """Whoever has the other rows could try which values give the digest."""
    seal = ledger_rows(workspace)["models"][-1][4]
    trace = hashlib.sha256(private_chunk(workspace).read_bytes()).hexdigest().encode()
    assert seal.encode() in (workspace / "ledger.sqlite").read_bytes()
    assert trace in (workspace / "secret/saved/secret/index.json").read_bytes()
    forget(workspace, ["00003"])
    contents = [path.read_bytes() for path in workspace.rglob("*") if path.is_file()]
    assert not any(trace in content or seal.encode() in content for content in contents)


@pytest.mark.parametrize("strategy", ["residual", "langevin", "noise_first", "retrain"])
def test_every_strategy_forgets(tmp_path, strategy):
    workspace = fitted(tmp_path, strategy=strategy)
    document = forget(workspace, ["00003"])
    assert document["certificate"]["strategy"] == strategy
    assert verify(workspace)["valid"]


def test_all_private_records_may_leave_where_public_ones_remain(workspace):
    document = forget(workspace, private_people()["id"])
    assert document["records"] == {"public": 120, "private": 0, "forgotten": 150}
    assert verify(workspace)["valid"]
    assert predictions(workspace)


# ---- ids ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "complaint"),
    [
        (["nobody"], "'nobody' is unknown"),
        (["3"], "'3' is unknown"),  # its zeros belong to it
        ([" 00003"], "' 00003' is unknown"),
        ([""], "'' is unknown"),
        (["90003"], "'90003' is public"),
        (["00001", "00003"], "'00001' is already forgotten"),
        (["00005", "00003", "00005"], "'00005' is given twice"),
        (["00003", "nobody"], "'nobody' is unknown"),
    ],
)
def test_an_id_that_cannot_leave_is_named_and_nothing_is_recorded(workspace, ids, complaint):
    forget(workspace, ["00001"])
    before = everything_in(workspace)
    with pytest.raises(InvalidInput, match=complaint):
        forget(workspace, ids)
    assert everything_in(workspace) == before


def test_an_id_that_is_already_asked_for_is_refused_by_name(workspace):
    leave_pending(workspace, "00003")
    before = everything_in(workspace)
    with pytest.raises(InvalidInput, match=r"'00003' is already in request 1, which is pending"):
        forget(workspace, ["00003", "00004"])
    assert everything_in(workspace) == before


def test_nothing_to_do_is_refused(workspace):
    before = everything_in(workspace)
    with pytest.raises(InvalidInput, match="no request is pending"):
        forget(workspace)
    assert everything_in(workspace) == before


def test_a_name_is_taken_once(workspace):
    forget(workspace, ["00003"], name="mine")
    before = everything_in(workspace)
    with pytest.raises(InvalidInput, match="'mine' is taken"):
        forget(workspace, ["00004"], name="mine")
    assert everything_in(workspace) == before


def test_integer_ids_are_forgotten_by_their_digits(tmp_path):
    private = private_people() | {"id": list(range(150))}
    workspace = fitted(tmp_path, private)
    forget(workspace, ["7"])
    kept = private_chunk(workspace)
    assert "7" not in map(str, read(kept)["id"])
    assert len(read(kept)["id"]) == 149


# ---- pending ------------------------------------------------------------------------------------


def test_pending_requests_are_honoured_first_and_in_order(workspace):
    leave_pending(workspace, "00003", "00004")
    document = forget(workspace, ["00005"])
    assert document["honoured"] == ["request 1", "request 2"]
    assert document["records"]["forgotten"] == 3
    assert sorted(path.name for path in (workspace / "certificates").iterdir()) == [
        "1.json",
        "2.json",
    ]


def test_a_request_without_a_certificate_stays_pending_and_the_model_as_it_was(tmp_path):
    workspace = fitted(tmp_path, strategy="langevin")  # its noise has a capacity
    before = files_of(workspace)
    with pytest.raises(Pending, match="request 1 stays pending: "):
        forget(workspace, private_people()["id"][:60])
    document = status(workspace)
    assert [one["state"] for one in document["requests"]] == ["pending"]
    assert document["certificate"] is None
    assert files_of(workspace) == before


def test_an_exception_halfway_leaves_the_request_pending_and_the_next_run_finishes(
    workspace, monkeypatch
):
    before, model = predictions(workspace), status(workspace)["model"]
    with monkeypatch.context() as patch:
        patch.setattr("expunge.workspace.honour.write_whole", interrupted)
        with pytest.raises(KeyboardInterrupt):
            forget(workspace, ["00003"])
    document = status(workspace)
    assert [one["state"] for one in document["requests"]] == ["pending"]
    assert document["model"] == model
    assert predictions(workspace) == before
    assert forget(workspace)["records"]["forgotten"] == 1
    assert len(list((workspace / "models").iterdir())) == 1


def interrupted(*_):
    raise KeyboardInterrupt


# ---- others at work -----------------------------------------------------------------------------


def test_a_second_writer_is_told_and_readers_go_on(workspace, monkeypatch):
    monkeypatch.setattr(sqlite_file, "PATIENCE", 1)
    before = everything_in(workspace)
    other = sqlite3.connect(workspace / "ledger.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("INSERT INTO settings VALUES ('half', 'done')")
    with pytest.raises(Busy, match="another process is working"):
        forget(workspace, ["00003"])
    assert status(workspace)["requests"] == []
    assert predictions(workspace)
    assert verify(workspace)["valid"]
    other.execute("ROLLBACK")
    other.close()
    assert everything_in(workspace) == before
    assert forget(workspace, ["00003"])["records"]["forgotten"] == 1


# ---- the same command twice -----------------------------------------------------------------


@pytest.mark.parametrize("name", [None, "ticket 7"])
def test_the_same_request_again_is_reported_and_changes_nothing(workspace, name):
    first = forget(workspace, ["00003", "00004"], name=name)
    before = everything_in(workspace)
    again = forget(workspace, ["00004", "00003"], name=name)
    assert everything_in(workspace) == before
    assert first["repeated"] is None
    assert again["repeated"] == name or "request 1"
    assert again["requests"] == first["requests"]
    assert (again["honoured"], again["refused"]) == ([], [])


def test_the_same_request_again_is_taken_up_where_it_was_left(workspace):
    leave_pending(workspace, "00003")
    document = forget(workspace, ["00003"])
    assert document["repeated"] == "request 1"
    assert document["honoured"] == ["request 1"]
    assert len(document["requests"]) == 1


def test_the_same_ids_under_another_name_are_another_request(workspace):
    forget(workspace, ["00003"], name="mine")
    before = everything_in(workspace)
    with pytest.raises(InvalidInput, match="'00003' is already forgotten"):
        forget(workspace, ["00003"], name="yours")
    assert everything_in(workspace) == before


# ---- honoured means erased ----------------------------------------------------------------------


@pytest.fixture
def stuck(workspace, tmp_path):
    """A link in the place of the private records, which no command can erase."""
    records = private_chunk(workspace)
    records.rename(tmp_path / "rows.parquet")
    records.symlink_to(tmp_path / "rows.parquet")
    return records


def test_what_cannot_be_erased_keeps_the_request_committed(workspace, stuck):
    with pytest.raises(
        Pending, match=f"request 1 is committed, but not erased: {stuck}"
    ) as refused:
        forget(workspace, ["00003"])
    document = status(workspace)
    assert document == {key: refused.value.document[key] for key in document}
    assert [one["state"] for one in document["requests"]] == ["committed"]
    assert document["unerased"] == [str(stuck)]
    assert document["certificate"]["epsilon"] <= 1
    checked = verify(workspace)
    assert checked["valid"]
    assert (checked["committed"], checked["unerased"]) == (["request 1"], [str(stuck)])
    assert predictions(workspace)


def test_a_committed_request_keeps_no_other_from_being_committed(workspace, stuck):
    for ids in (["00003"], ["00004"]):
        with pytest.raises(Pending):
            forget(workspace, ids)
    assert [one["state"] for one in status(workspace)["requests"]] == ["committed"] * 2
    assert status(workspace)["records"]["forgotten"] == 2


@pytest.mark.parametrize("ids", [[], ["00003"], ["00005"]], ids=["none", "the same", "others"])
def test_the_next_forget_erases_what_is_left_and_the_request_is_honoured(workspace, stuck, ids):
    with pytest.raises(Pending):
        forget(workspace, ["00003"])
    stuck.unlink()
    document = forget(workspace, ids)
    assert document["honoured"][0] == "request 1"
    assert {one["state"] for one in document["requests"]} == {"honoured"}
    assert document["unerased"] == []
    assert _kinds(files_of(workspace)) == Counter(ONE_OF_EACH) + Counter(
        certificates=ids == ["00005"]
    )


def test_a_certificate_that_cannot_be_written_keeps_the_request_committed(workspace, monkeypatch):
    from expunge.workspace import folder

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(folder, "write_whole", full)
        with pytest.raises(Pending, match=r"certificates/1.json: cannot be written"):
            forget(workspace, ["00003"])
    assert verify(workspace)["valid"]
    assert forget(workspace)["honoured"] == ["request 1"]
    assert verify(workspace)["committed"] == []


def test_the_log_of_earlier_entries_is_erased_even_while_somebody_has_the_ledger_open(tmp_path):
    """The hash of an unreleased model tells who was among its records."""
    workspace = fitted(tmp_path, released=False)
    sha256 = status(workspace)["model"]["sha256"].encode()
    other = sqlite3.connect(workspace / "ledger.sqlite", isolation_level=None)
    other.execute("UPDATE models SET created = 'a page in the log'")
    Ledger(workspace / "ledger.sqlite").create()  # sealed as it is now
    assert sha256 in (workspace / "ledger.sqlite-wal").read_bytes()
    forget(workspace, ["00003"])
    for path in workspace.glob("ledger.sqlite*"):
        assert sha256 not in path.read_bytes()
    other.close()


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda folder: shutil.rmtree(folder), r"certificates/1.json: cannot be written"),
        (lambda folder: (folder / "1.json").mkdir(), r"1.json: is no file of its own"),
        (
            lambda folder: (folder / "1.json").symlink_to(folder.parent / "elsewhere"),
            r"1.json: is no file of its own",
        ),
    ],
    ids=["no folder", "a folder", "a link"],
)
def test_whatever_stands_in_a_certificates_place_keeps_the_request_committed(
    workspace, spoil, problem
):
    folder = workspace / "certificates"
    spoil(folder)
    with pytest.raises(Pending, match=problem):
        forget(workspace, ["00003"])
    assert [one["state"] for one in status(workspace)["requests"]] == ["committed"]
    if folder.exists():
        file = folder / "1.json"
        file.unlink() if file.is_symlink() else file.rmdir()
    else:
        folder.mkdir()
    assert forget(workspace, [])["requests"][0]["state"] == "honoured"
    assert verify(workspace)["valid"]


def test_a_reader_in_the_middle_of_earlier_entries_keeps_the_request_committed(
    workspace, monkeypatch
):
    monkeypatch.setattr(sqlite_file, "PATIENCE", 1)
    other = sqlite3.connect(workspace / "ledger.sqlite", isolation_level=None)
    other.execute("UPDATE models SET created = 'a page in the log'")
    Ledger(workspace / "ledger.sqlite").create()  # sealed as it is now
    other.execute("BEGIN")
    other.execute("SELECT * FROM models").fetchall()
    with pytest.raises(Pending, match="somebody still reads earlier entries"):
        forget(workspace, ["00003"])
    other.execute("ROLLBACK")
    assert forget(workspace)["honoured"] == ["request 1"]
    other.close()


# ---- others at work, again ----------------------------------------------------------------------


def test_who_waits_is_served_by_the_one_at_work(workspace, monkeypatch):
    folder = Folder.opened(workspace)
    pauses = []

    def meanwhile(seconds):
        """The other process honours the request, then is done."""
        pauses.append(seconds)
        (request,) = folder.look(lambda entries, _: entries.requests("pending"))
        honour(folder, lease, RequestBatch((request,)), lambda _: None)
        assert folder.finish(lease) == ()

    monkeypatch.setattr(module.time, "sleep", meanwhile)
    with folder.leased() as lease:
        document = forget(workspace, ["00003"])
    assert len(pauses) == 1
    assert document["honoured"] == ["request 1"]
    assert document["requests"][0]["state"] == "honoured"


def test_who_waits_takes_over_when_the_one_at_work_is_gone(workspace, monkeypatch):
    work = Folder.opened(workspace).leased()
    work.__enter__()
    monkeypatch.setattr(module.time, "sleep", lambda _: work.__exit__(None, None, None))
    assert forget(workspace, ["00003"])["honoured"] == ["request 1"]


def at_first_writing(workspace, change):
    """A callback for `forget`: before its first commit another process changes the ledger."""
    stages = []

    def progress(stage):
        stages.append(stage)
        if stage.endswith("writing") and sum(one.endswith("writing") for one in stages) == 1:
            folder = Folder.opened(workspace)
            with folder.ledger.writing() as entries:
                change(entries)
            folder.ledger.close()

    progress.stages = stages
    return progress


def test_who_was_overtaken_begins_again(workspace):
    progress = at_first_writing(workspace, lambda entries: entries.take_lease("it dies at once"))
    document = forget(workspace, ["00003"], progress=progress)
    assert sum(stage.endswith("writing") for stage in progress.stages) == 2
    assert document["records"]["forgotten"] == 1
    assert document["requests"][0]["state"] == "honoured"
    assert _kinds(files_of(workspace)) == ONE_OF_EACH
    assert verify(workspace)["valid"]


def test_requests_that_come_while_another_is_in_work_are_honoured_too(workspace):
    """Whoever asked may be dead by then."""
    progress = at_first_writing(workspace, lambda entries: entries.add_request(["00004"]))
    document = forget(workspace, ["00003"], progress=progress)
    assert document["honoured"] == ["request 1", "request 2"]


# ---- many requests, one model -------------------------------------------------------------------

THREE = {"ticket 7": ["00003"], "ticket 8": ["00004", "00140"], "ticket 9": ["00021"]}


def certificates_of(workspace):
    paths = sorted((workspace / "certificates").iterdir(), key=lambda path: int(path.stem))
    return [parse_certificate(path.read_text()) for path in paths]


def test_requests_of_a_batch_share_a_model_and_have_a_certificate_each(workspace):
    forget(workspace, ["00001"])
    document = forget_batch(workspace, THREE)
    assert document["honoured"] == list(THREE)
    assert document["records"] == {"public": 120, "private": 145, "forgotten": 5}
    assert document["model"]["number"] == 3
    assert [one["certificate"] for one in document["requests"]] == [1, 2, 3, 4]
    certificates = certificates_of(workspace)
    assert [one.batch and one.batch.place for one in certificates] == [None, 1, 2, 3]
    assert {one.model_sha256 for one in certificates[1:]} == {document["model"]["sha256"]}
    assert {one.forgotten for one in certificates[1:]} == {5}
    assert [differences(one) for one in certificates] == [[]] * 4
    checked = verify(workspace)
    assert (checked["valid"], checked["together"]["models"]) == (True, 2)
    forget(workspace, ["00005"])
    checked = verify(workspace)
    assert (checked["valid"], checked["together"]["models"]) == (True, 3)


def test_requests_of_a_batch_may_have_one_certificate_together(tmp_path):
    workspace = fitted(tmp_path, publish_names=True)
    document = forget_batch(workspace, THREE, each=False)
    assert [one["certificate"] for one in document["requests"]] == [1, 1, 1]
    (certificate,) = certificates_of(workspace)
    assert certificate.requests == list(THREE)
    assert (certificate.batch.of, certificate.batch.place) == (3, None)
    assert verify(workspace)["valid"]


def test_names_of_a_batch_stand_each_on_its_own_certificate(tmp_path):
    workspace = fitted(tmp_path, publish_names=True)
    forget_batch(workspace, THREE)
    assert [one.requests for one in certificates_of(workspace)] == [[name] for name in THREE]
    assert verify(workspace)["valid"]


def test_the_same_batch_again_is_reported_and_changes_nothing(workspace):
    forget_batch(workspace, THREE)
    before = everything_in(workspace)
    again = forget_batch(workspace, THREE)
    assert (again["repeated"], again["honoured"]) == (list(THREE), [])
    assert everything_in(workspace) == before


def test_a_batch_that_has_grown_is_honoured_for_what_is_new(workspace):
    forget_batch(workspace, THREE)
    document = forget_batch(workspace, THREE | {"ticket 10": ["00050"], "ticket 11": ["00051"]})
    assert document["repeated"] == list(THREE)
    assert document["honoured"] == ["ticket 10", "ticket 11"]
    assert document["model"]["number"] == 3
    assert verify(workspace)["valid"]


@pytest.mark.parametrize(
    ("requests", "complaint"),
    [
        ({"a": ["00003"], "b": ["00003"]}, "'00003' is in 'a' and in 'b'"),
        ({"a": ["00003"], "b": ["nobody"]}, "'nobody' is unknown"),
        ({"a": ["00003"], "b": ["90003"]}, "'90003' is public"),
        ({"a": ["00003"], "b": ["00001"]}, "'00001' is already forgotten"),
        ({"a": ["00003", "00003"]}, "'00003' is given twice"),
        ({"a": ["00003"], "b": []}, "none given in 'b'"),
        ({"a": ["00003"], " ": ["00004"]}, "the name is empty"),
        ({"a": ["00003"], "taken": ["00004"]}, "the name 'taken' is taken"),
        ({}, "none given"),
    ],
)
def test_what_cannot_be_asked_for_refuses_the_whole_batch(workspace, requests, complaint):
    forget(workspace, ["00001"], name="taken")
    before = everything_in(workspace)
    with pytest.raises(InvalidInput, match=complaint):
        forget_batch(workspace, requests)
    assert everything_in(workspace) == before


def test_ids_of_a_batch_that_are_left_out_are_told_and_the_same_file_can_be_sent_every_day(
    workspace,
):
    forget(workspace, ["00001"])
    requests = THREE | {"ticket 1": ["00001", "nobody"], "ticket 2": ["00050", "nobody"]}
    for done in (["ticket 7", "ticket 8", "ticket 9", "ticket 2"], []):
        document = forget_batch(workspace, requests, skip_unknown=True, skip_forgotten=True)
        assert document["honoured"] == done
        told = {(one["request"], one["id"]): one["outcome"] for one in document["outcomes"]}
        assert told["ticket 1", "00001"] == "already forgotten"
        assert told["ticket 2", "nobody"] == "unknown"
    assert document["records"]["forgotten"] == 6
    assert verify(workspace)["valid"]


def test_a_batch_without_a_certificate_stays_pending_as_a_whole(tmp_path):
    workspace = fitted(tmp_path, strategy="langevin")  # its noise has a capacity
    before, ids = files_of(workspace), private_people()["id"]
    with pytest.raises(Pending, match="request 1 stays pending: "):
        forget_batch(workspace, {"a": ids[:30], "b": ids[30:60]})
    assert [one["state"] for one in status(workspace)["requests"]] == ["pending"] * 2
    assert files_of(workspace) == before


def test_a_batch_that_was_interrupted_is_still_one_model(workspace, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("expunge.workspace.honour.write_whole", interrupted)
        with pytest.raises(KeyboardInterrupt):
            forget_batch(workspace, THREE, each=False)
    assert [one["state"] for one in status(workspace)["requests"]] == ["pending"] * 3
    document = forget(workspace)
    assert document["honoured"] == list(THREE)
    assert document["model"]["number"] == 2
    assert len(certificates_of(workspace)) == 1


@pytest.mark.parametrize("strategy", ["residual", "langevin", "noise_first", "retrain"])
def test_every_strategy_honours_a_batch(tmp_path, strategy):
    workspace = fitted(tmp_path, strategy=strategy)
    forget_batch(workspace, THREE)
    assert verify(workspace)["valid"]


def test_a_ledger_of_an_earlier_version_takes_a_batch(workspace):
    change_ledger(workspace, "DROP TABLE batches")
    change_ledger(workspace, "DELETE FROM seals WHERE name = 'batches'")
    assert forget_batch(workspace, THREE)["honoured"] == list(THREE)
    assert verify(workspace)["valid"]


# ---- killed -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("moments", ["crucial", "all"])
def test_whoever_is_killed_leaves_the_old_model_and_its_request_or_the_new_one(tmp_path, moments):
    workspace = usual(tmp_path)
    old, scratch = status(workspace), tmp_path / "scratch"
    scratch.mkdir()
    look = [["status", "@", "--json"], ["verify", "@", "--json"]]
    guess = ["predict", "@", str(tmp_path / "public.csv"), "--output", "@.csv", "--json"]
    outcomes = killed(
        {
            "command": ["forget", "@", "00003", "00004", "--json"],
            "then": [*look, guess, ["forget", "@", "--json"], *look],
            "start": str(workspace),
            "scratch": str(scratch),
            "moments": moments,
        }
    )
    assert [one["killed"] for one in outcomes] == [True] * (len(outcomes) - 1) + [False]
    states = [_state(one["then"], old) for one in outcomes]
    order = ["unasked", "pending", "committed", "honoured"]
    assert states == sorted(states, key=order.index)
    assert set(states) == set(order)
    for state, outcome in zip(states, outcomes, strict=True):
        if state != "unasked":
            after = outcome["after"]
            if state == "honoured":  # its lock, if it was killed just before it took it away
                after = [name for name in after if name != "secret/.lock"]
            assert _kinds(after) == ONE_OF_EACH
            assert after == [name for name in after if "/." not in name]


@pytest.mark.slow
@pytest.mark.parametrize("moments", ["crucial"])
def test_whoever_is_killed_leaves_none_of_a_batch_or_all_of_it(tmp_path, moments):
    workspace, scratch, table = usual(tmp_path), tmp_path / "scratch", tmp_path / "requests.csv"
    scratch.mkdir()
    table.write_text("request,id\nticket 7,00003\nticket 8,00004\nticket 8,00140\n")
    look = [["status", "@", "--json"], ["verify", "@", "--json"]]
    outcomes = killed(
        {
            "command": ["forget", "@", "--requests", str(table), "--json"],
            "then": [*look, ["forget", "@", "--requests", str(table), "--json"], *look],
            "start": str(workspace),
            "scratch": str(scratch),
            "moments": moments,
        }
    )
    seen = set()
    for outcome in outcomes:
        assert [one["status"] for one in outcome["then"]] == [0] * 5
        first, checked, _, last, checked_again = (json.loads(one["out"]) for one in outcome["then"])
        states = {one["state"] for one in first["requests"]}
        assert len(first["requests"]) in (0, 2)
        assert len(states) <= 1
        seen |= states
        assert checked["valid"]
        assert checked_again["valid"]
        assert last["model"]["number"] == 2
        assert [one["state"] for one in last["requests"]] == ["honoured"] * 2
        assert [one["certificate"] for one in last["requests"]] == [1, 2]
    assert seen == {"pending", "committed", "honoured"}


# Model, certificate, index, document, state and two chunks, of rows and records, are the saved one.
ONE_OF_EACH = {"certificates": 1, "models": 1, "records": 1, "secret": 7}


def _kinds(names):
    return Counter(name.split("/")[0] for name in names if "." in name and "/" in name)


def _state(outcomes, old):
    """What the kill left, after a look at everything that must hold in any state."""
    shown, checked, guessed, finished, shown_again, checked_again = outcomes
    for one in (shown, checked, guessed, shown_again, checked_again):
        assert one["status"] == 0, one
    found, later = json.loads(shown["out"]), json.loads(shown_again["out"])
    assert json.loads(guessed["out"])["model"]["sha256"] == found["model"]["sha256"]
    assert json.loads(checked_again["out"])["valid"]
    states = [one["state"] for one in found["requests"]]
    if states in (["committed"], ["honoured"]):
        assert found["model"]["number"] == 2
        assert found["certificate"]["epsilon"] <= 1
        assert found["records"]["forgotten"] == 2
        assert later["model"] == found["model"]
        assert [one["state"] for one in later["requests"]] == ["honoured"]
        assert bool(json.loads(checked["out"])["committed"]) == (states == ["committed"])
        return states[0]
    assert found["model"] == old["model"]
    assert found["certificate"] is None
    assert found["records"] == old["records"]
    if states == []:
        assert finished["status"] == 2
        return "unasked"
    assert states == ["pending"]
    assert json.loads(checked["out"])["pending"] == 1
    assert finished["status"] == 0, finished
    assert later["records"]["forgotten"] == 2
    assert later["model"]["number"] == 2
    assert later["certificate"]["epsilon"] <= 1
    return "pending"
