"""The public records: no request changes their file, and the ledger has its digest."""

import json

import pytest

from expunge.errors import Altered
from expunge.workspace.folder import PUBLIC, Folder
from expunge.workspace.forget import forget
from expunge.workspace.public_records import public_records, read_public
from expunge.workspace.verify import verify
from tests.workspace.tables_made import fitted, public_people, usual


def setting(workspace):
    folder = Folder(workspace)
    return folder, folder.look(lambda entries, _: entries.setting(PUBLIC))


def test_they_come_back_as_they_were_given_and_stay(tmp_path):
    workspace = usual(tmp_path)
    before = (workspace / "records/public.parquet").read_bytes()
    forget(workspace, ["00003"])
    assert public_records(*setting(workspace))["id"].to_pylist() == public_people()["id"]
    assert (workspace / "records/public.parquet").read_bytes() == before


def test_without_public_records_there_are_none(tmp_path):
    declared = {"age": {"center": 40, "scale": 10}, "colour": {"values": ["red", "green", "blue"]}}
    declared |= {"member": {"center": 0.5, "scale": 0.5}}
    workspace = fitted(tmp_path, without_public=True, declare=declared)
    folder, stated = setting(workspace)
    assert json.loads(stated) is None
    assert read_public(folder, stated) is None
    assert public_records(folder, stated) is None


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_file_that_was_changed_or_lost_is_named(tmp_path, damage):
    workspace = usual(tmp_path)
    path = workspace / "records/public.parquet"
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(Altered, match=rf"public\.parquet: .*{damage}"):
        public_records(*setting(workspace))
    assert verify(workspace)["first_difference"] == str(path)
