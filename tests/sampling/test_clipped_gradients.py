"""Clipped per-record gradients against a plain loop, opacus, and the norm they promise."""

import copy
import math
from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from torch import nn
from torch.nn import functional

from expunge.core.inputs import Columns, taking_columns
from expunge.sampling import clipped_gradients as module_under_test
from expunge.sampling.clipped_gradients import (
    chunk_rows,
    clipped_mean,
    per_record,
    sum_rounding,
)
from expunge.sampling.left_out import LeftOut
from expunge.sampling.networks import Network
from expunge.sampling.recurrent import LSTMClassifier, Recurrent
from expunge.unlearning.networks.noisy_descent import in_one_vector
from tests.unlearning.networks.problems import Masked, texts


def clipped_gradients(network, weights, features, targets, rows=None, **given):
    rows = torch.arange(len(features)) if rows is None else rows
    return module_under_test.clipped_gradients(
        network, weights, lambda chosen: (features[chosen], targets[chosen]), rows, **given
    )


class Sentiment(nn.Module):
    """The paper's shape: embedding, two recurrent layers, one score."""

    def __init__(self, recurrent):
        super().__init__()
        self.embed, self.recurrent = nn.Embedding(20, 4), recurrent
        self.score = nn.LazyLinear(1)

    def forward(self, tokens):
        embedded = self.embed(tokens)
        embedded = embedded if self.recurrent.batch_first else embedded.transpose(0, 1)
        hidden, last = self.recurrent(embedded)
        hidden = hidden if self.recurrent.batch_first else hidden.transpose(0, 1)
        if isinstance(last, tuple):  # an LSTM's
            hidden = hidden + (last[0] + last[1]).sum((0, 2))[:, None, None]
        return self.score(hidden[:, -1])[:, 0]


class Looking(nn.Module):
    """Its way depends on the values, which torch.func cannot follow."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(5, 4), nn.Linear(5, 4)

    def forward(self, rows):
        return self.left(rows) if rows[0, 0].item() > 0 else self.right(rows)


RECURRENT = {
    "lstm": lambda: nn.LSTM(4, 6, num_layers=2, batch_first=True, dropout=0.5),
    "two-way lstm": lambda: nn.LSTM(4, 3, num_layers=2, bidirectional=True, bias=False),
    "gru": lambda: nn.GRU(4, 6, batch_first=True),
}


class Tied(nn.Module):
    """One matrix in two layers, one of which has two names."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(5, 5, bias=False), nn.Linear(5, 5)
        self.decode.weight = self.encode.weight
        self.again = self.encode

    def forward(self, rows):
        return self.decode(torch.tanh(self.again(torch.tanh(self.encode(rows)))))


def problem(kind: str, rows: int = 23):
    torch.manual_seed(5)
    if kind == "paper's lstm":
        tokens = torch.randint(2, 20, (rows, 7))
        tokens[:, 5:] *= torch.rand(rows, 1).round().long()  # some rows are padded
        network = Recurrent(LSTMClassifier(20, embedding=4, hidden=6))
        return network, tokens, torch.randint(0, 2, (rows,))
    if kind in RECURRENT:
        tokens = torch.randint(0, 20, (rows, 7))
        module = Sentiment(RECURRENT[kind]())
        module(tokens)
        network = Network(module, functional.binary_cross_entropy_with_logits)
        return network, tokens, torch.rand(rows).round()
    features = torch.randn(rows, 5)
    if kind == "looking":
        return Network(Looking(), functional.cross_entropy), features, torch.randint(0, 4, (rows,))
    if kind == "tied":
        return Network(Tied(), functional.mse_loss), features, features
    if kind == "convolution":
        stack = nn.Sequential(nn.Conv1d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(9, 4))
        network = Network(stack, functional.cross_entropy)
        return network, features[:, None], torch.randint(0, 4, (rows,))
    layers = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 4))
    dtype = {"half": torch.bfloat16, "double": torch.float64}.get(kind, torch.float32)
    network = Network(layers.to(dtype), functional.cross_entropy)
    return network, features.to(dtype), torch.randint(0, 4, (rows,))


def flat(module):
    return torch.cat([p.detach().double().flatten() for p in module.parameters()])


def looped(network, features, targets, clip):
    """One record after the other through autograd, clipped in float64."""
    module = copy.deepcopy(network.module).eval()
    total = torch.zeros(network.parameters, dtype=torch.float64)
    for one, target in zip(features, targets, strict=True):
        loss = network.function(module(one[None]), target[None])
        found = torch.autograd.grad(loss, list(module.parameters()), materialize_grads=True)
        gradient = torch.cat([g.double().flatten() for g in found])
        total += gradient * min(1.0, clip / float(gradient.norm()))
    return total / len(features)


