"""A new fit in a workspace: the old one is gone from every file, and the ledger goes on."""

import json
import shutil

import pytest

from expunge.accounting.certificate import parse_certificate
from expunge.errors import InvalidInput
from expunge.ledger import Ledger
from expunge.workspace import at_work, learning
from expunge.workspace import fit_again as module
from expunge.workspace.add import add
from expunge.workspace.at_work import Pending
from expunge.workspace.fit_again import fit_again
from expunge.workspace.folder import Folder
from expunge.workspace.forget import forget
from expunge.workspace.options import Options
from expunge.workspace.predict import predict
from expunge.workspace.public_records import read_public
from expunge.workspace.refresh import refresh
from expunge.workspace.report import report
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.killed import killed
from tests.workspace.tables_made import (
    everything_in,
    files_of,
    fitted,
    ledger_rows,
    people,
    private_people,
    public_people,
    usual,
    write,
)

OPTIONS = Options(id="id", label="label")


@pytest.fixture
def workspace(tmp_path):
    return usual(tmp_path)


def without(columns, *ids):
    """The columns of a table without the records that have these ids."""
    rows = [row for row, id_ in enumerate(columns["id"]) if id_ not in ids]
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def again(workspace, private=None, public=None, options=OPTIONS, **given):
    """A fit on these tables, by default those of before."""
    folder = workspace.parent
    mine = write(folder / "mine.csv", private_people() if private is None else private)
    theirs = write(folder / "theirs.csv", public_people() if public is None else public)
    return fit_again(workspace, mine, theirs, options, **given)


def private_ids(workspace):
    return {id_ for id_, role, *_ in ledger_rows(workspace)["records"] if role == "private"}


def test_the_new_fit_is_the_one_of_a_new_folder_and_the_ledger_goes_on(workspace, tmp_path):
    forget(workspace, ["00003"])
    private = without(private_people(), "00003", "00010", "00011")
    public = without(public_people(), "90004")
    document = again(workspace, private, public, name="the old table")
    (tmp_path / "other").mkdir()
    other = fitted(tmp_path / "other", private, public)
    for name in ("understood", "options", "on_public_records"):
        assert document[name] == status(other)[name]
    assert document["records"] == {"public": 119, "private": 147, "forgotten": 3}
    assert [(one["name"], one["state"], one["records"]) for one in document["requests"]] == [
        ("request 1", "honoured", 1),
        ("the old table", "honoured", 2),
    ]
    (fit,) = document["fits"]
    assert (fit["number"], fit["model"], fit["state"]) == (2, 3, "honoured")
    assert (document["certificate"], document["unerased"], document["missing"]) == (None, [], [])
    assert verify(workspace)["valid"]


def test_requests_go_on_in_a_chain_of_their_own(workspace):
    forget(workspace, ["00003"])
    forget(workspace, ["00004"])
    again(workspace, without(private_people(), "00003", "00004"))
    document = forget(workspace, ["00005", "00006"])
    assert document["certificate"]["earlier_releases"] == "not covered"
    assert document["records"] == {"public": 120, "private": 146, "forgotten": 4}
    first, second, third = (
        parse_certificate((workspace / f"certificates/{number}.json").read_text())
        for number in (1, 2, 3)
    )
    assert (second.sequence, second.previous) == (2, first.sha256)
    assert (third.sequence, third.previous, third.generation) == (1, None, 1)
    assert third.workspace != second.workspace
    assert (third.records, third.forgotten) == (268, 2)
    forget(workspace, ["00007"])
    refresh(workspace)
    found = verify(workspace)
    assert found["valid"]
    assert found["together"]["models"] == 2
    assert found["certificates"] == 4


@pytest.mark.parametrize("observer", ["final", "all"])
def test_models_that_were_handed_out_before_are_said_to_be_uncovered(tmp_path, observer):
    """Without a model that was handed out, nothing is; a certified one always was."""
    strategy = "langevin" if observer == "all" else "residual"
    options = {"strategy": strategy, "observer": observer, "released": False}
    workspace = fitted(tmp_path, **options)
    given = Options(id="id", label="label", **options)
    again(workspace, options=given)
    known = {"final": "none known", "all": "covered"}[observer]
    assert forget(workspace, ["00003"])["certificate"]["earlier_releases"] == known
    again(workspace, without(private_people(), "00003"), options=given)
    certificate = forget(workspace, ["00004"])["certificate"]
    assert certificate["earlier_releases"] == "not covered"
    assert "EARLIER RELEASES NOT COVERED." in certificate["statement"]
    assert verify(workspace)["valid"]


