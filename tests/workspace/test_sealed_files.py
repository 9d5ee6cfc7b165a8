"""The index of a generation: every file by its path, held against its digest when it is read."""

import hashlib
import json

import pytest

from expunge.errors import Altered
from expunge.workspace.folder import Folder
from expunge.workspace.forget import Pending, forget
from expunge.workspace.sealed_files import read_sealed, sealed_paths
from tests.workspace.tables_made import change_ledger, everything_in, ledger_rows, usual


@pytest.fixture
def workspace(tmp_path):
    return usual(tmp_path)


def test_the_index_names_what_the_next_request_starts_from(workspace):
    forget(workspace, ["00003"])
    folder = Folder(workspace)
    model = folder.look(lambda _, model: model)
    paths = list(sealed_paths(folder, model))
    for path in paths:
        digest = hashlib.sha256(read_sealed(folder, model, path)).hexdigest()
        assert digest == json.loads(model.files)[str(path.relative_to(workspace))]
    names = sorted(str(path.relative_to(workspace)) for path in paths)
    assert names == sorted(
        [
            f"records/{model.records}",
            "records/public.parquet",
            f"secret/{model.secret}/secret/index.json",
        ]
    )


def test_a_file_that_the_index_does_not_name_is_not_read(workspace):
    folder = Folder(workspace)
    model = folder.look(lambda _, model: model)
    with pytest.raises(Altered, match="is not in the index"):
        read_sealed(folder, model, workspace / "records/other.parquet")


@pytest.mark.parametrize("name", ["records/private-*", "records/public*", "secret/*/secret/index*"])
def test_a_request_is_refused_by_the_name_of_the_file_that_was_changed(workspace, name):
    """It stays pending; put back what was there, and it is honoured."""
    (path,) = workspace.glob(name)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    whole = path.read_bytes()
    path.write_bytes(content)
    before = everything_in(workspace)[0]
    with pytest.raises(Pending, match=path.name):
        forget(workspace, ["00003"])
    assert everything_in(workspace)[0].items() >= before.items()
    path.write_bytes(whole)
    assert forget(workspace)["records"]["forgotten"] == 1


def test_an_index_that_lost_its_files_is_refused(workspace):
    change_ledger(workspace, "UPDATE models SET files = '{}'")
    with pytest.raises(Pending, match="is not in the index"):
        forget(workspace, ["00003"])
    assert [row[-1] for row in ledger_rows(workspace)["requests"]] == ["pending"]
