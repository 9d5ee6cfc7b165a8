"""Products counted as on paper."""

import pytest
import torch
from torch import nn

from expunge.core.flops import forward_flops, training_flops
from expunge.core.inputs import Columns, taking_columns
from tests.unlearning.networks.problems import bits, masked, network, texts


def test_a_forward_pass_is_two_flops_for_each_weight():
    assert forward_flops(network(), torch.zeros(1, 4)) == 2 * (4 * 6 + 6 * 3)


def test_training_is_three_times_that_without_the_inputs_own_gradient():
    assert training_flops(network(), torch.zeros(1, 4)) == 2 * (2 * 4 * 6 + 3 * 6 * 3)


def test_several_inputs_are_counted():
    table = Columns(texts(2)[0], named=True)
    assert forward_flops(taking_columns(masked()), table) == 2 * (6 * 6 + 6 * 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_recurrent_layers_and_half_precision_are_counted(dtype):
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 5, batch_first=True)

        def forward(self, x):
            return self.lstm(x)[0][:, -1]

    # Four gates, each of (3 + 5) x 5 weights, at each of 7 times.
    counted = forward_flops(Last().to(dtype), torch.zeros(2, 7, 3, dtype=dtype))
    assert counted == pytest.approx(2 * 4 * (3 + 5) * 5 * 7, rel=0.01)


def test_counting_changes_neither_the_module_nor_torchs_generator():
    module = network(extra=nn.Sequential(nn.BatchNorm1d(6), nn.Dropout(0.5))).eval()
    before, random = bits(module.state_dict()), torch.get_rng_state()
    training_flops(module, torch.zeros(1, 4))
    assert bits(module.state_dict()) == before
    assert not module.training
    assert torch.equal(torch.get_rng_state(), random)
