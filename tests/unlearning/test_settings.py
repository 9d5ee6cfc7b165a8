"""Settings through JSON and back; code is never loaded from it."""

import json
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional

from expunge.errors import InvalidInput
from expunge.unlearning import (
    Clipped,
    Cyclic,
    Head,
    HeadFinetune,
    NetworkLangevin,
    PoissonBatch,
    RetrainNetwork,
    Training,
)
from expunge.unlearning.networks.commitments import describe_loss
from expunge.unlearning.settings import describe, rebuild


@pytest.mark.parametrize(
    "strategy",
    [
        Head(l2=1e-3, row_norm=2.5, one_by_one=True),
        HeadFinetune(Training(epochs=0.5, optimiser=torch.optim.SGD), Head(tolerance=1e-7)),
        RetrainNetwork("scratch"),
        NetworkLangevin(learn_steps=3, radius=2.0, scheme=PoissonBatch(0.25, seed=4)),
        Clipped(scheme=Cyclic(3), finetune=Training()),
    ],
    ids=lambda strategy: strategy.name,
)
def test_a_strategy_comes_back_equal(strategy):
    assert rebuild(json.loads(json.dumps(describe(strategy, "strategy")))) == strategy


def test_an_optimiser_comes_back_with_its_settings():
    chosen = partial(torch.optim.Adam, betas=(0.5, 0.75), amsgrad=True)
    strategy = RetrainNetwork(training=Training(optimiser=chosen))
    back = rebuild(json.loads(json.dumps(describe(strategy, "strategy"))))
    made = back.training.optimiser([torch.zeros(2, requires_grad=True)], lr=0.1)
    assert type(made) is torch.optim.Adam
    assert list(made.defaults["betas"]) == [0.5, 0.75]
    assert made.defaults["amsgrad"]


class OwnHead(Head):
    """A subclass may do anything; its settings say nothing about that."""


class OwnOptimiser(torch.optim.SGD):
    pass


@pytest.mark.parametrize(
    ("strategy", "where"),
    [
        (OwnHead(), "strategy: "),
        (RetrainNetwork(training=Training(optimiser=OwnOptimiser)), "strategy.training.optimiser"),
        (
            RetrainNetwork(training=Training(optimiser=lambda p, lr: torch.optim.SGD(p, lr))),
            "strategy.training.optimiser",
        ),
    ],
    ids=["subclass", "own optimiser", "function"],
)
def test_what_json_does_not_bring_back_is_refused_by_its_place(strategy, where):
    with pytest.raises(InvalidInput, match=f"{where}.*cannot be saved"):
        describe(strategy, "strategy")


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "Popen", "args": "id"},
        {"kind": "optimiser", "name": "lr_scheduler", "settings": {}},
        {"kind": "optimiser", "name": "nothing", "settings": {}},
    ],
    ids=["class", "module", "name"],
)
def test_unknown_kinds_are_refused(document):
    with pytest.raises(ValueError, match="is not known"):
        rebuild(document)


def test_a_loss_is_known_by_name_options_and_tensors():
    losses = [
        nn.CrossEntropyLoss(),
        nn.CrossEntropyLoss(label_smoothing=0.1),
        nn.CrossEntropyLoss(weight=torch.ones(3)),
        nn.CrossEntropyLoss(weight=torch.ones(3) * 2),
        nn.BCEWithLogitsLoss(),
        functional.cross_entropy,
        functional.mse_loss,
    ]
    documents = [json.dumps(describe_loss(loss), sort_keys=True) for loss in losses]
    assert len(set(documents)) == len(losses)
    assert describe_loss(nn.CrossEntropyLoss().eval()) == describe_loss(nn.CrossEntropyLoss())
