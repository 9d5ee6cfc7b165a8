"""Many LSTMs at once against torch's own, one at a time; then through the ensembles' interface."""

import copy
import math

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from expunge.core.text import Vocabulary
from expunge.sampling import IndependentBatches, Problem, SharedBatches, sample_ensemble
from expunge.sampling import recurrent as module_under_test
from expunge.sampling.recurrent import LSTMClassifier, Recurrent

WORDS, WIDTH, HIDDEN = 17, 6, 5


def network(dtype=torch.float32, layers=2, **settings):
    return Recurrent(LSTMClassifier(WORDS, WIDTH, HIDDEN, layers).to(dtype), **settings)


def rows(count=7, length=9, seed=0, models=()):
    """Rows of every length from 1 on, padded at the end."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, WORDS, (*models, count, length), generator=generator)
    lengths = torch.arange(count) % length + 1
    tokens[..., torch.arange(length) >= lengths[:, None]] = 0
    return tokens, torch.randint(0, 2, (*models, count), generator=generator)


def drawn(loss, models=3, dtype=torch.float32):
    generator = torch.Generator().manual_seed(1)
    return (torch.randn(models, loss.parameters, generator=generator) * 0.4).to(dtype)


def of_torch(loss, weights, tokens, targets):
    """Scores and gradients of nn.LSTM on packed rows and a linear head, model by model."""
    scores, gradients = [], []
    for number, flat in enumerate(weights):
        one = copy.deepcopy(loss.module)
        one.load_state_dict(loss.split(flat))
        own = tokens.dim() == 3
        out = one(tokens[number] if own else tokens)
        loss.function(out, targets[number] if own else targets).backward()
        scores.append(out.detach())
        gradients.append(torch.cat([p.grad.flatten() for p in one.parameters()]))
    return torch.stack(scores), torch.stack(gradients)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float32, 1e-5), (torch.float64, 1e-10)],
    ids=["single", "double"],
)
def test_scores_and_gradients_are_those_of_torchs_lstm(dtype, tolerance, layers):
    loss, (tokens, targets) = network(dtype, layers), rows()
    weights = drawn(loss, dtype=dtype)
    scores, gradients = of_torch(loss, weights, tokens, targets)
    close = {"rtol": 0, "atol": tolerance}
    torch.testing.assert_close(loss.outputs(weights, tokens), scores, **close)
    torch.testing.assert_close(loss.gradient(weights, tokens, targets), gradients, **close)
    assert gradients.abs().max() > 0.01


def test_every_model_may_have_rows_of_its_own():
    loss, (tokens, targets) = network(torch.float64), rows(models=(3,))
    weights = drawn(loss, dtype=torch.float64)
    scores, gradients = of_torch(loss, weights, tokens, targets)
    torch.testing.assert_close(loss.outputs(weights, tokens), scores)
    torch.testing.assert_close(loss.gradient(weights, tokens, targets), gradients)


@pytest.mark.parametrize("own", [(), (3,)], ids=["shared", "own"])
@pytest.mark.parametrize("budget", [1, 5000, 20_000])
def test_pieces_of_bounded_memory_give_the_same(monkeypatch, own, budget):
    loss, (tokens, targets) = network(torch.float64), rows(models=own)
    weights = drawn(loss, dtype=torch.float64)
    whole = loss.gradient(weights, tokens, targets), loss.outputs(weights, tokens)
    monkeypatch.setitem(module_under_test.BYTES, "cpu", budget)
    assert len(list(loss._pieces(weights, tokens.view(-1, 7, 9)))) > 1
    torch.testing.assert_close(loss.gradient(weights, tokens, targets), whole[0])
    torch.testing.assert_close(loss.outputs(weights, tokens), whole[1])


def test_padding_changes_nothing_and_its_row_of_the_embedding_learns_nothing():
    loss, (tokens, targets) = network(torch.float64), rows()
    weights = drawn(loss, dtype=torch.float64)
    longer = torch.nn.functional.pad(tokens, (0, 4))
    gradient = loss.gradient(weights, longer, targets)
    assert torch.equal(gradient, loss.gradient(weights, tokens, targets))
    assert not loss.split(gradient)["embedding.weight"][:, 0].any()
    moved = weights.clone()
    loss.split(moved)["embedding.weight"][:, 0] += 1.0
    assert torch.equal(loss.outputs(moved, longer), loss.outputs(weights, longer))


def test_a_wrong_gate_order_would_be_seen():
    """The planted fault: forget and input gates exchanged."""
    loss, (tokens, targets) = network(torch.float64), rows()
    weights = drawn(loss, dtype=torch.float64)
    scores, _ = of_torch(loss, weights, tokens, targets)
    part = loss.split(weights)["lstm.weight_hh_l0"]
    part[:, : 2 * HIDDEN] = part[:, : 2 * HIDDEN].roll(HIDDEN, dims=1).clone()
    assert (loss.outputs(weights, tokens) - scores).abs().max() > 1e-3


def test_a_forget_bias_is_torchs_lstm_with_that_much_more_in_every_forget_gate():
    """Added to the input gates instead, the planted fault, scores differ."""
    loss, (tokens, targets) = network(torch.float64, forget_bias=2.0), rows()
    weights = drawn(loss, dtype=torch.float64)

    def shifted(gate):
        moved = weights.clone()
        for number in range(2):
            part = loss.split(moved)[f"lstm.bias_hh_l{number}"]
            part[:, gate * HIDDEN : (gate + 1) * HIDDEN] += 2.0
        return of_torch(loss, moved, tokens, targets)

    scores, gradients = shifted(1)
    torch.testing.assert_close(loss.outputs(weights, tokens), scores)
    torch.testing.assert_close(loss.gradient(weights, tokens, targets), gradients)
    assert (shifted(0)[0] - scores).abs().max() > 1e-2


def test_the_loss_may_be_any_mean_over_rows():
    def smooth(outputs, targets):
        return cross_entropy(outputs, targets, label_smoothing=0.1)

    loss, (tokens, targets) = network(torch.float64, function=smooth), rows()
    weights = drawn(loss, dtype=torch.float64)
    _, gradients = of_torch(loss, weights, tokens, targets)
    torch.testing.assert_close(loss.gradient(weights, tokens, targets), gradients)


def problem(batch, **changes):
    tokens, targets = rows(count=20)
    settings = {
        "loss": network(l2=0.1),
        "private": (tokens, targets),
        "public": None,
        "forget": [0, 3],
        "step_size": 0.2,
        "sigma": 0.02,
        "learn_steps": 3,
        "radius": 2.0,
        "batch": batch,
    }
    return Problem(**{**settings, **changes})


@pytest.mark.parametrize(
    "batch", [None, SharedBatches(6), IndependentBatches(6, 2)], ids=["full", "shared", "own"]
)
def test_ensembles_take_it_as_any_network(batch):
    asked = problem(batch)
    found = sample_ensemble(asked, unlearn_steps=(2,), models=4, seed=5)
    weights = found["unlearned", 2].weights
    assert weights.shape == (4, asked.loss.parameters)
    assert (weights.norm(dim=1) <= 2.0 * (1 + 1e-6)).all()
    alone = sample_ensemble(asked, unlearn_steps=(2,), models=4, seed=5, block=2)
    torch.testing.assert_close(alone["unlearned", 2].weights, weights, rtol=0, atol=1e-5)


def test_one_step_is_the_formula():
    """theta <- Proj(theta - eta (gradient + l2 theta)), without noise, on all rows."""
    asked = problem(None, sigma=0.0, learn_steps=1)
    start = sample_ensemble(problem(None, sigma=0.0, learn_steps=0), ("learned",), (), models=2)
    after = sample_ensemble(asked, ("learned",), (), models=2)["learned", 0].weights
    before, (tokens, targets) = start["learned", 0].weights, rows(count=20)
    _, gradients = of_torch(asked.loss, before, tokens, targets)
    moved = before - 0.2 * (gradients + 0.1 * before)
    moved *= (2.0 / moved.norm(dim=1, keepdim=True)).clamp(max=1.0)
    torch.testing.assert_close(after, moved, rtol=0, atol=1e-6)


def test_word_order_is_learned_from_text():
    """Two words in either order: no bag of words tells them apart."""
    texts = ["good bad", "bad good"] * 2
    tokens, _ = Vocabulary.of(texts).encode(texts, length=3)
    targets = torch.tensor([0, 1] * 2)
    loss = Recurrent(LSTMClassifier(4, 4, 8, layers=1))
    asked = Problem(loss, (tokens, targets), None, [0], 4.0, 0.001, 120, 100.0)
    weights = sample_ensemble(asked, ("learned",), (), models=2)["learned", 0].weights
    assert (loss.outputs(weights, tokens).argmax(2) == targets).all()


def test_default_law_has_torchs_bounds_and_a_small_embedding():
    loss = network()
    bounds = {name: float(b.flatten()[0]) for name, b in loss.split(loss.default_bounds()).items()}
    assert bounds.pop("embedding.weight") == pytest.approx(1 / math.sqrt(WIDTH))
    assert all(bound == pytest.approx(1 / math.sqrt(HIDDEN)) for bound in bounds.values())
    chosen = network(word_bound=2.0)
    assert float(chosen.split(chosen.default_bounds())["embedding.weight"][0, 0]) == 2.0


def other(**changes):
    module = LSTMClassifier(WORDS, WIDTH, HIDDEN)
    for name, layer in changes.items():
        setattr(module, name, layer)
    return module


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (nn.Linear(2, 2), "module.embedding must be an nn.Embedding"),
        (other(lstm=nn.GRU(WIDTH, HIDDEN)), "module.lstm must be an nn.LSTM"),
        (other(lstm=nn.LSTM(WIDTH, HIDDEN, bidirectional=True)), "must run forward"),
        (other(lstm=nn.LSTM(WIDTH, HIDDEN, 2, dropout=0.5)), "no dropout"),
        (other(norm=nn.LayerNorm(3)), "module.norm: only embedding, lstm and head"),
        (other(head=nn.Linear(HIDDEN, 2, bias=False)), "module.head must have a bias"),
    ],
    ids=["linear", "gru", "both ways", "dropout", "norm", "no bias"],
)
def test_a_module_it_cannot_stack_is_refused_by_name(module, said):
    with pytest.raises(ValueError, match=said):
        Recurrent(module)
