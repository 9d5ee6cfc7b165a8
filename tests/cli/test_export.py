"""`expunge export`: a folder for others, or one line."""

import sys

import pytest

from tests.cli.test_main import expunge
from tests.cli.workspaces import made, printed, refused


@pytest.fixture
def workspace(tmp_path):
    return made(tmp_path)


@pytest.mark.parametrize("format", [None, "onnx", "sklearn"])
def test_a_folder_is_written_and_the_document_lists_it(workspace, tmp_path, format):  # noqa: A002
    chosen = () if format is None else ("--format", format)
    document = printed("export", workspace, "--to", tmp_path / "out", *chosen)
    assert document["format"] == (format or "safetensors")
    assert document["files"] == sorted(path.name for path in (tmp_path / "out").iterdir())


def test_people_read_where_and_what(workspace, tmp_path):
    outcome = expunge("export", workspace, "--to", tmp_path / "out")
    assert outcome.status == 0
    files = "MODEL_CARD.md, encoding.json, model.safetensors"
    assert outcome.out == f"{tmp_path / 'out'}: {files}\n"


def test_bad_input_is_one_line_and_writes_nothing(workspace, tmp_path, monkeypatch):
    before = sorted(tmp_path.rglob("*"))
    assert "exists already" in refused("export", workspace, "--to", workspace)
    assert "--to" in refused("export", workspace)
    assert "pickle" in refused("export", workspace, "--to", tmp_path / "out", "--format", "pickle")
    assert "not a workspace" in refused("export", tmp_path / "none", "--to", tmp_path / "out")
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    line = refused("export", workspace, "--to", tmp_path / "out", "--format", "onnx")
    assert "pip install 'expunge[export]'" in line
    assert sorted(tmp_path.rglob("*")) == before
