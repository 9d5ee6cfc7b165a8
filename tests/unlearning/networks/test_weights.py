"""The file of a network: what is saved loads, and nothing else does."""

import hashlib
import json

import pytest
import torch
from safetensors.torch import load as tensors_of_file
from safetensors.torch import load_file

from expunge.errors import InvalidInput
from expunge.unlearning.networks.weights import load, network_bytes
from tests.unlearning.networks.problems import bits, network
from tests.unlearning.networks.test_unlearner import fitted


def test_the_file_loads_as_a_state_dict():
    module = network(inputs=6, classes=6)
    module.fc.weight = module.body[0].weight  # tied: one tensor under two names
    content = network_bytes(module)
    fresh = network(1, inputs=6, classes=6)
    fresh.load_state_dict(tensors_of_file(content))
    torch.testing.assert_close(fresh.fc.weight, module.fc.weight, rtol=0, atol=0)


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


def test_before_a_deletion_there_is_no_certificate(tmp_path):
    fitted().save(tmp_path / "m")
    assert load(network(5), tmp_path / "m") is None


@pytest.mark.parametrize("strategy", ["head", "retrain"])  # a hash, and a commitment
def test_another_model_is_not_loaded_as_the_certified_one(tmp_path, strategy):
    made = fitted(strategy)
    certificate = made.forget("p1")
    made.save(tmp_path / "m")
    assert load(network(5), tmp_path / "m") == certificate
    fitted(strategy).save(tmp_path / "other")
    (tmp_path / "m/model.safetensors").write_bytes(
        (tmp_path / "other/model.safetensors").read_bytes()
    )
    model = network(5)
    before = bits(model.state_dict())
    with pytest.raises(InvalidInput, match="not the one that its certificate is about"):
        load(model, tmp_path / "m")
    assert bits(model.state_dict()) == before


def test_an_edited_certificate_is_not_loaded_by_whoever_is_given_it(tmp_path):
    made = fitted()
    made.forget("p1")
    made.save(tmp_path)
    path = tmp_path / "certificate.json"
    document = json.loads(path.read_text())
    document["claim"]["epsilon"] = 1e-6
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidInput, match=r"certificate's claim\.epsilon"):
        load(network(5), tmp_path)


def test_another_architecture_is_refused_in_one_line_and_not_written(tmp_path):
    fitted().save(tmp_path / "m")
    model = network(5, classes=4)  # its first layer would fit
    before = bits(model.state_dict())
    with pytest.raises(InvalidInput, match="m: not a saved network of this kind") as caught:
        load(model, tmp_path / "m")
    assert "\n" not in str(caught.value)
    assert bits(model.state_dict()) == before


@pytest.mark.parametrize("content", [None, b"no safetensors"])
def test_what_is_no_saved_network_is_named(tmp_path, content):
    if content is not None:
        (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(InvalidInput, match="not a saved") as caught:
        load(network(), tmp_path)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused_and_not_written(tmp_path, value):
    damaged, model = network(1), network(5)
    next(damaged.parameters()).data[0] = value
    (tmp_path / "model.safetensors").write_bytes(network_bytes(damaged))
    before = bits(model.state_dict())
    with pytest.raises(InvalidInput, match="holds NaN or infinity"):
        load(model, tmp_path)
    assert bits(model.state_dict()) == before
