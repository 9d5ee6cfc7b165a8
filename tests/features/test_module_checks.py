"""Refusals name the layer, and what is harmless passes."""

import pytest
import torch
from torch import nn

from expunge.core.inputs import Columns
from expunge.errors import InvalidInput
from expunge.features.module_checks import (
    check_rows_apart,
    last_linear,
    refuse_half_precision,
    refuse_mixing,
    refuse_mixing_when_frozen,
    refuse_remembering,
    refuse_tied_head,
    refuse_uncallable,
)
from tests.unlearning.networks.problems import masked, network, rows, texts


@pytest.mark.parametrize(
    "layer",
    [nn.BatchNorm1d(6), nn.SyncBatchNorm(6), nn.InstanceNorm1d(6, track_running_stats=True)],
    ids=lambda layer: type(layer).__name__,
)
def test_a_layer_that_mixes_records_is_refused_by_its_name(layer):
    with pytest.raises(InvalidInput, match=rf"'body\.1' \({type(layer).__name__}\) mixes"):
        refuse_mixing(network(extra=layer))


@pytest.mark.parametrize(
    "layer",
    [nn.LayerNorm(6), nn.GroupNorm(2, 6), nn.Dropout(0.5), nn.InstanceNorm1d(6)],
    ids=lambda layer: type(layer).__name__,
)
def test_layers_that_keep_records_apart_pass(layer):
    refuse_mixing(network(extra=layer))


def test_frozen_batch_statistics_pass_unless_there_are_none():
    refuse_mixing_when_frozen(network(extra=nn.BatchNorm1d(6)))
    with pytest.raises(InvalidInput, match=r"'body\.1'.*no running statistics"):
        refuse_mixing_when_frozen(network(extra=nn.BatchNorm1d(6, track_running_stats=False)))


def test_a_module_of_ones_own_that_mixes_is_noticed_by_trying():
    inputs = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    check_rows_apart(lambda x: x * 2, inputs)
    with pytest.raises(InvalidInput, match="other records in its batch"):
        check_rows_apart(lambda x: x - x.mean(0), inputs)


def test_a_module_that_keeps_something_of_its_records_is_refused_and_a_buffer_named():
    class Counting(nn.Module):
        def __init__(self, buffer):
            super().__init__()
            self.buffer, self.seen = buffer, 0
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            if self.buffer:
                self.count += 1
                return x
            self.seen += 1
            return x * self.seen

    inputs, _ = rows(20)
    refuse_remembering(network(), inputs)
    for buffer, said in ((True, r"buffer 'body\.1\.count'"), (False, "in another order")):
        module = network(extra=Counting(buffer)).eval()
        with pytest.raises(InvalidInput, match=said):
            refuse_remembering(module, inputs)
        assert float(module.body[1].count) == module.body[1].seen == 0


def test_half_precision_is_refused_by_the_parameters_name():
    refuse_half_precision(network(), "training")
    with pytest.raises(InvalidInput, match=r"'body\.0\.weight' is bfloat16; training needs"):
        refuse_half_precision(network().to(torch.bfloat16), "training")


def test_the_head_is_found_by_name_or_the_candidates_are_listed():
    assert last_linear(network(), "fc").out_features == 3
    with pytest.raises(InvalidInput, match=r"no layer 'head'; .*body\.0, fc"):
        last_linear(network(), "head")
    with pytest.raises(InvalidInput, match="name the last linear layer"):
        last_linear(network(), None)
    with pytest.raises(InvalidInput, match="'body' is Sequential"):
        last_linear(network(), "body")


def test_a_tied_head_is_refused_with_the_other_name():
    module = network(inputs=6, classes=6)
    module.fc.weight = module.body[0].weight
    with pytest.raises(InvalidInput, match=r"shares its parameters with 'body\.0\.weight'"):
        refuse_tied_head(module, "fc")
    refuse_tied_head(network(), "fc")


@pytest.mark.parametrize(
    ("columns", "named", "said"),
    [
        (("tokens", "mask", "idx"), True, "inputs tokens, mask, idx: .*'idx'"),
        (("tokens",), True, "missing a required argument: 'mask'"),
        (("a", "b", "c"), False, "too many positional arguments"),
    ],
    ids=["more", "fewer", "places"],
)
def test_inputs_that_the_model_does_not_take_are_refused_by_name(columns, named, said):
    table = Columns({name: torch.zeros(2, 1) for name in columns}, named)
    with pytest.raises(InvalidInput, match=f"private: the model cannot be called .*{said}"):
        refuse_uncallable(masked(), table, "private")


def test_inputs_that_the_model_takes_pass():
    for named in (True, False):
        refuse_uncallable(masked(), Columns(texts(2)[0], named), "private")
    refuse_uncallable(masked(), torch.zeros(2, 1), "private")  # one input is tried by calling
