"""Rehearsals on public records: the fit's own steps, on half of the public records."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from expunge.errors import InvalidInput
from expunge.losses import Declared, Logistic, Softmax, Squared, Weighted
from expunge.sampling import Problem, sample_ensemble
from expunge.unlearning.linear.langevin import Langevin, setting_of
from expunge.unlearning.linear.rehearsal import FEWEST, Rehearsal
from tests.unlearning.problems import job_of

LOSSES = [
    Logistic(0.05),
    Softmax(3, 0.05),
    Weighted(Logistic(0.05), (0.5, 1.0)),
    Squared(0.05, radius=3.0),
]


def rehearsed(loss=None, public=600, **changes):
    job = job_of(loss, private=100, public=public)
    if isinstance(loss, Squared):
        job = replace(job, targets=job.features[:, 0].double() + 0.1 * job.features[:, 1])
    return Rehearsal.of(replace(job, **changes))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_enough_steps_without_noise_end_at_the_public_only_model(loss):
    rehearsal = rehearsed(loss)
    (still,) = rehearsal.noisy(Langevin(learn_steps=800), [0.0])
    assert still == pytest.approx(rehearsal.public_only, abs=2 / len(rehearsal.held[1]))


def test_noisy_steps_have_the_law_of_the_ensembles_of_another_implementation():
    """Scores of `sample_ensemble` on the same half: means agree within 6 standard errors."""
    rehearsal, strategy, sigma = rehearsed(Softmax(3, 0.05)), Langevin(learn_steps=30), 0.15
    setting = setting_of(rehearsal.job, strategy, 1)
    problem = Problem(
        rehearsal.job.loss,
        private=rehearsal.learned,
        public=None,
        forget=[0],
        step_size=setting.step_size,
        sigma=sigma,
        learn_steps=30,
        radius=setting.assumptions.radius,
    )
    weights = sample_ensemble(problem, regimes=("learned",), models=2000, seed=1, unlearn_steps=())[
        "learned", 0
    ].weights
    rows, targets = rehearsal.held
    scores = (rows @ weights.float().transpose(1, 2)).argmax(-1)
    theirs = (scores == targets).double().mean(1)
    ours = np.array(rehearsal.noisy(strategy, [sigma] * 50))  # the same noise for equal sigmas
    assert np.ptp(ours) == 0
    draws = 4
    error = float(theirs.std()) * math.sqrt(1 / draws + 1 / 2000)
    assert abs(ours[0] - float(theirs.mean())) < 6 * error


def test_more_noise_is_worse_and_much_of_it_leaves_a_constant():
    rehearsal = rehearsed()
    scores = rehearsal.noisy(Langevin(100), [0.0, 0.3, 100.0])
    assert scores[0] > scores[2] + 0.15
    assert abs(scores[2] - 0.5) < 0.2
    assert rehearsal.noisy(Langevin(100), [0.3])[0] == pytest.approx(scores[1], abs=1e-3)


def test_the_halves_share_no_row_and_leave_none_out():
    rehearsal = rehearsed(public=601)
    rows = torch.cat([rehearsal.learned[0], rehearsal.held[0]])
    known = rehearsal.job.features[:601].float()
    assert len(rows) == len(torch.unique(rows, dim=0)) == 601
    torch.testing.assert_close(rows.sort(0).values, known.sort(0).values)
    assert abs(len(rehearsal.learned[0]) - len(rehearsal.held[0])) <= 2


def test_a_constant_is_the_learned_halfs_label_or_mean():
    rehearsal = rehearsed()
    label = int(rehearsal.learned[1].double().mean() > 0.5)
    assert rehearsal.constant == pytest.approx(float((rehearsal.held[1] == label).double().mean()))
    numbers = rehearsed(Squared(0.05, radius=3.0))
    assert (numbers.constant, numbers.measure) == (0.0, "R2")
    assert 0 < numbers.public_only < 1


def test_standard_errors_are_those_of_shares_and_of_large_samples():
    rehearsal = rehearsed()
    rows = len(rehearsal.held[1])
    assert rehearsal.standard_error(0.5) == pytest.approx(0.5 / math.sqrt(rows))
    assert rehearsal.standard_error(1.0) == rehearsal.standard_error(-0.1) == 0
    numbers = rehearsed(Squared(0.05, radius=3.0))
    assert numbers.standard_error(0.81) == pytest.approx(2 * 0.9 * 0.19 / math.sqrt(rows))


@pytest.mark.parametrize("kind", ["start", "center"])
def test_a_reference_is_made_anew_of_the_learned_half(kind):
    """All public records' minimiser has seen the rows held out; what is there is not used."""
    wrong = 50 * torch.ones(1, 5, dtype=torch.float64)
    plain = rehearsed().noisy(Langevin(300), [0.0])
    # The ball must hold where descent begins, so the center goes with the start.
    moved = {"start": wrong} | ({"center": wrong} if kind == "center" else {})
    other = rehearsed(**moved).noisy(Langevin(300), [0.0])
    assert other == pytest.approx(plain, abs=0.05)


@pytest.mark.parametrize("public", [0, FEWEST - 1])
def test_too_few_public_records_are_refused(public):
    with pytest.raises(InvalidInput, match=f"public: {public} are too few to rehearse on"):
        rehearsed(public=public)
    assert rehearsed(public=FEWEST).public_only > 0.5


def test_a_users_loss_is_refused():
    with pytest.raises(InvalidInput, match="loss: a declared loss cannot be rehearsed"):
        rehearsed(Declared(lambda scores, t: scores[:, 0] * t, 1.0, 1.0, l2=0.1))
