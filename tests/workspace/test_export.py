"""What is exported: whole, verifiable, and without a record or an id in any byte of it."""

import json
import re

import pytest

from expunge.accounting.verification import differences, file_differences, read_certificate
from expunge.errors import InvalidInput
from expunge.workspace import export as module
from expunge.workspace.export import export
from expunge.workspace.forget import forget
from tests.workspace.tables_made import (
    everything_in,
    files_of,
    fitted,
    private_people,
    public_people,
    usual,
)

FORMATS = {"onnx": "model.onnx", "sklearn": "model.skops", "safetensors": "model.safetensors"}


@pytest.fixture
def workspace(tmp_path):
    return usual(tmp_path)


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_comes_with_weights_encoding_card_and_certificate(
    workspace,
    tmp_path,
    format,  # noqa: A002
):
    before = everything_in(workspace)
    first = export(workspace, tmp_path / "fitted", format=format)
    assert everything_in(workspace) == before
    assert not first["certified"]
    forget(workspace, ["00003"])
    second = export(workspace, tmp_path / "out", format=format)
    common = {"MODEL_CARD.md", "encoding.json", "model.safetensors", FORMATS[format]}
    assert set(first["files"]) == set(files_of(tmp_path / "fitted")) == common
    assert set(second["files"]) == set(files_of(tmp_path / "out")) == common | {"certificate.json"}


def test_the_certificate_is_the_one_that_was_issued_and_names_the_weights(workspace, tmp_path):
    forget(workspace, ["00003"])
    document = export(workspace, tmp_path / "out")
    files = files_of(tmp_path / "out")
    assert files["certificate.json"] == (workspace / "certificates/1.json").read_bytes()
    (model,) = (workspace / "models").iterdir()
    assert files["model.safetensors"] == model.read_bytes()
    certificate = read_certificate(files["certificate.json"].decode())
    assert differences(certificate) == []
    assert file_differences(certificate, document["model"]["sha256"]) == []


SECRET = re.compile(rb"secret-[a-z0-9]+")


def marked(columns):
    """The table with ids and values that are found wherever they stand in clear."""
    columns["id"] = [f"secret-id{record}" for record in columns["id"]]
    columns["colour"] = [f"secret-colour{row}" for row in range(len(columns["id"]))]
    columns["age"] = [1234567.0 + row + 0.125 for row in range(len(columns["id"]))]
    return columns


@pytest.mark.parametrize("format", FORMATS)
def test_no_record_and_no_id_is_in_any_byte_of_it(tmp_path, format):  # noqa: A002
    public = public_people()
    public["id"] = [f"secret-id{record}" for record in public["id"]]
    workspace = fitted(tmp_path, marked(private_people()), public)
    forget(workspace, ["secret-id00003"])
    export(workspace, tmp_path / "out", format=format)
    import struct

    ages = [1234567.0 + row + 0.125 for row in range(150)]
    needles = [str(age).encode() for age in ages]
    needles += [struct.pack(kind, age) for age in ages for kind in ("<d", ">d", "<f", ">f")]
    for name, content in files_of(tmp_path / "out").items():
        assert not SECRET.search(content), name
        assert not [needle for needle in needles if needle in content], name
    assert any(SECRET.search(content) for content in files_of(workspace).values())


def test_an_exception_leaves_no_folder(workspace, tmp_path, monkeypatch):
    def fail(path, content):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(module, "write_whole", fail)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OSError, match="No space"):
        export(workspace, tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_that_holds_something_and_one_in_the_workspace_are_refused(workspace, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/kept").write_text("x")
    (tmp_path / "empty").mkdir()
    for to, complaint in (
        (tmp_path / "full", "exists already"),
        (workspace / "out", "lies in the workspace"),
        (workspace, "exists already"),
    ):
        with pytest.raises(InvalidInput, match=complaint):
            export(workspace, to)
    assert files_of(tmp_path / "full") == {"kept": b"x"}
    export(workspace, tmp_path / "empty")


def test_a_fitted_model_that_is_never_handed_out_is_not_exported(tmp_path):
    workspace = fitted(tmp_path, released=False)
    with pytest.raises(InvalidInput, match="never handed out"):
        export(workspace, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    forget(workspace, ["00003"])
    assert export(workspace, tmp_path / "out")["certified"]


def test_the_encoding_is_enough_to_encode_a_table_by_hand(workspace, tmp_path):
    export(workspace, tmp_path / "out")
    document = json.loads((tmp_path / "out/encoding.json").read_text())
    assert list(document["columns"]) == ["age", "colour", "member"]
    assert set(document["columns"]["age"]) == {"center", "scale"}
    assert document["model"]["labels"]["values"] == ["no", "yes"]
    assert document["model"]["loss"]["row_norm"] > 0
