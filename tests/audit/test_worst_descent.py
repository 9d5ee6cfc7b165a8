"""The worst case: as bad as the claim allows, and no worse."""

import math

import pytest

from expunge.accounting.bounds import shift
from expunge.audit.laws import worst_of
from expunge.losses import Logistic, Softmax
from expunge.unlearning.linear.langevin import Langevin, setting_of
from expunge.unlearning.schemes import FullBatch
from tests.unlearning.problems import job_of


def worst(loss=None, *, one_in=20, sigma=0.8, fixed=False, steps=60):
    strategy = Langevin(learn_steps=steps, sigma=sigma, scheme=FullBatch(fixed=fixed))
    return worst_of(job_of(loss or Softmax(10, 0.05)), strategy, one_in=one_in)


@pytest.mark.parametrize(
    ("loss", "share"),
    [
        (Softmax(10, 0.05), math.sqrt(0.45)),
        (Softmax(3, 0.05), math.sqrt(1 / 3)),
        (Logistic(0.05), 0.5),
    ],
    ids=["ten classes", "three classes", "two classes"],
)
@pytest.mark.parametrize("fixed", [False, True], ids=["mean", "fixed"])
def test_descent_s_canaries_reach_the_share_of_the_bound_that_is_stated(loss, share, fixed):
    """By coupled pairs. Noise keeps what was learned small; 3 % is what it still saturates."""
    made = worst(loss, fixed=fixed, sigma=0.8)
    expected = share if fixed else share / 2
    reach = made.reached(5) / made.certified(5).mu
    assert reach == pytest.approx(expected, rel=0.1)
    assert reach <= expected * 1.05


def test_the_canaries_pull_towards_their_label():
    direction = worst().direction
    assert direction[0] == pytest.approx(0.9)
    assert direction[1:] == pytest.approx([-0.1] * 9)


def test_a_tenth_of_the_noise_shows_ten_times_as_much_while_nothing_saturates():
    made = worst(sigma=0.8, one_in=50)
    assert made.reached(5, noise=0.1) == pytest.approx(10 * made.reached(5), rel=0.1)


def test_the_claim_of_a_share_does_not_depend_on_how_many_records_there_are():
    job = job_of(Softmax(10, 0.05))
    strategy = Langevin(learn_steps=60, sigma=2.0)
    setting = setting_of(job, Langevin(60), 5)
    rows = setting.private + setting.public
    whole = shift.bound(setting.assumptions, setting.history(2.0, 5)).mu
    assert worst_of(job, strategy, one_in=rows // 5).certified(5).mu == pytest.approx(whole)
