"""A module's state by name: copies, and writing in place."""

import pytest
import torch
from torch import nn

from expunge.core.module_state import (
    copy_into,
    fresh_state,
    load_into,
    saturated,
    state_of,
    with_state,
)
from expunge.errors import InvalidInput
from tests.unlearning.networks.problems import bits, network


def test_a_state_is_a_copy():
    module = network()
    state_of(module)["fc.weight"].zero_()
    assert module.fc.weight.abs().sum() > 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_what_is_too_large_becomes_the_largest_number_and_the_rest_stays(dtype):
    values = torch.tensor([1e300, -1e300, 0.1, -2.0], dtype=torch.float64)
    most = torch.finfo(dtype).max
    found = saturated(values, dtype)
    assert found.tolist() == [min(1e300, most), -min(1e300, most), 0.1, -2.0]
    assert torch.isfinite(found.to(dtype)).all()


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


def test_a_layer_that_does_not_say_how_it_begins_is_named():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(6))

        def forward(self, x):
            return x * self.scale

    with pytest.raises(InvalidInput, match=r"'body\.1\.scale'"):
        fresh_state(network(extra=Scale()))


@pytest.mark.filterwarnings("ignore")  # torch's own, about its older normalisation
def test_what_no_layer_draws_anew_is_refused():
    module = network()
    module.body[0] = nn.utils.spectral_norm(nn.Linear(4, 6))
    with pytest.raises(InvalidInput, match=r"body\.0\.weight"):
        fresh_state(module)
