"""Weights and certificate on disk: whole, readable by anyone, and matching."""

import hashlib

import pytest
import torch
from safetensors.torch import load_file

from expunge.unlearning.networks.files import load
from tests.unlearning.networks.problems import bits, network, rows
from tests.unlearning.networks.test_unlearner import fitted


def test_what_was_saved_loads_with_its_certificate(tmp_path):
    made = fitted("head+finetune")
    certificate = made.forget("p1")
    made.save(tmp_path / "m")
    model = network(5)
    assert load(model, tmp_path / "m") == certificate
    assert bits(model.state_dict()) == bits(made.model.state_dict())
    content = (tmp_path / "m/model.safetensors").read_bytes()
    assert hashlib.sha256(content).hexdigest() == certificate.model_sha256
    network(6).load_state_dict(load_file(tmp_path / "m/model.safetensors"))


def test_nothing_secret_is_written(tmp_path):
    made = fitted()
    made.forget("p1")
    made.save(tmp_path / "m")
    assert {p.name for p in (tmp_path / "m").iterdir()} == {"model.safetensors", "certificate.json"}
    assert set(load_file(tmp_path / "m/model.safetensors")) == set(made.model.state_dict())


def test_before_a_deletion_there_is_no_certificate(tmp_path):
    made = fitted()
    made.save(tmp_path / "m")
    assert load(network(5), tmp_path / "m") is None


def test_a_model_that_changed_is_neither_saved_nor_loaded_as_certified(tmp_path):
    made = fitted()
    made.forget("p1")
    made.save(tmp_path / "m")
    fitted().save(tmp_path / "other")
    (tmp_path / "m/model.safetensors").write_bytes(
        (tmp_path / "other/model.safetensors").read_bytes()
    )
    model = network(5)
    before = bits(model.state_dict())
    with pytest.raises(ValueError, match="not the one that its certificate is about"):
        load(model, tmp_path / "m")
    assert bits(model.state_dict()) == before
    with torch.no_grad():
        made.model.fc.bias += 1
    with pytest.raises(ValueError, match="not the one that its certificate is about"):
        made.save(tmp_path / "n")
    assert not (tmp_path / "n").exists()


def test_a_folder_with_something_else_is_not_touched(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="not touched"):
        fitted().save(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_another_architecture_is_refused(tmp_path):
    fitted().save(tmp_path / "m")
    with pytest.raises(ValueError, match="not a saved network of this kind"):
        load(network(hidden=7), tmp_path / "m")
    with pytest.raises(ValueError, match="not a saved network"):
        load(network(), tmp_path / "nowhere")


def test_a_later_save_replaces_both(tmp_path):
    made = fitted(evaluate=rows(9))
    made.forget("p1")
    made.save(tmp_path)
    second = made.forget("p2")
    made.save(tmp_path)
    assert load(network(5), tmp_path) == second