def test_a_public_record_that_goes_is_in_no_file(tmp_path):
    public = public_people()
    public["colour"][4] = "ultraviolet"
    workspace = fitted(tmp_path, public=public)
    holds = [content for content in everything(workspace) if b"ultraviolet" in content]
    assert len(holds) > 1
    again(workspace, public=without(public, "90004"))
    for trace in (b"ultraviolet", b"90004"):
        assert not any(trace in content for content in everything(workspace))
    assert forget(workspace, ["00003"])["certificate"]
    assert verify(workspace)["valid"]


def everything(workspace):
    return [path.read_bytes() for path in workspace.rglob("*") if path.is_file()]


def test_nothing_of_the_fit_before_is_left_beside_the_ledger(workspace):
    before = files_of(workspace)
    again(workspace)
    after = files_of(workspace)
    on_top = {"secret/saved/model.safetensors", "secret/saved/secret/index.json"}
    assert set(before) & set(after) == on_top
    assert not any(before[name] == after[name] for name in on_top)
    assert len(after) == len(before)


def test_whoever_was_forgotten_refuses_the_fit_is_left_out_or_comes_back(workspace):
    forget(workspace, ["00003", "00004"])
    before = everything_in(workspace)
    with pytest.raises(InvalidInput, match="'00003' was forgotten; '00004' was forgotten"):
        again(workspace)
    assert everything_in(workspace)[0] == before[0]
    assert ledger_rows(workspace)["records"] == before[1]["records"]
    told = []
    document = again(workspace, forgotten="skip", notice=told.append)
    assert told == ["2 records left out, which were forgotten before"]
    assert document["records"] == {"public": 120, "private": 148, "forgotten": 2}
    assert not any(b"00003" in content for content in files_of(workspace).values())
    document = again(workspace, forgotten="take back")
    assert document["records"] == {"public": 120, "private": 150, "forgotten": 2}
    assert forget(workspace, ["00003"])["records"]["forgotten"] == 3
    assert verify(workspace)["valid"]


def test_an_id_in_another_unicode_form_does_not_come_back_unseen(tmp_path):
    private = private_people()
    private["id"][3] = "Jos\u00e9"
    workspace = fitted(tmp_path, private)
    forget(workspace, ["Jose\u0301"])
    private["id"][3] = "Jose\u0301"
    with pytest.raises(InvalidInput, match="'Jos\u00e9' was forgotten"):
        again(workspace, private)


def test_a_private_record_cannot_become_public_and_a_public_one_may_become_private(workspace):
    public = public_people()
    public["id"][0] = "00003"
    private = without(private_people(), "00003")
    before = everything_in(workspace)
    with pytest.raises(InvalidInput, match="leave out of the public table '00003'"):
        again(workspace, private, public)
    assert everything_in(workspace) == before
    private["id"][0] = "90001"
    again(workspace, private, without(public_people(), "90001"))
    assert forget(workspace, ["90001"])["records"]["forgotten"] == 3


def test_a_pending_request_stays_or_is_honoured_by_the_fit(workspace):
    with Ledger(workspace / "ledger.sqlite").writing() as entries:
        entries.add_request(["00003"], "all gone")
        entries.add_request(["00004", "00005"], "one gone")
        entries.add_request(["00006"], "none gone")
    document = again(workspace, without(private_people(), "00003", "00004"))
    states = {one["name"]: one["state"] for one in document["requests"]}
    assert states == {"all gone": "honoured", "one gone": "pending", "none gone": "pending"}
    assert document["records"]["private"] == 148
    after = forget(workspace)
    assert after["honoured"] == ["one gone", "none gone"]
    assert after["records"] == {"public": 120, "private": 146, "forgotten": 4}
    assert verify(workspace)["valid"]


