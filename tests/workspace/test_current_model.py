"""The head that predicts is the model that the ledger names, and no other."""

import hashlib

import pytest
import torch
from safetensors.torch import save

from expunge.errors import InvalidInput
from expunge.unlearning.linear.estimator import load
from expunge.workspace.current_model import head_of, loaded
from expunge.workspace.folder import Folder
from tests.workspace.tables_made import change_ledger, usual


@pytest.fixture
def workspace(tmp_path):
    return usual(tmp_path)


def head(workspace):
    folder = Folder(workspace)
    return head_of(folder, *folder.look(lambda entries, model: (model, entries.setting("head"))))


def current(folder):
    return folder.look(lambda _, model: model)


def test_the_head_is_the_estimators(workspace):
    (secret,) = (workspace / "secret").iterdir()
    estimator, found = load(secret), head(workspace)
    assert torch.equal(found.theta, estimator.fitted_.outcome.theta)
    assert found.loss == estimator.fitted_.job.loss
    assert found.classes is not None
    assert found.classes.tolist() == ["no", "yes"]


def test_the_estimator_behind_it_comes_with_its_records(workspace):
    folder = Folder(workspace)
    assert loaded(folder, current(folder)).fitted_.job.roster.private == 150


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_damaged_secret_is_named(workspace, damage):
    (secret,) = (workspace / "secret").glob("*/secret/state-*")
    secret.write_bytes(secret.read_bytes()[:-1] + b"\x07")
    if damage == "missing":
        secret.unlink()
    folder = Folder(workspace)
    with pytest.raises(InvalidInput, match=f"{secret}: .*; restore {secret.parents[1]}"):
        loaded(folder, current(folder))


def test_no_private_record_is_opened(workspace):
    for folder in ("secret", "records"):
        (workspace / folder).rename(workspace / f"no {folder}")
    assert head(workspace).classes is not None


@pytest.mark.parametrize("place", [0, 9, 60, -1])
def test_a_changed_model_does_not_predict(workspace, place):
    (file,) = (workspace / "models").iterdir()
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match="is not the model that the ledger names"):
        head(workspace)


@pytest.mark.parametrize("content", [b"no tensors", save({"phi": torch.zeros(2)})])
def test_what_is_no_model_is_refused_even_under_its_own_hash(workspace, content):
    sha256 = hashlib.sha256(content).hexdigest()
    (workspace / f"models/{sha256}.safetensors").write_bytes(content)
    change_ledger(workspace, "UPDATE models SET sha256 = ?", sha256)
    with pytest.raises(InvalidInput, match="not a model"):
        head(workspace)
