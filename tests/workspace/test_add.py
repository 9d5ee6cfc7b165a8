"""Adding: records join whole or not at all, and mean what those of the fit mean."""

import json
import unicodedata

import numpy as np
import pytest

from expunge.accounting.certificate import parse_certificate
from expunge.accounting.verification import differences
from expunge.errors import InvalidInput, NoCertificate, Refused
from expunge.store import read
from expunge.store.lock import hold_lock
from expunge.unlearning.linear import saved_rows
from expunge.workspace import add as module
from expunge.workspace import at_work
from expunge.workspace.add import add
from expunge.workspace.at_work import Pending
from expunge.workspace.csv_tables import CsvForm
from expunge.workspace.current_model import loaded
from expunge.workspace.folder import Folder
from expunge.workspace.forget import forget
from expunge.workspace.predict import predict
from expunge.workspace.refresh import refresh
from expunge.workspace.report import report
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.killed import killed
from tests.workspace.tables_made import (
    change_ledger,
    everything_in,
    files_of,
    fitted,
    ledger_rows,
    people,
    private_people,
    usual,
    write,
)
from tests.workspace.tables_made import read as read_table

NEW = people(20, seed=9, prefix="1")


@pytest.fixture
def workspace(tmp_path):
    return usual(tmp_path)


def some(columns, *places, **changed):
    """These rows of a table, some columns changed."""
    return {name: [column[place] for place in places] for name, column in columns.items()} | changed


def given(workspace, columns, name="more.csv"):
    return write(workspace.parent / name, columns)


def joined(workspace, columns=NEW, **options):
    return add(workspace, given(workspace, columns), **options)


def stored(workspace):
    """The private records as given, by id; every chunk."""
    tables = [read_table(path) for path in sorted(workspace.glob("secret/saved/secret/*.parquet"))]
    return {
        id_: {name: table[name][row] for name in table}
        for table in tables
        for row, id_ in enumerate(table["id"])
    }


# ---- what comes of it ---------------------------------------------------------------------------


def test_records_join_and_the_ledger_goes_on(workspace):
    before = status(workspace)
    document = joined(workspace)
    assert document["joined"] == 20
    assert document["records"] == {"public": 120, "private": 170, "forgotten": 0}
    assert document["model"]["number"] == 2
    assert document["model"]["sha256"] != before["model"]["sha256"]
    assert document["certificate"] is None  # nothing was forgotten
    (addition,) = document["additions"]
    assert (addition["model"], addition["records"], addition["state"]) == (2, 20, "honoured")
    assert document["requests"] == []
    assert document["unerased"] == []
    assert verify(workspace)["valid"]
    assert stored(workspace)["10004"]["age"] == NEW["age"][4]
    assert len(stored(workspace)) == 170


def test_the_model_is_that_of_one_fit_to_all_of_them(tmp_path):
    """Without noise until something is forgotten; both within the tolerance of one minimiser."""
    together = {name: column + NEW[name] for name, column in private_people().items()}
    (tmp_path / "whole").mkdir()
    # The default delta is smaller for more records, and so is nothing else.
    whole = fitted(tmp_path / "whole", together, delta=1e-5)
    (tmp_path / "grown").mkdir()
    grown = fitted(tmp_path / "grown", delta=1e-5)
    joined(grown)
    weights = [
        loaded(folder, folder.look(lambda _, model: model), on_disk=False)
        for folder in map(Folder.opened, (whole, grown))
    ]
    assert np.allclose(weights[0].coef_, weights[1].coef_, atol=3e-3)  # `distance` of the default
    rows = [model.fitted_.job for model in weights]
    assert (rows[0].features == rows[1].features).all()  # bit for bit what fit makes of them
    assert (rows[0].targets == rows[1].targets).all()


