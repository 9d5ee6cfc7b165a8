"""`expunge refresh`: the status afterwards, or one line."""

import shutil

import pytest

from tests.cli.test_main import expunge
from tests.cli.workspaces import made, printed, refused
from tests.workspace.tables_made import fitted


@pytest.fixture
def workspace(tmp_path):
    return made(tmp_path)


def test_the_document_is_the_status_with_one_more_entry_in_the_journal(workspace):
    document = printed("refresh", workspace)
    assert document == printed("status", workspace)
    assert [entry["what"] for entry in document["journal"]] == ["refresh"]


def test_people_read_what_was_done(workspace):
    outcome = expunge("refresh", workspace)
    assert outcome.status == 0
    assert "refresh of model 1, " in outcome.out
    assert "honoured" in outcome.out


def test_what_cannot_be_erased_ends_1_and_is_named(workspace, tmp_path):
    (old,) = (workspace / "secret/saved/secret").glob("state-*")
    shutil.move(old, tmp_path / "elsewhere")
    old.symlink_to(tmp_path / "elsewhere")
    outcome = expunge("refresh", workspace, "--json")
    assert outcome.status == 1
    assert outcome.document["journal"][0]["state"] == "committed"
    assert "is not erased" in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_strategy_without_an_anchor_and_what_is_no_workspace_are_one_line(tmp_path):
    workspace = fitted(tmp_path, strategy="retrain")
    assert "strategy 'retrain' keeps no anchor" in refused("refresh", workspace)
    assert "not a workspace" in refused("refresh", tmp_path / "none")