def test_a_request_that_comes_meanwhile_is_recorded_and_waits(workspace, monkeypatch):
    describe = learning.describe_fit

    def asked_meanwhile(*given):
        with Ledger(workspace / "ledger.sqlite").writing() as entries:
            entries.add_request(["00003"])
        return describe(*given)

    monkeypatch.setattr(learning, "describe_fit", asked_meanwhile)
    document = again(workspace)
    assert [one["state"] for one in document["requests"]] == ["pending"]
    assert forget(workspace)["honoured"] == ["request 1"]
    assert verify(workspace)["valid"]


def test_records_join_and_are_corrected_after_a_fit(workspace):
    forget(workspace, ["00003"])
    again(workspace, without(private_people(), "00003", "00004"))
    new = write(workspace.parent / "more.csv", people(5, seed=5, prefix="1"))
    assert add(workspace, new)["joined"] == 5
    private = private_people()
    back = {name: [values[3], values[4]] for name, values in private.items()}
    file = write(workspace.parent / "back.csv", back)
    with pytest.raises(InvalidInput, match=r"'00003' was forgotten.*'00004' was forgotten"):
        add(workspace, file)
    assert add(workspace, file, again=True)["records"]["private"] == 155
    one = {name: [values[9]] for name, values in private.items()} | {"age": [61.5]}
    assert add(workspace, write(file, one), replace=True)["records"]["forgotten"] == 3
    assert forget(workspace, ["10003", "00003"])["records"]["forgotten"] == 5
    assert verify(workspace)["valid"]
    guesses = workspace.parent / "guesses.csv"
    assert predict(workspace, workspace.parent / "theirs.csv", guesses)["rows"] == 120
    again(workspace, without(private, "00003", "00004"), forgotten="skip")
    assert verify(workspace)["valid"]


