"""Parameters of the unlearner; tests/test_parameters.py tries every bad value of each."""

import pytest
from torch import nn
from torch.nn import functional

from expunge.unlearning import RetrainNetwork, TorchUnlearner
from expunge.unlearning.networks.unlearner_parameters import check_unlearner


def test_what_makes_sense_passes():
    check_unlearner(
        model=nn.Linear(2, 2),
        loss=functional.cross_entropy,
        head=None,
        epsilon=1.0,
        observer="all",
        retraining=RetrainNetwork(),
        released=False,
        random_state=3,
        device="cpu",
    )


def test_nothing_is_made_of_nonsense():
    with pytest.raises(ValueError, match=r"^released: must be True or False"):
        TorchUnlearner(nn.Linear(2, 2), nn.CrossEntropyLoss(), released=None)  # pyright: ignore


def test_an_unknown_parameter_is_our_own_fault():
    with pytest.raises(KeyError):
        check_unlearner(nonsense=1)
