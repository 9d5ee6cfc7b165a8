"""What a problem accepts, and what it refuses before anything is computed."""

import dataclasses

import numpy as np
import pytest
import torch

from expunge.losses import Logistic, Softmax
from expunge.sampling.problem import (
    DefaultUniform,
    IndependentBatches,
    NoBatches,
    Problem,
    Records,
    SharedBatches,
    Zero,
)
from tests.sampling.heads_problem import made


def test_arrays_masks_and_short_forms_are_taken():
    rows, targets = np.eye(4, dtype=np.float32), np.array([0, 1, 1, 0])
    mask = np.array([True, False, True, False])
    problem = Problem(Logistic(0.1), (rows, targets), None, mask, 0.1, 0.1, 3, init="zero", batch=1)
    assert problem.forgotten.tolist() == [0, 2]
    assert problem.law == Zero()
    assert problem.scheme == IndependentBatches(1)
    assert problem.shape == (1, 4)
    assert len(problem.all_records().targets) == 4
    defaults = Problem(Softmax(2, 0.1), (rows, targets), (rows, targets), [3, 3], 0.1, 0.1, 3)
    assert (defaults.law, defaults.scheme) == (DefaultUniform(), NoBatches())
    assert defaults.retained().tolist() == [True] * 3 + [False] + [True] * 4


def test_noise_std_is_root_two_eta_sigma():
    """[alg:pngd_training]: each coordinate receives std sqrt(2 eta) sigma."""
    assert made(step_size=0.5, sigma=0.3).noise_std == pytest.approx(0.3)
    assert made(step_size=0.125, sigma=0.3).noise_std == pytest.approx(0.15)


@pytest.mark.parametrize(
    "wrong",
    [
        {"step_size": 0.0},
        {"sigma": -1.0},
        {"sigma": float("nan")},
        {"learn_steps": -1},
        {"radius": 0.0},
        {"forget": [90]},
        {"forget": [-1]},
        {"forget": [True, False]},
        {"batch": 131},
        {"batch": 0},
        {"init": "somewhere"},
        {"private": (torch.full((3, 12), float("inf")), torch.zeros(3))},
        {"private": (torch.zeros(30, 12), torch.zeros(29))},
        {"private": (torch.zeros(30, 11), torch.zeros(30))},
    ],
    ids=str,
)
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError, match=r".+"):
        dataclasses.replace(made(), **wrong)


def test_a_batch_may_be_everything_that_remains():
    assert made(batch=SharedBatches(130)).scheme == SharedBatches(130)


def test_records_are_in_the_order_private_then_public():
    problem = made()
    private, public = problem.records_of()
    assert isinstance(private, Records)
    assert torch.equal(problem.all_records().features[90:], public.features)