def test_a_report_says_that_the_model_was_learned_anew(workspace, tmp_path):
    forget(workspace, ["00003"])
    again(workspace, without(private_people(), "00003", "00004"))
    report(workspace, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "no record has been deleted since the model was learned anew" in text
    assert "(learned anew)" in text
    forget(workspace, ["00005"])
    report(workspace, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "1 of the forgotten left since the model was learned anew" in text
    assert "workspace/certificates/2.json" in text


def test_other_columns_and_other_options_make_another_model(workspace):
    public, private = public_people(), private_people()
    for columns in (public, private):
        columns["height"] = columns.pop("age")
    options = Options(id="id", label="label", strategy="retrain", drop=("member",))
    document = again(workspace, private, public, options)
    assert {column["name"] for column in document["understood"]["columns"]} == {"colour", "height"}
    assert forget(workspace, ["00003"])["certificate"]["strategy"] == "retrain"
    assert verify(workspace)["valid"]


# ---- all or nothing -----------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["write_beside", "learn"])
def test_what_fails_leaves_the_workspace_as_it_was(workspace, monkeypatch, moment):
    forget(workspace, ["00003"])
    before = everything_in(workspace)

    def full(*_, **__):
        raise OSError(28, "No space left on device", "somewhere")

    with monkeypatch.context() as patch:
        patch.setattr(module, moment, full)
        with pytest.raises(OSError, match="No space left"):
            again(workspace, without(private_people(), "00003"))
    files, rows = everything_in(workspace)
    assert files == before[0]
    rows.pop("lease"), before[1].pop("lease")
    assert {**rows, "seals": None} == {**before[1], "seals": None}
    assert again(workspace, without(private_people(), "00003"))["fits"]


def test_bad_input_and_a_name_that_is_taken_change_nothing(workspace):
    forget(workspace, ["00003"], name="ticket")
    before = everything_in(workspace)
    private = without(private_people(), "00003")
    with pytest.raises(InvalidInput, match="'ticket' is taken"):
        again(workspace, private, name="ticket")
    with pytest.raises(InvalidInput, match="no column"):
        again(workspace, private, options=Options(id="id", label="nobody"))
    assert everything_in(workspace) == before
    private["id"][0] = private["id"][1]
    with pytest.raises(InvalidInput, match="'00001' is there twice"):
        again(workspace, private)
    assert files_of(workspace) == before[0]
    with pytest.raises(InvalidInput, match="not a workspace"):
        again(workspace / "none")


def test_whoever_is_overtaken_reads_the_tables_again(workspace, monkeypatch):
    leased, tried = Folder.leased, []

    def late(folder):
        tried.append(1)
        if len(tried) == 1:
            monkeypatch.setattr(module, "current_model", lambda _: None)
        else:
            monkeypatch.undo()
        return leased(folder)

    monkeypatch.setattr(at_work, "PAUSE", 0.0)
    monkeypatch.setattr(Folder, "leased", late)
    told = []
    assert again(workspace, progress=told.append)["records"]["private"] == 150
    assert told.count("reading") == 2
    assert [fit["number"] for fit in status(workspace)["fits"]] == [2]
    assert verify(workspace)["valid"]


def test_what_cannot_be_erased_keeps_the_fit_committed_until_somebody_can(workspace, tmp_path):
    (old,) = (workspace / "secret/saved/secret").glob("state-*")
    shutil.move(old, tmp_path / "elsewhere")
    old.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Pending, match="the one before is not erased") as stuck:
        again(workspace, without(private_people(), "00004"))
    document = stuck.value.document
    assert document["fits"][0]["state"] == document["requests"][0]["state"] == "committed"
    assert document["unerased"] == [str(old)]
    old.unlink()
    assert forget(workspace)["fits"][0]["state"] == "honoured"
    assert verify(workspace)["valid"]


def test_a_reader_that_began_before_looks_again(workspace):
    folder, seen = Folder.opened(workspace), []

    def look(said):
        seen.append(said)
        if len(seen) == 1:
            again(workspace, public=without(public_people(), "90004"))
        return read_public(folder, said)

    folder.steady(lambda entries, _: entries.setting("public"), look)
    assert len(set(seen)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("moments", ["crucial", "all"])
def test_whoever_is_killed_leaves_the_old_fit_or_the_new_one(tmp_path, moments):
    workspace, scratch = usual(tmp_path), tmp_path / "scratch"
    forget(workspace, ["00003"])
    scratch.mkdir()
    mine = write(tmp_path / "mine.csv", without(private_people(), "00003", "00010", "00011"))
    theirs = write(tmp_path / "theirs.csv", without(public_people(), "90004"))
    command = ["fit", "@", "--again", "--private", str(mine), "--public", str(theirs)]
    command += ["--id", "id", "--label", "label", "--name", "the old table", "--json"]
    look = [["status", "@", "--json"], ["verify", "@", "--json"]]
    guess = ["predict", "@", str(theirs), "--output", "@.csv", "--json"]
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
    states = [_state(one) for one in outcomes]
    order = ["nothing", "committed", "honoured"]
    assert states == sorted(states, key=order.index)
    assert set(states) == set(order)


def _state(outcome):
    """What the kill left, after a look at everything that must hold in any state."""
    shown, checked, said, repeated, asked, after, checked_after = outcome["then"]
    assert [one["status"] for one in (shown, checked, said, asked, after, checked_after)] == [0] * 6
    found, end = json.loads(shown["out"]), json.loads(after["out"])
    assert json.loads(checked["out"])["valid"], checked
    assert json.loads(checked_after["out"])["valid"], checked_after
    assert end["records"] == {"public": 119, "private": 146, "forgotten": 4}
    assert [each["state"] for each in end["fits"]] == ["honoured"]
    assert [each["state"] for each in end["requests"]] == ["honoured"] * 3
    assert end["model"]["number"] == 4
    assert json.loads(checked_after["out"])["certificates"] == 2
    assert end["unerased"] == []
    assert not [name for name in outcome["after"] if "arriving" in name or "public.parquet" in name]
    if not found["fits"]:
        assert found["records"] == {"public": 120, "private": 149, "forgotten": 1}
        assert repeated["status"] == 0, repeated
        return "nothing"
    assert repeated["status"] == 2
    assert "'the old table' is taken" in repeated["err"]
    return found["fits"][0]["state"]
