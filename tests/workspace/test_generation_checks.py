"""Every file of a generation is looked at, and settings are held against the saved model's."""

import json

import pytest

from expunge.workspace.audit import audit
from expunge.workspace.forget import forget
from expunge.workspace.verify import verify
from tests.workspace.tables_made import change_ledger, ledger_rows, usual


@pytest.fixture
def workspace(tmp_path):
    made = usual(tmp_path)
    forget(made, ["00003"])
    audit(made, models=60, seed=0)
    return made


def test_a_flipped_bit_anywhere_but_in_the_ledger_is_named_by_file(workspace):
    """In the middle of each file; tests/torture flips everywhere."""
    paths = [path for path in workspace.rglob("*") if path.is_file()]
    assert len(paths) == len(verify(workspace)["covered"]["files"]) == 12
    for path in paths:
        if path.name == "ledger.sqlite":
            continue
        content = path.read_bytes()
        flipped = bytearray(content)
        flipped[len(content) // 2] ^= 16
        path.write_bytes(flipped)
        verdict = verify(workspace)
        assert not verdict["valid"]
        assert path.name in verdict["first_difference"]
        assert verdict["covered"]["files"] == []
        path.write_bytes(content)
    assert verify(workspace)["valid"]


@pytest.mark.parametrize("name", ["records/*.parquet", "secret/saved/secret/*", "secret/saved/*.*"])
def test_a_lost_file_is_named(workspace, name):
    for path in workspace.glob(name):
        content = path.read_bytes()
        path.unlink()
        assert path.name in verify(workspace)["first_difference"]
        path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0.5),
        ("strategy", "retrain"),
        ("observer", "all"),
        ("l2", 1.0),
        ("released", False),
        ("adaptive_requests", True),
    ],
)
def test_options_that_are_not_the_saved_models_are_named_even_with_the_seal_renewed(
    workspace, name, value
):
    options = json.loads(dict(ledger_rows(workspace)["settings"])["options"])
    assert options[name] != value
    text = json.dumps(options | {name: value})
    change_ledger(workspace, "UPDATE settings SET value = ? WHERE name = 'options'", text)
    assert verify(workspace)["first_difference"] == f"ledger.sqlite: options.{name}"


def test_a_head_that_is_not_the_saved_models_is_named_even_with_the_seal_renewed(workspace):
    head = dict(ledger_rows(workspace)["settings"])["head"]
    text = head.replace('"no", "yes"', '"yes", "no"')
    assert text != head
    change_ledger(workspace, "UPDATE settings SET value = ? WHERE name = 'head'", text)
    assert verify(workspace)["first_difference"] == "ledger.sqlite: head"