def test_newcomers_are_forgotten_like_all_others(workspace):
    joined(workspace)
    document = forget(workspace, ["10003", "00003"])
    assert document["records"] == {"public": 120, "private": 168, "forgotten": 2}
    certificate = parse_certificate((workspace / "certificates/1.json").read_text())
    assert (certificate.records, certificate.joined, certificate.forgotten) == (290, 20, 2)
    assert (certificate.sequence, certificate.generation) == (1, 2)
    assert verify(workspace)["valid"]
    assert {"10003", "00003"} & set(stored(workspace)) == set()


def test_an_addition_after_a_deletion_is_certified_and_takes_its_place_in_the_chain(workspace):
    forget(workspace, ["00003"])
    document = joined(workspace)
    assert document["certificate"]["epsilon"] <= 1
    certificate = parse_certificate((workspace / "certificates/2.json").read_text())
    assert differences(certificate) == []
    assert (certificate.sequence, certificate.joined, certificate.forgotten) == (2, 20, 1)
    assert certificate.requests == []
    found = verify(workspace)
    assert found["valid"]
    assert (found["certificates"], found["together"]["models"]) == (2, 2)
    assert forget(workspace, ["10000"])["certificate"]["epsilon"] <= 1
    assert verify(workspace)["valid"]


def test_everything_else_goes_on_too(workspace):
    joined(workspace)
    refresh(workspace)
    forget(workspace, ["10001"])
    joined(workspace, people(3, seed=4, prefix="2"))
    predict(workspace, workspace.parent / "public.csv", workspace.parent / "said.csv")
    report(workspace, workspace.parent / "report.html")
    page = (workspace.parent / "report.html").read_text()
    assert "20 records joined" in page
    assert verify(workspace)["valid"]


@pytest.mark.parametrize("strategy", ["langevin", "noise_first", "retrain"])
def test_every_strategy_takes_records_in(tmp_path, strategy):
    workspace = fitted(tmp_path, strategy=strategy)
    joined(workspace)
    assert forget(workspace, ["10003"])["certificate"]["strategy"] == strategy
    joined(workspace, people(3, seed=4, prefix="2"))
    assert verify(workspace)["valid"]


def test_values_that_cannot_be_read_are_counted_and_no_reason_to_refuse(workspace):
    told = []
    columns = some(NEW, 0, 1, 2, age=["old", "30", "31"], label=["yes", "perhaps", "no"])
    document = joined(workspace, columns, notice=told.append)
    assert document["joined"] == 3
    assert any("column 'age': 1 of 3 cannot be read as a number" in line for line in told)
    assert any("labels in 'label': 1 of 3 cannot be read" in line for line in told)
    folder = Folder.opened(workspace)
    model = loaded(folder, folder.look(lambda _, current: current), on_disk=False)
    *_, unlabelled, _ = model.fitted_.job.features
    assert not unlabelled[:-1].any()  # a blank row


def test_a_record_that_comes_alone_does_not_decide_whether_it_joins(workspace):
    columns = some(NEW, 0, age=["old"], label=["perhaps"])
    told = []
    assert joined(workspace, columns, notice=told.append)["joined"] == 1
    assert joined(workspace, columns, notice=told.append, replace=True)["joined"] == 1
    (workspace.parent / "ragged.csv").write_text("id,age,colour,member,label\n10001,30,red\n")
    assert add(workspace, workspace.parent / "ragged.csv", notice=told.append)["joined"] == 1
    assert sum("1 of 1 cannot be read" in line for line in told) == 4 + 1


def test_ragged_rows_are_blank_rows(workspace):
    told = []
    text = "id,age,colour,member,label\n10000,30,red,true,yes\n10001,30,red\n10002,31,red,true,no\n"
    (workspace.parent / "ragged.csv").write_text(text)
    document = add(workspace, workspace.parent / "ragged.csv", notice=told.append)
    assert document["joined"] == 3
    assert told
    assert verify(workspace)["valid"]