KINDS = (
    "perceptron",
    "convolution",
    "paper's lstm",
    *RECURRENT,
    "looking",
    "tied",
    "half",
    "double",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clip", [0.05, 0.7, 1e3])
def test_it_equals_a_loop_over_records(kind, clip):
    network, features, targets = problem(kind)
    found = clipped_gradients(network, flat(network.module), features, targets, clip=clip)
    expected = looped(network, features, targets, clip)
    # bfloat16 has 8 bits: the two routes multiply in different orders.
    tolerance = 2e-2 if kind == "half" else 1e-6
    assert found.dtype == torch.float64
    assert float((found - expected).norm()) <= tolerance * max(float(expected.norm()), clip / 100)


def test_chunks_do_not_change_the_sum_and_bound_the_memory(monkeypatch):
    network, features, targets = problem("perceptron", rows=50)
    weights, seen = flat(network.module), []
    whole = clipped_gradients(network, weights, features, targets, clip=0.3)
    per_record = module_under_test.per_record

    def counted(network, weights, inputs, targets):
        seen.append(len(inputs))
        return per_record(network, weights, inputs, targets)

    monkeypatch.setattr(module_under_test, "per_record", counted)
    memory = 16 * network.parameters * 8
    cut = clipped_gradients(network, weights, features, targets, clip=0.3, memory=memory)
    assert seen == [8, 8, 8, 8, 8, 8, 2]
    assert chunk_rows(network.parameters, memory) == 8
    torch.testing.assert_close(cut, whole, rtol=1e-6, atol=1e-9)


def test_the_divisor_is_the_rows_present_or_the_constant_given():
    network, features, targets = problem("perceptron")
    weights = flat(network.module)
    mean = clipped_gradients(network, weights, features, targets, clip=0.3)
    fixed = clipped_gradients(network, weights, features, targets, clip=0.3, divisor=46)
    torch.testing.assert_close(fixed * 2, mean)
    rows = torch.tensor([3, 7, 11])
    some = clipped_gradients(network, weights, features, targets, clip=0.3, rows=rows)
    alone = clipped_gradients(network, weights, features[rows], targets[rows], clip=0.3)
    torch.testing.assert_close(some, alone, rtol=0, atol=0)
    none = clipped_gradients(network, weights, features, targets, clip=0.3, rows=rows[:0])
    assert float(none.norm()) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clip", [1e-6, 0.05, 0.3])
def test_no_clipped_gradient_is_longer_than_the_clip(kind, clip):
    network, features, targets = problem(kind, rows=6)
    weights = flat(network.module) * 3
    for row in range(len(features)):
        one = clipped_gradients(
            network, weights, features, targets, clip=clip, rows=torch.tensor([row])
        )
        exact = sum(Fraction(x) ** 2 for x in one.tolist())
        assert exact <= Fraction(clip) ** 2


def test_the_norm_test_catches_a_clip_without_room_for_rounding():
    """Scaling by clip/norm as computed exceeds the clip for about half of all vectors."""
    torch.manual_seed(0)
    vectors = torch.randn(200, 50, dtype=torch.float64)
    scaled = vectors * (0.3 / vectors.norm(dim=1))[:, None]
    over = [sum(Fraction(x) ** 2 for x in v.tolist()) > Fraction(0.3) ** 2 for v in scaled]
    assert any(over)
    kept, _ = module_under_test._summed([vectors[:1]], 50, 0.3)
    assert sum(Fraction(x) ** 2 for x in kept.tolist()) <= Fraction(0.3) ** 2


def test_the_rounding_of_the_sum_is_within_its_bound():
    network, features, targets = problem("double", rows=300)
    weights, memory = flat(network.module), 16 * network.parameters * 16
    found = clipped_gradients(network, weights, features, targets, clip=0.3, memory=memory)
    singles = [
        clipped_gradients(network, weights, features, targets, clip=0.3, rows=torch.tensor([i]))
        for i in range(300)
    ]
    exact = [math.fsum(column) / 300 for column in torch.stack(singles).T.tolist()]
    error = float((found - torch.tensor(exact, dtype=torch.float64)).norm())
    bound = sum_rounding(
        rows=300, parameters=network.parameters, clip=0.3, divisor=300, memory=memory
    )
    # Batched and single products of one record may differ in their last bits as well.
    assert error <= bound + 1e-15
    assert bound < 1e-13


@pytest.mark.parametrize(("rows", "chunk"), [(1, 1), (7, 1), (10, 3), (12, 3), (1000, 64), (5, 99)])
def test_the_rounding_counts_every_addition_within_and_between_chunks(rows, chunk):
    """A product and chunk - 1 additions for a row, one for each chunk, the division: Higham's g(k).

    g(k) = k u/(1 - k u), here in exact fractions; two operations more would be no surprise.
    """
    unit, parameters = Fraction(1, 2**53), 10
    bound = sum_rounding(
        rows=rows, parameters=parameters, clip=0.3, divisor=4.0, memory=16 * parameters * chunk
    )
    within = min(rows, chunk)
    least, most = (within + math.ceil(rows / within) + spare for spare in (2, 5))
    share = Fraction(bound) / (rows * Fraction(0.3) / 4)
    assert least * unit / (1 - least * unit) <= share <= most * unit / (1 - most * unit)


@pytest.mark.parametrize("kind", ["double", "tied"])
@pytest.mark.parametrize("value", [math.nan, math.inf, 1e200])
def test_a_record_whose_gradient_has_no_finite_length_contributes_nothing(kind, value):
    """The class of the clipped regime: a function of one record, at most C long."""
    network, features, targets = problem(kind)
    network.module.double()
    features, targets = features.double(), targets if kind == "double" else targets.double()
    kept = torch.tensor([row for row in range(len(features)) if row != 4])
    given = {"clip": 0.3, "divisor": 10.0}
    weights, before = flat(network.module), copy.deepcopy(network.module.state_dict())
    expected = clipped_gradients(network, weights, features, targets, rows=kept, **given)
    spoilt = (features if kind == "double" else targets).clone()
    spoilt[4, 2] = value
    rows = (spoilt, targets) if kind == "double" else (features, spoilt)
    left_out = LeftOut()
    found = clipped_gradients(network, weights, *rows, left_out=left_out, **given)
    assert left_out.rows == {4}
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert all(torch.equal(before[name], now) for name, now in network.module.state_dict().items())


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_the_whole_gradient_is_that_of_the_records_that_have_one(value):
    network, features, targets = problem("perceptron")
    weights, spoilt = flat(network.module), features.clone()
    spoilt[4, 2] = value
    kept = torch.tensor([row for row in range(len(features)) if row != 4])
    expected = clipped_mean(
        network, weights, lambda rows: (features[rows], targets[rows]), kept, clip=0.3, divisor=9.0
    )
    left_out = LeftOut()
    found = clipped_mean(
        network,
        weights,
        lambda rows: (spoilt[rows], targets[rows]),
        torch.arange(len(features)),
        clip=0.3,
        divisor=9.0,
        left_out=left_out,
    )
    assert left_out.rows == {4}
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-8)


