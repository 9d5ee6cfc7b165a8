"""The folder: what lies where, who may work on it, and that only they change anything."""

import os
import shutil

import pytest

from expunge.errors import InvalidInput
from expunge.ledger import Overtaken
from expunge.store import Locked
from expunge.store.writing import Writer
from expunge.workspace import folder as module
from expunge.workspace.folder import Folder, current_model
from expunge.workspace.forget import forget
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.tables_made import change_ledger, everything_in, files_of, usual

LEFT = (
    f"models/{'0' * 64}.safetensors",
    f"models/.{'0' * 64}.safetensors.x1y2",
    "records/.public.parquet.x1y2",
    "records/public-2.parquet",
    "secret/arriving.sqlite",
    "secret/arriving.sqlite-wal",
    "secret/saved/.model-0123456789abcdef.safetensors",
    "secret/saved/secret/chunk-0123456789abcdef-0.parquet",
    "secret/saved/secret/.state-0123456789abcdef.safetensors.x1y2z3a4",
    "secret/saved/secret/index-0123456789abcdef.json",
    "certificates/.1.json.x1y2",
    ".audit.json.x1y2z3a4",
)


@pytest.fixture
def workspace(tmp_path):
    return usual(tmp_path)


def leave(workspace):
    """Files as a killed run leaves them."""
    for name in LEFT:
        (workspace / name).write_bytes(b"left by a killed run")


def finish(workspace):
    folder = Folder.opened(workspace)
    with folder.leased() as lease:
        problems = folder.finish(lease)
    folder.ledger.close()
    return problems


def test_paths_are_as_documented(tmp_path):
    folder = Folder(tmp_path)
    assert folder.model_file("ab") == tmp_path / "models/ab.safetensors"
    assert folder.certificate_file(3) == tmp_path / "certificates/3.json"
    assert folder.records_file("public.parquet") == tmp_path / "records/public.parquet"
    assert folder.saved == tmp_path / "secret/saved"
    assert folder.arriving == tmp_path / "secret/arriving.sqlite"
    assert folder.public_file('"abc"') == tmp_path / "records/public.parquet"
    assert folder.public_file('{"file": "public-2.parquet", "sha256": "abc"}') == (
        tmp_path / "records/public-2.parquet"
    )


def test_the_current_model_is_the_last(workspace):
    forget(workspace, ["00003"])
    models, current, model = Folder(workspace).look(
        lambda entries, model: (entries.models(), current_model(entries), model)
    )
    assert model == current == models[-1]
    assert model.number == 2


# ---- readers ------------------------------------------------------------------------------------


def test_a_look_leaves_what_a_killed_run_left(workspace):
    leave(workspace)
    before = everything_in(workspace)
    Folder.opened(workspace).look(lambda entries, _: entries.requests())
    assert everything_in(workspace) == before


def test_a_look_is_repeated_when_a_writer_was_faster(workspace):
    folder, seen = Folder(workspace), []

    def at(entries, model):
        seen.append(model.number)
        if len(seen) == 1:
            forget(workspace, ["00003"])
        return entries.counts()["forgotten"], model.number

    assert folder.look(at) == (1, 2)
    assert seen == [1, 2]


def test_work_on_files_that_a_writer_replaced_is_done_again(workspace):
    folder, calls = Folder(workspace), []

    def work(model):
        calls.append(model.number)
        if len(calls) == 1:
            forget(workspace, ["00003"])
        return folder.model_file(model.sha256).read_bytes()

    assert folder.steady(lambda _, model: model, work)
    assert calls == [1, 2]


def test_a_problem_that_no_writer_explains_is_raised(workspace):
    with pytest.raises(OSError, match="none"):
        Folder(workspace).steady(lambda _, model: model, lambda _: (workspace / "none").read_text())


@pytest.mark.parametrize("kind", ["absent", "empty", "file"])
def test_what_is_no_workspace_is_refused(tmp_path, kind):
    path = tmp_path / "workspace"
    if kind == "file":
        path.write_text("hello")
    elif kind != "absent":
        path.mkdir()
    with pytest.raises(InvalidInput, match="not a workspace"):
        Folder.opened(path)


@pytest.mark.parametrize("content", [b"", b"this is not a database, however long it may be" * 99])
def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path, content):
    (tmp_path / "ledger.sqlite").write_bytes(content)
    with pytest.raises(InvalidInput, match="not a ledger"):
        Folder.opened(tmp_path).look(lambda _, model: model)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.sqlite"]
    assert (tmp_path / "ledger.sqlite").read_bytes() == content


def test_a_ledger_without_a_model_is_refused(workspace):
    change_ledger(workspace, "DELETE FROM models")
    with pytest.raises(InvalidInput, match="holds no model"):
        Folder.opened(workspace).look(lambda _, model: model)


def test_a_workspace_can_be_moved(workspace, tmp_path):
    shutil.move(workspace, tmp_path / "elsewhere")
    assert forget(tmp_path / "elsewhere", ["00003"])["records"]["forgotten"] == 1


# ---- who works ----------------------------------------------------------------------------------