def test_a_csv_comes_as_it_is_said_to_be_written(workspace):
    text = "id;age;colour;member;label\n10000;30,5;red;true;yes\n"
    (workspace.parent / "semicolons.csv").write_text(text)
    add(workspace, workspace.parent / "semicolons.csv", form=CsvForm(";", ","))
    assert stored(workspace)["10000"]["age"] == 30.5


def test_parquet_and_csv_lie_side_by_side(workspace):
    add(workspace, given(workspace, some(NEW, 0, 1), "more.parquet"))
    add(workspace, given(workspace, some(NEW, 2, 3)))
    assert len(stored(workspace)) == 154
    assert forget(workspace, ["10000", "10003"])["records"]["private"] == 152
    assert set(stored(workspace)) == {*private_people()["id"], "10001", "10002"}
    assert verify(workspace)["valid"]


# ---- what lies where ----------------------------------------------------------------------------


def test_full_chunks_stay_the_files_that_they_are_and_the_last_ones_are_filled(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(saved_rows, "CHUNK_ROWS", 32)
    workspace = fitted(tmp_path)
    folder = Folder.opened(workspace)
    before = {table: read(folder.saved).chunks(table) for table in ("rows", "records")}
    joined(workspace, people(70, seed=9, prefix="1"))
    after = {table: read(folder.saved).chunks(table) for table in ("rows", "records")}
    for table, first in (("rows", 0), ("records", 120)):
        assert after[table][: len(before[table]) - 1] == before[table][:-1]
        bounds = [(chunk.first, chunk.stop) for chunk in after[table]]
        assert bounds == list(saved_rows.bounds_of(first, 340))
    assert len(stored(workspace)) == 220
    forget(workspace, ["10069", "00149", "10000"])
    joined(workspace, people(2, seed=3, prefix="2"))
    assert {"10069", "00149", "10000"} & set(stored(workspace)) == set()
    assert len(stored(workspace)) == 219
    assert verify(workspace)["valid"]


def test_what_an_addition_reads_and_writes_does_not_grow_with_the_records(tmp_path, monkeypatch):
    """Chunks that are full may be unreadable: nobody looks at them."""
    monkeypatch.setattr(saved_rows, "CHUNK_ROWS", 64)
    tables = people(1500, seed=2, prefix="0"), people(300, seed=1, prefix="9")
    workspace = fitted(tmp_path, *tables)
    folder = Folder.opened(workspace)
    for table in ("rows", "records"):
        for chunk in read(folder.saved).chunks(table)[1:-1]:
            path = read(folder.saved).path_of(chunk)
            path.write_bytes(b"x" * path.stat().st_size)
    joined(workspace, some(NEW, 0))


def test_a_model_that_is_never_handed_out_leaves_no_hash_behind(tmp_path):
    workspace = fitted(tmp_path, released=False)
    sha256 = status(workspace)["model"]["sha256"]
    joined(workspace)
    assert not any(sha256.encode() in path.read_bytes() for path in workspace.rglob("ledger*"))


# ---- ids ----------------------------------------------------------------------------------------


def refusal(workspace, columns, **options):
    """The complaint; nothing has changed."""
    before = everything_in(workspace)
    with pytest.raises(InvalidInput) as refused:
        joined(workspace, columns, **options)
    assert everything_in(workspace) == before
    return str(refused.value)


def test_ids_that_cannot_join_are_all_named_and_nothing_changes(workspace):
    forget(workspace, ["00005"])
    columns = some(NEW, 0, 1, 2, 3, id=["00003", "00005", "90007", "new"])
    complaint = refusal(workspace, columns)
    assert "'00003' is there already; a record that is to be corrected needs --replace" in complaint
    assert "'00005' was forgotten; --again lets it come back" in complaint
    assert "'90007' is public" in complaint
    assert "'new'" not in complaint
    assert "'90007' is public" in refusal(workspace, some(NEW, 0, id=["90007"]), again=True)
    assert "is there twice" in refusal(workspace, some(NEW, 0, 1, id=["a", "a"]))


def test_an_id_in_another_unicode_form_is_the_same(workspace):
    composed, apart = (unicodedata.normalize(form, "Zoé") for form in ("NFC", "NFD"))
    joined(workspace, some(NEW, 0, id=[apart]))
    assert composed in stored(workspace)
    assert "is there already" in refusal(workspace, some(NEW, 1, id=[composed]))


def test_who_was_forgotten_comes_back_as_a_new_record_where_that_is_said(workspace):
    forget(workspace, ["00003"], name="ticket 1")
    document = joined(workspace, some(NEW, 0, id=["00003"]), again=True)
    assert document["records"] == {"public": 120, "private": 150, "forgotten": 1}
    assert document["requests"][0]["records"] == 1
    assert ledger_rows(workspace)["former"] == [(123, "00003", 1)]
    assert verify(workspace)["valid"]
    assert stored(workspace)["00003"]["age"] == NEW["age"][0]
    # the name is taken; it is not taken for the same request, which would leave the record there
    with pytest.raises(InvalidInput, match="'ticket 1' is taken"):
        forget(workspace, ["00003"], name="ticket 1")
    document = forget(workspace, ["00003"])
    assert document["honoured"] == ["request 2"]
    assert document["records"] == {"public": 120, "private": 149, "forgotten": 2}
    assert "00003" not in stored(workspace)
    assert verify(workspace)["valid"]
    joined(workspace, some(NEW, 1, id=["00003"]), again=True)
    assert len(ledger_rows(workspace)["former"]) == 2
    assert verify(workspace)["valid"]


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"shoe": [41]}, "column 'shoe' was not there at fit: leave it out of the file"),
        ({"age": None}, "no column 'age', which the model needs"),
        ({"label": None}, "no column 'label'"),
        ({"id": None}, "no column 'id'"),
    ],
)
def test_other_columns_than_those_of_the_fit_are_named(workspace, columns, complaint):
    table = {n: c for n, c in (some(NEW, 0) | columns).items() if c is not None}
    assert complaint in refusal(workspace, table)


