"""A module's state by name: copies, and writing in place."""

import torch
from torch import nn

from expunge.core.module_state import copy_into, load_into, state_of, with_state
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


def test_copying_a_module_writes_buffers_that_no_state_dict_has():
    module, source = nn.Linear(2, 2), nn.Linear(2, 2)
    for made, value in ((module, 0.0), (source, 5.0)):
        made.register_buffer("unsaved", torch.full((1,), value), persistent=False)
    copy_into(module, source)
    assert bits(state_of(module)) == bits(state_of(source))
