"""The worst case: as bad as the claim allows, and no worse."""

import pytest
import torch

from expunge.losses import Logistic, Softmax
from expunge.unlearning.canaries import accepted_extremes, with_canaries
from expunge.unlearning.residual import Residual
from tests.unlearning.problems import job_of

STRATEGY = Residual(1e-6)


@pytest.mark.parametrize("loss", [Logistic(0.1), Softmax(3, 0.1)], ids=["logistic", "softmax"])
def test_both_ends_pass_the_check_and_lie_nearly_as_far_apart_as_is_certified(loss):
    job = job_of(loss)
    ends = accepted_extremes(job, STRATEGY)
    for end in ends:
        assert float(job.objective.gradient(end).norm()) <= STRATEGY.tolerance
    apart = float((ends[0] - ends[1]).norm())
    assert apart <= STRATEGY.distance(job)
    assert apart >= {Logistic: 0.2, Softmax: 0.97}[type(loss)] * STRATEGY.distance(job)


def test_canaries_replace_the_named_rows_within_the_bound_and_no_others():
    job = job_of()
    rows = torch.tensor([45, 70])
    worst = with_canaries(job, rows)
    others = torch.ones(100, dtype=torch.bool)
    others[rows] = False
    assert torch.equal(worst.features[others], job.features[others])
    assert not torch.equal(worst.features[rows], job.features[rows])
    assert float(worst.features.norm(dim=1).max()) <= job.loss.row_norm
    assert torch.equal(worst.features[:, -1], job.features[:, -1])
    assert torch.equal(worst.keep, job.keep)


def test_canaries_point_where_the_other_rows_hardly_do():
    job = job_of()
    worst = with_canaries(job, torch.tensor([45]))
    direction = worst.features[45, :-1].double()
    direction /= direction.norm()
    spread = (job.features[:, :-1].double() @ direction).square().mean()
    assert spread <= job.features[:, :-1].double().square().mean() * 1.01