# ---- corrections --------------------------------------------------------------------------------


def test_records_are_corrected_in_one_request_with_one_certificate(tmp_path):
    private = private_people()
    private["colour"][3] = "ultraviolet"
    workspace = fitted(tmp_path, private)
    columns = some(private, 3, 5, age=[33.25, 44.5], colour=["red", "blue"])
    document = joined(workspace, columns, replace=True, name="ticket 9")
    assert document["records"] == {"public": 120, "private": 150, "forgotten": 2}
    assert [(r["name"], r["records"], r["state"]) for r in document["requests"]] == [
        ("ticket 9", 2, "honoured")
    ]
    assert document["additions"][0]["records"] == 2
    certificate = parse_certificate((workspace / "certificates/1.json").read_text())
    assert (certificate.records, certificate.joined, certificate.forgotten) == (272, 2, 2)
    assert (certificate.sequence, certificate.generation) == (1, 1)
    assert verify(workspace)["valid"]
    assert stored(workspace)["00003"]["age"] == 33.25
    assert len(stored(workspace)) == 150
    assert not any(b"ultraviolet" in content for content in files_of(workspace).values())
    again = joined(workspace, some(columns, 0, age=[34.0]), replace=True)
    assert again["records"]["forgotten"] == 3
    assert forget(workspace, ["00003"])["records"]["forgotten"] == 4
    assert verify(workspace)["valid"]


