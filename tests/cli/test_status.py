"""`expunge status`: the same document for programs and a page for people."""

import pytest

from expunge.workspace.folder import Folder
from expunge.workspace.status import status
from tests.cli.test_main import expunge
from tests.cli.workspaces import made, printed, refused


@pytest.fixture
def workspace(tmp_path):
    return made(tmp_path)


def test_the_document_has_the_promised_keys(workspace):
    expunge("forget", workspace, "00003")
    document = printed("status", workspace)
    assert document == status(workspace)
    assert document["records"] == {"public": 120, "private": 149, "forgotten": 1}
    assert document["requests"][0]["state"] == "honoured"
    assert len(document["model"]["sha256"]) == 64
    certificate = document["certificate"]
    assert {"epsilon", "delta", "strategy", "bound"} <= set(certificate)
    assert (certificate["strategy"], certificate["bound"]) == ("residual", "shift")


def test_people_read_the_same(workspace):
    expunge("forget", workspace, "00003")
    outcome = expunge("status", workspace)
    assert outcome.status == 0
    assert outcome.err == ""
    for line in (
        str(workspace),
        "records: 120 public, 149 private, 1 forgotten",
        "request 1: 1 record, honoured",
        "EARLIER RELEASES NOT COVERED.",
        "strategy residual, bound shift",
    ):
        assert line in outcome.out


def test_people_read_who_is_at_work(workspace):
    folder = Folder.opened(workspace)
    with folder.leased() as lease:
        assert f"in work: {lease.holder}, since {lease.taken}\n" in expunge("status", workspace).out
    assert "in work" not in expunge("status", workspace).out


def test_long_paths_are_not_broken_over_lines(tmp_path):
    deep = tmp_path / ("a" * 90)
    deep.mkdir()
    workspace = made(deep)
    assert f"{workspace}\n" in expunge("status", workspace).out


@pytest.mark.parametrize("name", ["[/x]", "[gdpr] ticket", "[red]x", ":smile:"])
def test_names_are_printed_as_they_are(workspace, name):
    outcome = expunge("forget", workspace, "00003", "--name", name)
    assert outcome.status == 0
    assert f"{name}: 1 record, honoured" in outcome.out


@pytest.mark.parametrize("kind", ["absent", "empty", "text"])
def test_what_is_no_workspace_is_refused_in_one_line(tmp_path, kind):
    path = tmp_path / "workspace"
    if kind != "absent":
        path.mkdir()
    if kind == "text":
        (path / "ledger.sqlite").write_text("no database, however long this text may be" * 99)
    assert str(path) in refused("status", path)


def test_a_workspace_must_be_named():
    assert "workspace" in expunge("status").complaint.lower()


def test_a_missing_file_ends_1_and_is_named(workspace):
    (model,) = (workspace / "models").iterdir()
    model.unlink()
    outcome = expunge("status", workspace, "--json")
    assert outcome.status == 1
    assert outcome.document["missing"] == [str(model)]
    assert f"MISSING: {model}; restore it from a backup" in expunge("status", workspace).out


def test_people_read_what_was_understood(workspace):
    outcome = expunge("status", workspace)
    for words in ("columns", "colour", "3 categories", "public records", "delta 1e-05: 1e-5 or"):
        assert words in outcome.out
    assert "rows scaled down: " in outcome.out
    assert "public records alone, on public rows not seen: accuracy" in outcome.out
    assert "this model, on the public rows that it was trained on: accuracy" in outcome.out
