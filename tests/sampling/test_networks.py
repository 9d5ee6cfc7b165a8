"""Networks under the same interface: gradients, names, default law."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from expunge.losses import Softmax
from expunge.sampling.networks import Network
from tests.sampling.heads_problem import made


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 5), nn.Tanh(), nn.Linear(5, 4))


def test_gradient_is_autograds_and_leaves_the_template_alone():
    module = mlp()
    network = Network(module, cross_entropy)
    before = [p.clone() for p in module.parameters()]
    rows, targets = torch.randn(9, 12), torch.arange(9) % 4
    weights = torch.randn(3, network.parameters) * 0.3
    got = network.gradient(weights, rows, targets)
    for model, gradient in zip(weights, got, strict=True):
        copy = mlp()
        copy.load_state_dict(network.split(model))
        cross_entropy(copy(rows), targets).backward()
        expected = torch.cat([p.grad.flatten() for p in copy.parameters()])
        torch.testing.assert_close(gradient, expected)
    assert all(torch.equal(p, q) for p, q in zip(before, module.parameters(), strict=True))


def test_a_network_of_one_layer_is_a_linear_head():
    from expunge.sampling.chain import Recipe, run_block

    network = Network(nn.Linear(12, 4, bias=False), cross_entropy, l2=0.05)
    settings = {"batch": 30, "radius": 1.5}
    recipes = [
        Recipe(made(loss, **settings), ("unlearned", "retrained"), (2,), seed=3)
        for loss in (network, Softmax(4, l2=0.05))
    ]
    ours, linear = (run_block(recipe, 0, 6) for recipe in recipes)
    for point, weights in linear.items():
        torch.testing.assert_close(ours[point].view_as(weights), weights, rtol=0, atol=2e-6)


def test_default_law_has_torchs_bounds():
    network = Network(mlp(), cross_entropy)
    named = network.split(network.default_bounds())
    bounds = {name: float(bound.flatten()[0]) for name, bound in named.items()}
    assert bounds["0.weight"] == bounds["0.bias"] == pytest.approx(1 / math.sqrt(12))
    assert bounds["2.weight"] == bounds["2.bias"] == pytest.approx(1 / math.sqrt(5))
    drawn = nn.Linear(12, 4000).weight.detach()  # the framework's own, for comparison
    assert 0.99 < float(drawn.abs().max()) * math.sqrt(12) <= 1
    with pytest.raises(ValueError, match="LSTM"):
        Network(nn.LSTM(3, 2), cross_entropy).default_bounds()


class Twice(nn.Module):
    """One layer under two names, and another that shares its weight."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.again = self.first
        self.tied = nn.Linear(12, 12)
        self.tied.weight = self.first.weight

    def forward(self, x):
        return self.tied(torch.tanh(self.again(torch.tanh(self.first(x)))))


def test_a_layer_with_two_names_gets_its_own_tensors_back_and_the_right_gradient():
    torch.manual_seed(0)
    module = Twice()
    own = {name: (p, p.detach().clone()) for name, p in module.named_parameters()}
    network = Network(module, cross_entropy)
    rows, targets = torch.randn(9, 12), torch.arange(9) % 4
    weights = torch.cat([p.detach().flatten() for p in module.parameters()])
    got = network.gradient(weights[None], rows, targets)[0]
    for layer in (module.first, module.again):
        assert layer.weight is own["first.weight"][0]
        assert layer.bias is own["first.bias"][0]
    assert module.tied.weight is own["first.weight"][0]
    assert all(torch.equal(p, before) for p, before in own.values())
    cross_entropy(module(rows), targets).backward()
    torch.testing.assert_close(got, torch.cat([p.grad.flatten() for p in module.parameters()]))
