"""The folder: what lies where, and that a look sweeps up what a killed run left."""

import shutil

import pytest

from expunge.errors import InvalidInput
from expunge.workspace.folder import Folder, current_model
from expunge.workspace.forget import forget
from tests.workspace.tables_made import change_ledger, everything_in, files_of, usual


@pytest.fixture
def workspace(tmp_path):
    return usual(tmp_path)


def test_paths_are_as_documented(tmp_path):
    folder = Folder(tmp_path)
    assert folder.model_file("ab") == tmp_path / "models/ab.safetensors"
    assert folder.certificate_file(3) == tmp_path / "certificates/3.json"
    assert folder.records_file("public.parquet") == tmp_path / "records/public.parquet"
    assert folder.secret_folder("12") == tmp_path / "secret/12"


def test_the_current_model_is_the_last(workspace):
    forget(workspace, ["00003"])
    with Folder(workspace).reading() as (entries, model):
        assert model == current_model(entries) == entries.models()[-1]
        assert model.number == 2


def test_opening_changes_nothing_that_is_whole(workspace):
    forget(workspace, ["00003"])
    before = everything_in(workspace)
    Folder.opened(workspace).ledger.close()
    assert everything_in(workspace) == before


def test_opening_sweeps_what_is_not_current(workspace):
    before = files_of(workspace)
    for name in (
        f"models/{'0' * 64}.safetensors",
        f"models/.{'0' * 64}.safetensors.x1y2",
        "records/private-01234567.parquet",
        "records/.private-01234567.parquet.x1y2",
        "certificates/.1.json.x1y2",
    ):
        (workspace / name).write_bytes(b"left by a killed run")
    (workspace / "secret/01234567").mkdir()
    (workspace / "secret/01234567/secret-0.safetensors").write_bytes(b"left by a killed run")
    assert files_of(workspace) != before
    Folder.opened(workspace).ledger.close()
    assert files_of(workspace) == before
    assert len(list((workspace / "secret").iterdir())) == 1


def test_what_others_put_there_is_not_swept_away(workspace):
    for kind in ("models", "certificates", "records", "secret"):
        (workspace / kind / "notes.html").write_text("mine")
    Folder.opened(workspace).ledger.close()
    for kind in ("models", "certificates", "records", "secret"):
        assert (workspace / kind / "notes.html").read_text() == "mine"


def test_opening_writes_certificates_that_only_the_ledger_has(workspace):
    forget(workspace, ["00003"])
    before = files_of(workspace)
    (workspace / "certificates/1.json").unlink()
    Folder.opened(workspace).ledger.close()
    assert files_of(workspace) == before


@pytest.mark.parametrize("kind", ["absent", "empty", "file", "text", "empty ledger"])
def test_what_is_no_workspace_is_refused(tmp_path, kind):
    path = tmp_path / "workspace"
    if kind == "file":
        path.write_text("hello")
    elif kind != "absent":
        path.mkdir()
    if kind == "text":
        (path / "ledger.sqlite").write_text("this is not a database, however long it may be" * 99)
    if kind == "empty ledger":
        (path / "ledger.sqlite").write_bytes(b"")
    with pytest.raises(InvalidInput, match=r"not a (workspace|ledger)"):
        Folder.opened(path)


def test_a_ledger_without_a_model_is_refused(workspace):
    change_ledger(workspace, "DELETE FROM models")
    with pytest.raises(InvalidInput, match="holds no model"):
        Folder.opened(workspace)


def test_a_workspace_can_be_moved(workspace, tmp_path):
    shutil.move(workspace, tmp_path / "elsewhere")
    assert forget(tmp_path / "elsewhere", ["00003"])["records"]["forgotten"] == 1
