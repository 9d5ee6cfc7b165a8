"""Names, copies and the file of a network."""

import torch
from safetensors.torch import load

from expunge.unlearning.networks.weights import (
    load_into,
    network_bytes,
    state_of,
    with_state,
)
from tests.unlearning.networks.problems import bits, network


def test_a_state_is_a_copy():
    module = network()
    state_of(module)["fc.weight"].zero_()
    assert module.fc.weight.abs().sum() > 0


def test_loading_writes_in_place_and_leaves_unnamed_tensors_alone():
    module = network()
    before, weight = bits(module.state_dict()), module.fc.weight
    load_into(module, {"fc.weight": torch.ones(3, 6, dtype=torch.float64)})
    assert module.fc.weight is weight
    assert weight.dtype == torch.float32
    assert weight.min().item() == 1
    changed = {n for n, b in bits(module.state_dict()).items() if b != before[n]}
    assert changed == {"fc.weight"}


def test_a_copy_with_a_state_leaves_the_template_alone():
    module = network()
    before = bits(module.state_dict())
    made = with_state(module, {"fc.bias": torch.zeros(3)})
    assert made.fc.bias.abs().sum().item() == 0
    assert bits(module.state_dict()) == before


def test_the_file_loads_as_a_state_dict():
    module = network(inputs=6, classes=6)
    module.fc.weight = module.body[0].weight  # tied: one tensor under two names
    content = network_bytes(module)
    fresh = network(1, inputs=6, classes=6)
    fresh.load_state_dict(load(content))
    torch.testing.assert_close(fresh.fc.weight, module.fc.weight, rtol=0, atol=0)