def test_one_process_works_at_a_time_and_its_lock_is_gone_afterwards(workspace):
    folder = Folder.opened(workspace)
    with folder.leased() as lease:
        assert status(workspace)["lease"]["number"] == lease.number == 1
        assert f"process {os.getpid()}" in lease.holder
        with pytest.raises(Locked), Folder.opened(workspace).leased():
            pass
    assert status(workspace)["lease"] is None
    assert not (workspace / "secret/.lock").exists()
    with folder.leased() as lease:
        assert lease.number == 2


def test_the_lease_of_a_dead_process_is_taken_over_at_once(workspace):
    """Its lock went with it; its row and its file are still there."""
    folder = Folder.opened(workspace)
    with folder.ledger.writing() as entries:
        entries.take_lease("process 0 on a machine that is off")
    (workspace / "secret/.lock").touch()
    with folder.leased() as lease:
        assert lease.number == 2


def test_finishing_changes_nothing_that_is_whole(workspace):
    forget(workspace, ["00003"])
    before = files_of(workspace)
    assert finish(workspace) == ()
    assert files_of(workspace) == before


def test_finishing_deletes_what_is_not_current(workspace):
    before = files_of(workspace)
    leave(workspace)
    assert files_of(workspace) != before
    assert finish(workspace) == ()
    assert files_of(workspace) == before
    assert len(list((workspace / "secret").iterdir())) == 1


def test_what_others_put_there_is_not_swept_away(workspace):
    for kind in ("models", "certificates", "records", "secret", "."):
        (workspace / kind / "notes.html").write_text("mine")
    finish(workspace)
    for kind in ("models", "certificates", "records", "secret", "."):
        assert (workspace / kind / "notes.html").read_text() == "mine"


def test_finishing_writes_certificates_that_only_the_ledger_has(workspace):
    forget(workspace, ["00003"])
    before = files_of(workspace)
    (workspace / "certificates/1.json").unlink()
    assert finish(workspace) == ()
    assert files_of(workspace) == before


def test_a_lease_that_was_taken_over_erases_nothing(workspace):
    """A sleeper that wakes up would delete what its successor has just made current."""
    leave(workspace)
    folder, before = Folder.opened(workspace), files_of(workspace)
    with folder.ledger.writing() as entries:
        old = entries.take_lease("the sleeper")
        entries.take_lease("its successor")
    with pytest.raises(Overtaken, match="lease 1 was taken over by lease 2"):
        folder.finish(old)
    assert files_of(workspace) == before


@pytest.mark.parametrize(
    "name",
    [f"models/{'1' * 64}.safetensors", "secret/saved/secret/chunk-fedcba9876543210-1.parquet"],
)
def test_a_link_is_named_and_left_with_all_it_leads_to(workspace, tmp_path, name):
    leave(workspace)
    elsewhere, link = tmp_path / "rows", workspace / name
    elsewhere.write_bytes(b"values")
    link.symlink_to(elsewhere)
    (problem,) = finish(workspace)
    assert problem == f"{link}: is a link; delete what it leads to, then the link"
    assert link.read_bytes() == b"values"
    for other in LEFT:  # one that stays keeps no other
        assert not (workspace / other).exists()
    link.unlink()
    assert finish(workspace) == ()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (f"models/{'0' * 64}.safetensors", "Operation not permitted"),
        ("secret/saved/secret/chunk-0123456789abcdef-0.parquet", "cannot be deleted"),
    ],
)
def test_a_file_that_cannot_be_deleted_is_named_and_all_others_go(
    workspace, monkeypatch, name, why
):
    leave(workspace)
    stuck, unlink = workspace / name, module.Path.unlink

    def immutable(path, **options):
        if path == stuck:
            raise PermissionError(1, "Operation not permitted", str(path))
        unlink(path, **options)

    monkeypatch.setattr(module.Path, "unlink", immutable)
    assert finish(workspace) == (f"{stuck}: {why}",)
    assert stuck.exists()
    for other in LEFT:
        assert other == name or not (workspace / other).exists()


def test_between_the_ledgers_commit_and_the_stores_the_new_state_counts(workspace):
    """Killed there, nothing is lost: whoever comes next makes the new state current."""
    killed = Killed(workspace)
    with pytest.raises(KeyboardInterrupt):
        forget(workspace, ["00003"])
    killed.undo()
    document = status(workspace)
    assert [one["state"] for one in document["requests"]] == ["committed"]
    left = {os.path.basename(path) for path in document["unerased"]}
    assert "index.json" in left
    assert any(name.startswith("chunk-") for name in left)
    assert verify(workspace)["valid"]
    assert forget(workspace)["honoured"] == ["request 1"]
    assert status(workspace)["unerased"] == []
    assert verify(workspace)["valid"]


class Killed:
    """Lets the store's commit, which comes after the ledger's, be interrupted."""

    def __init__(self, workspace):
        self.patch = pytest.MonkeyPatch()
        commit, seal = Writer.commit, status_seal(workspace)

        def interrupted(writer, wanted):
            if wanted != seal:
                raise KeyboardInterrupt
            commit(writer, wanted)

        self.patch.setattr(Writer, "commit", interrupted)

    def undo(self):
        self.patch.undo()


def status_seal(workspace):
    return Folder(workspace).look(lambda _, model: model.seal)