def test_a_correction_of_what_is_not_there_is_refused(workspace):
    forget(workspace, ["00005"])
    columns = some(NEW, 0, 1, 2, id=["nobody", "00005", "90001"])
    complaint = refusal(workspace, columns, replace=True)
    assert "'nobody' is unknown, so there is nothing to replace" in complaint
    assert "'00005' was forgotten; add it with --again" in complaint
    assert "'90001' is public" in complaint
    change_ledger(
        workspace, "INSERT INTO requests VALUES (2, 'request 2', '2026-01-01', 'pending')"
    )
    change_ledger(workspace, "INSERT INTO requested VALUES (2, '00007')")
    complaint = refusal(workspace, some(NEW, 0, id=["00007"]), replace=True)
    assert "'00007' is already in request 2, which is pending" in complaint
    with pytest.raises(InvalidInput, match="only a request to replace records has a name"):
        joined(workspace, name="x")


@pytest.mark.parametrize("strategy", ["langevin", "noise_first"])
def test_a_strategy_whose_history_cannot_count_them_says_so(tmp_path, strategy):
    workspace = fitted(tmp_path, strategy=strategy)
    before = everything_in(workspace)[0]
    with pytest.raises(Refused, match="forget first, then add"):
        joined(workspace, some(private_people(), 3), replace=True)
    assert files_of(workspace) == before
    assert verify(workspace)["valid"]


# ---- all or nothing -----------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["add", "replace"])
def test_without_a_certificate_nothing_changes(workspace, monkeypatch, way):
    forget(workspace, ["00003"])
    before = files_of(workspace), ledger_rows(workspace)["records"]

    def refuse(*_, **__):
        raise NoCertificate("not today")

    monkeypatch.setattr("expunge.unlearning.requests.certify", refuse)
    columns = NEW if way == "add" else some(private_people(), 5)
    with pytest.raises(Refused, match="not today"):
        joined(workspace, columns, replace=way == "replace")
    monkeypatch.undo()
    assert (files_of(workspace), ledger_rows(workspace)["records"]) == before
    assert ledger_rows(workspace)["additions"] == []
    assert joined(workspace, columns, replace=way == "replace")["certificate"]


def test_a_refusal_by_the_ledger_at_the_last_moment_changes_nothing(workspace, monkeypatch):
    before = files_of(workspace)

    def refuse(*_):
        raise InvalidInput("ids", "planted")

    monkeypatch.setattr("expunge.ledger.Entries.join_records", refuse)
    with pytest.raises(InvalidInput, match="planted"):
        joined(workspace)
    monkeypatch.undo()
    assert status(workspace)["model"]["number"] == 1
    assert verify(workspace)["valid"]
    joined(workspace)
    assert len(files_of(workspace)) == len(before)


def test_whoever_works_is_waited_for(workspace, monkeypatch):
    held = hold_lock(workspace)
    held.__enter__()
    monkeypatch.setattr(at_work.time, "sleep", lambda _: held.__exit__(None, None, None))
    told = []
    assert joined(workspace, progress=told.append)["joined"] == 20
    assert "waiting for the process that works on the requests" in told


def test_ids_that_somebody_else_added_meanwhile_are_refused(workspace, monkeypatch):
    honest = module.work_alone

    def late(*given):
        monkeypatch.setattr(module, "work_alone", honest)
        joined(workspace)
        return honest(*given)

    monkeypatch.setattr(module, "work_alone", late)
    with pytest.raises(InvalidInput, match="'10000' is there already"):
        joined(workspace)
    assert status(workspace)["records"]["private"] == 170
    assert verify(workspace)["valid"]


def test_what_cannot_be_erased_keeps_the_addition_committed_until_somebody_can(workspace, tmp_path):
    (old,) = (workspace / "secret/saved/secret").glob("state-*")
    old.rename(tmp_path / "elsewhere")
    old.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Pending, match="the state before is not erased") as stuck:
        joined(workspace)
    assert stuck.value.document["additions"][0]["state"] == "committed"
    assert stuck.value.document["unerased"] == [str(old)]
    old.unlink()
    assert forget(workspace, ["10000"])["additions"][0]["state"] == "honoured"
    assert verify(workspace)["valid"]


