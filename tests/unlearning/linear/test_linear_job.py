import dataclasses

import pytest
import torch

from expunge.errors import NoCertificate
from expunge.losses import Softmax
from expunge.unlearning.linear.residual import Residual
from tests.unlearning.problems import job_of, without


def test_dimension_counts_every_coordinate_of_every_output():
    assert job_of().dimension == 5
    assert job_of(Softmax(3, l2=0.1)).dimension == 15


def test_the_objective_is_the_mean_over_what_is_still_there():
    job = without(job_of(), [41, 60])
    theta = torch.linspace(-1, 1, 5, dtype=torch.float64)[None]
    rows = job.features[job.roster.present]
    slopes = torch.sigmoid(rows @ theta[0]) - job.targets[job.roster.present]
    expected = slopes @ rows / 98 + 0.1 * theta[0]
    torch.testing.assert_close(job.objective.gradient(theta)[0], expected, rtol=1e-13, atol=1e-15)


def test_what_stands_in_a_forgotten_row_changes_no_bit_of_the_gradient():
    job = without(job_of(), [41, 60])
    theta = torch.linspace(-1, 1, 5, dtype=torch.float64)[None]
    before = job.objective.gradient(theta)
    job.features[[41, 60]] = 0.25
    job.targets[[41, 60]] = 1 - job.targets[[41, 60]]
    assert torch.equal(job.objective.gradient(theta), before)


def test_the_public_objective_never_looks_at_private_rows():
    job = job_of()
    theta = torch.ones(1, 5, dtype=torch.float64)
    before = job.public_objective.gradient(theta)
    job.features[40:] = 7.0
    job.targets[40:] = 0
    assert torch.equal(job.public_objective.gradient(theta), before)


def test_descent_begins_at_the_ridges_center_unless_told_otherwise():
    job = job_of()
    assert not job.beginning.any()
    center = torch.full((1, 5), 0.5, dtype=torch.float64)
    centred = dataclasses.replace(job, center=center)
    assert torch.equal(centred.beginning, center)
    started = dataclasses.replace(job, start=center)
    assert torch.equal(started.beginning, center)
    assert not started.origin.any()


def test_jobs_and_outcomes_cannot_be_reassigned():
    job = job_of()
    with pytest.raises(dataclasses.FrozenInstanceError):
        job.roster = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        Residual().fit(job).theta = None


def test_no_certificate_is_not_a_value_error():
    """A caller who fixes the input on ValueError must not retry on NoCertificate."""
    assert issubclass(NoCertificate, RuntimeError)
    assert not issubclass(NoCertificate, ValueError)