def test_a_whole_gradient_of_no_finite_length_is_none():
    """Each record's is finite here; their sum's square is not."""
    network, features, targets = problem("double")
    network = replace(network, function=lambda outputs, _: 1e180 * outputs.sum())

    def batch(rows):
        return features[rows], targets[rows]

    found = clipped_mean(network, flat(network.module), batch, torch.arange(5), clip=0.3)
    assert torch.equal(found, torch.zeros_like(found))


@pytest.mark.parametrize("kind", ["perceptron", "paper's lstm", "looking"])
def test_weights_that_are_not_finite_leave_every_record_out(kind):
    network, features, targets = problem(kind)
    left_out, weights = LeftOut(), flat(network.module) * math.nan
    found = clipped_gradients(network, weights, features, targets, clip=0.3, left_out=left_out)
    assert len(left_out.rows) == len(features)
    assert torch.equal(found, torch.zeros_like(weights))


def raising(outputs, targets):
    raise ArithmeticError


def test_the_module_is_left_as_it_was_and_its_dropout_is_not_used():
    network, features, targets = problem("perceptron")
    network.module.train()
    network.module[3].eval()
    weights = flat(network.module)
    first, second = (
        clipped_gradients(network, weights, features, targets, clip=0.3) for _ in range(2)
    )
    assert torch.equal(first, second)
    assert [layer.training for layer in network.module] == [True, True, True, False]
    with pytest.raises(ArithmeticError):
        clipped_gradients(replace(network, function=raising), weights, features, targets, clip=0.3)
    assert [layer.training for layer in network.module] == [True, True, True, False]


