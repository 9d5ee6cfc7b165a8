"""What is wrong with a loss or its targets is said in one line, by whatever trains."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from expunge.errors import InvalidInput
from expunge.losses.checked_loss import CheckedLoss
from expunge.unlearning.networks.langevin import NetworkLangevin
from expunge.unlearning.networks.retrain import RetrainNetwork
from expunge.unlearning.networks.training import Training
from expunge.unlearning.networks.unlearner import TorchUnlearner

ROWS = torch.linspace(-1, 1, 24).reshape(12, 2)
LABELS = torch.arange(12) % 2
FAULTS = {
    "label out of range": (functional.cross_entropy, LABELS + 1),
    "negative label": (functional.cross_entropy, LABELS - 1),
    "float targets": (functional.cross_entropy, LABELS.float()),
    "returns nothing": (lambda *_: None, LABELS),
    "returns a number": (lambda *_: 1.0, LABELS),
    "one for each record": (
        lambda outputs, targets: functional.cross_entropy(outputs, targets, reduction="none"),
        LABELS,
    ),
    "wants something else": (lambda outputs: outputs.mean(), LABELS),
}
STRATEGIES = {
    "retrain": RetrainNetwork(training=Training(epochs=1)),
    "langevin": NetworkLangevin(learn_steps=2, sigma=0.1),
}


@pytest.mark.parametrize(
    ("strategy", "fault"),
    [
        (strategy, fault)
        for strategy in STRATEGIES
        for fault in FAULTS
        if (strategy, fault) != ("langevin", "one for each record")  # it takes one at a time
    ],
)
def test_every_fault_is_one_line_whatever_trains(strategy, fault):
    loss, targets = FAULTS[fault]
    unlearner = TorchUnlearner(
        nn.Linear(2, 2), loss, epsilon=1.0, delta=1e-3, strategy=STRATEGIES[strategy]
    )
    with pytest.raises(InvalidInput, match=r"^loss: ") as refused:
        unlearner.fit((ROWS, targets))
    assert "\n" not in str(refused.value)


def test_the_message_names_shapes_and_the_type_of_the_targets():
    with pytest.raises(InvalidInput, match=r"outputs of \(12, 2\) and torch.int64 targets"):
        CheckedLoss(functional.cross_entropy)(torch.zeros(12, 2), LABELS + 5)


def test_a_loss_that_works_is_what_it_was():
    outputs = torch.randn(12, 2, generator=torch.Generator().manual_seed(0))
    value = CheckedLoss(functional.cross_entropy)(outputs, LABELS)
    assert torch.equal(value, functional.cross_entropy(outputs, LABELS))


@pytest.mark.parametrize("words", ["vmap: no rule", "Batching rule not implemented"])
def test_what_torch_func_says_of_missing_rules_passes(words):
    def without_rule(outputs, targets):
        raise RuntimeError(words)

    with pytest.raises(RuntimeError, match=words):
        CheckedLoss(without_rule)(ROWS, LABELS)
