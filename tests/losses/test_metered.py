"""Products are counted as on paper, and nothing is computed otherwise."""

import pytest
import torch

from expunge.errors import NotConverged
from expunge.losses import Logistic
from expunge.losses.metered import Meter, MeteredObjective, Spent
from tests.unlearning.problems import job_of


def test_no_more_than_the_budget_is_spent():
    meter = Meter(budget=2.5)
    meter.charge(2)
    with pytest.raises(Spent):
        meter.charge(1)
    assert meter.flops == 2


def test_a_counted_objective_is_the_same_objective():
    objective, meter = job_of(Logistic(l2=0.1)).objective, Meter()
    counted = MeteredObjective.of(objective, meter)
    theta = torch.ones(1, 5, dtype=torch.float64)
    assert torch.equal(counted.gradient(theta), objective.gradient(theta))
    assert meter.flops == 4 * objective.rows * 5
    assert torch.equal(counted.gram().total, objective.gram().total)


@pytest.mark.parametrize("failure", [Spent, NotConverged])
def test_a_solver_that_fails_stands_at_the_best_point_that_it_saw(failure):
    meter, start, seen = Meter(), torch.zeros(2), torch.ones(2)

    def work():
        raise failure

    assert meter.limit(work, start) is start
    meter.saw(seen, torch.tensor([0.5]))
    meter.saw(start, torch.tensor([0.7]))
    assert torch.equal(meter.limit(work, start), seen)
    assert meter.limit(lambda: start, seen) is start