@pytest.mark.parametrize("kind", ["perceptron", "lstm", "tied", "paper's lstm"])
@pytest.mark.parametrize("clip", [0.01, 1e3])
def test_the_whole_gradient_is_the_batchs_clipped_once(kind, clip):
    network, features, targets = problem(kind)
    mean = looped(network, features, targets, clip=math.inf)
    weights, copied = flat(network.module), replace(network, module=copy.deepcopy(network.module))
    rows, batch = torch.arange(len(features)), lambda rows: (features[rows], targets[rows])
    found = clipped_mean(copied, weights, batch, rows, clip=clip)
    expected = mean * min(1.0, clip / float(mean.norm()))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    assert sum(Fraction(x) ** 2 for x in found.tolist()) <= Fraction(clip) ** 2
    half = clipped_mean(copied, weights, batch, rows, clip=1e3, divisor=2 * len(rows))
    torch.testing.assert_close(half * 2, mean, rtol=0, atol=1e-6)
    assert float(clipped_mean(copied, weights, batch, rows[:0], clip=1.0).norm()) == 0


class LookingTwice(Masked):
    """Several inputs, and values that torch.func cannot follow."""

    def forward(self, tokens, mask):
        return super().forward(tokens, mask) * (1 if tokens.sum().item() > 9 else 2)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("kind", [Masked, LookingTwice])
def test_several_inputs_go_record_by_record_too(named, kind):
    torch.manual_seed(0)
    columns, targets = texts(11)
    module, table = kind(), Columns(columns, named)
    network = Network(taking_columns(module), functional.cross_entropy)
    found = clipped_gradients(network, flat(module), table, targets, clip=0.3)
    total = torch.zeros(network.parameters, dtype=torch.float64)
    for tokens, mask, target in zip(columns["tokens"], columns["mask"], targets, strict=True):
        loss = functional.cross_entropy(module(tokens[None], mask[None]), target[None])
        parts = torch.autograd.grad(loss, list(module.parameters()))
        gradient = torch.cat([part.double().flatten() for part in parts])
        total += gradient * min(1.0, 0.3 / float(gradient.norm()))
    torch.testing.assert_close(found, total / 11, rtol=0, atol=1e-6)
    assert float(found.norm()) > 0.01


@pytest.mark.parametrize("kind", ["perceptron", "convolution"])
def test_it_agrees_with_opacus(kind):
    from opacus.grad_sample import GradSampleModule

    network, features, targets = problem(kind)
    clip = 0.4
    module = copy.deepcopy(network.module).train()  # its hooks sleep in evaluation mode
    for layer in module:
        layer.p = 0.0  # dropout's
    wrapped = GradSampleModule(module, loss_reduction="mean")
    network.function(wrapped(features.clone().requires_grad_()), targets).backward()
    samples = [p.grad_sample.flatten(1).double() for p in wrapped.parameters()]
    rows = torch.cat(samples, dim=1)
    scale = (clip / rows.norm(dim=1)).clamp_max(1.0)
    found = clipped_gradients(network, flat(network.module), features, targets, clip=clip)
    torch.testing.assert_close(found, scale @ rows / len(features), rtol=0, atol=1e-6)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["perceptron", "convolution", "paper's lstm", "lstm", "tied"])
def test_a_gpu_finds_what_a_loop_on_the_cpu_finds(kind):
    network, features, targets = problem(kind)
    weights = flat(network.module)
    expected = looped(network, features, targets, clip=0.1)
    there = replace(network, module=copy.deepcopy(network.module).cuda())
    found = clipped_gradients(there, weights, features.cuda(), targets.cuda(), clip=0.1)
    assert found.device == weights.device
    assert float((found - expected).norm()) <= 1e-4 * float(expected.norm())


@pytest.mark.filterwarnings("ignore")  # torch's own, of what it has no rule for
def test_a_layer_that_torch_cannot_batch_goes_one_record_after_another():
    """A transformer with a padding mask has no batching rule."""

    class Attending(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
            self.embed = nn.Embedding(9, 8)
            self.encoder = nn.TransformerEncoder(layer, 1)
            self.fc = nn.Linear(8, 3)

        def forward(self, tokens, mask):
            seen = self.encoder(self.embed(tokens), src_key_padding_mask=~mask)
            return self.fc((seen * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))

    columns, targets = texts(6)
    table = Columns(columns, named=True)
    module = taking_columns(Attending()).eval()
    network = Network(module, functional.cross_entropy)
    weights = in_one_vector(dict(module.named_parameters()))
    together = per_record(network, weights, table, targets)
    for i in range(6):
        alone = per_record(network, weights, table[i : i + 1], targets[i : i + 1])
        for one, other in zip(together, alone, strict=True):
            torch.testing.assert_close(one[i], other[0])