def test_a_ledger_of_an_earlier_version_gets_the_tables_that_it_lacks(workspace):
    change_ledger(
        workspace, "DELETE FROM seals WHERE name IN ('additions', 'former')", sealed=False
    )
    _drop(workspace, "additions", "former")
    assert status(workspace)["additions"] == []
    forget(workspace, ["00003"])
    joined(workspace, some(NEW, 0, id=["00003"]), again=True)
    assert verify(workspace)["valid"]


def _drop(workspace, *tables):
    import sqlite3

    connection = sqlite3.connect(workspace / "ledger.sqlite")
    for table in tables:
        connection.execute(f"DROP TABLE {table}")
    connection.commit()
    connection.close()
    change_ledger(workspace, "UPDATE settings SET value = value")


@pytest.mark.parametrize(
    ("moments", "way"),
    [
        pytest.param("crucial", "add", marks=pytest.mark.slow),
        pytest.param("all", "add", marks=pytest.mark.slow),
        pytest.param("crucial", "replace", marks=pytest.mark.slow),
    ],
)
def test_whoever_is_killed_leaves_all_of_it_or_nothing(tmp_path, moments, way):
    """The same command again finishes it, or is told that it is done; then all goes on."""
    workspace, scratch = usual(tmp_path), tmp_path / "scratch"
    forget(workspace, ["00003"])
    scratch.mkdir()
    columns = NEW if way == "add" else some(private_people(), 5, 6, age=[77.125, 66.5])
    command = ["add", "@", "--private", str(given(workspace, columns)), "--json"]
    command += ["--replace", "--name", "ticket 2"] if way == "replace" else []
    look = [["status", "@", "--json"], ["verify", "@", "--json"]]
    guess = ["predict", "@", str(tmp_path / "public.csv"), "--output", "@.csv", "--json"]
    outcomes = killed(
        {
            "command": command,
            "then": [*look, guess, command, ["forget", "@", "00004", "--json"], *look],
            "start": str(workspace),
            "scratch": str(scratch),
            "moments": moments,
        }
    )
    assert [one["killed"] for one in outcomes] == [True] * (len(outcomes) - 1) + [False]
    states = [_state(one, way) for one in outcomes]
    order = ["nothing", "committed", "honoured"]
    assert states == sorted(states, key=order.index)
    assert set(states) == set(order)


def _state(outcome, way):
    """What the kill left, after a look at everything that must hold in any state."""
    shown, checked, said, again, asked, after, checked_after = outcome["then"]
    assert [one["status"] for one in (shown, checked, said, asked, after, checked_after)] == [0] * 6
    found, end = json.loads(shown["out"]), json.loads(after["out"])
    assert json.loads(checked["out"])["valid"], checked
    assert json.loads(checked_after["out"])["valid"], checked_after
    corrected = 2 if way == "replace" else 0
    there = 150 if way == "replace" else 170
    assert end["records"] == {
        "public": 120,
        "private": there - 2,
        "forgotten": 2 + corrected,
    }
    assert [each["state"] for each in end["additions"]] == ["honoured"]
    assert [each["state"] for each in end["requests"]] == ["honoured"] * (2 + corrected // 2)
    assert end["model"]["number"] == 4
    assert json.loads(checked_after["out"])["certificates"] == 3
    assert end["unerased"] == []
    if not found["additions"]:
        assert found["records"]["private"] == 149
        assert again["status"] == 0
        return "nothing"
    assert again["status"] == 2
    told = "'ticket 2' is taken" if way == "replace" else "is there already"
    assert told in again["err"]
    return found["additions"][0]["state"]


def test_records_join_models_on_leaves_of_public_trees(tmp_path):
    workspace = fitted(tmp_path, features="trees")
    forget(workspace, ["00003"])
    assert joined(workspace)["joined"] == 20
    assert forget(workspace, ["10003"])["certificate"]["epsilon"] <= 1
    assert verify(workspace)["valid"]
