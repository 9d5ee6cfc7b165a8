"""Ensembles of a job: the very law that `Langevin` draws its models from.

Means of N models have standard error std/sqrt(N), variances sqrt(2/N) times themselves.
"""

import math

import pytest
import torch

from expunge.losses import Logistic
from expunge.sampling.problem import Problem
from expunge.unlearning.linear.ensemble import problem_of, sampled
from expunge.unlearning.linear.langevin import Langevin
from tests.unlearning.problems import job_of, without

STRATEGY = Langevin(learn_steps=12, sigma=0.3)
GONE = [45, 70]
UNLEARN = 3


def one_by_one(models):
    """Models of the strategy itself: 12 steps on all records, 3 on what remains."""
    found = []
    for seed in range(models):
        job = job_of(Logistic(l2=0.05), target=(8.0, 1e-2), seed=seed)
        run = STRATEGY.fit(job)
        after = without(job, GONE)
        from expunge.unlearning.linear.langevin import _Run

        theta, _ = _Run.of(after, STRATEGY, run).take(run.theta, UNLEARN, 0.3)
        found.append(theta)
    return torch.stack(found)


def ensemble(models, regime="unlearned", **change):
    job = job_of(Logistic(l2=0.05), target=(8.0, 1e-2))
    problem = problem_of(job, GONE, Langevin(**{"learn_steps": 12, "sigma": 0.3} | change))
    return sampled(problem, regime, unlearn_steps=UNLEARN, models=models).weights.double()


def gap(first, second):
    """The largest difference of means, in standard errors; the same for variances."""
    error = (first.var(0) / len(first) + second.var(0) / len(second)).sqrt()
    means = ((first.mean(0) - second.mean(0)).abs() / error).max()
    logs = (first.var(0) / second.var(0)).log().abs().max()
    return float(means), float(logs) / math.sqrt(2 / len(first) + 2 / len(second))


def test_an_ensemble_has_the_law_of_the_strategy_s_own_models():
    own, many = one_by_one(150), ensemble(3000)
    assert max(gap(own, many)) < 5


def test_another_sigma_would_be_noticed():
    own, wrong = one_by_one(150), ensemble(3000, sigma=0.6)
    assert max(gap(own, wrong)) > 5


def test_the_problem_takes_step_size_ball_and_sigma_from_the_strategy():
    job = job_of(Logistic(l2=0.05), target=(8.0, 1e-2))
    problem = problem_of(job, GONE, STRATEGY)
    assert isinstance(problem, Problem)
    assert problem.step_size == pytest.approx(1 / (job.loss.curvature + 0.05))
    assert problem.radius == pytest.approx(job.loss.lipschitz / 0.05)
    assert problem.sigma == 0.3
    assert len(problem.all_records().targets) == 100
    assert int((~problem.retained()).sum()) == 2


def test_rows_that_left_before_are_not_there():
    job = without(job_of(), [50])
    problem = problem_of(job, [51], STRATEGY)
    assert len(problem.all_records().targets) == 99
    with pytest.raises(ValueError, match="still there"):
        problem_of(job, [50], STRATEGY)
    with pytest.raises(ValueError, match="private"):
        problem_of(job, [0], STRATEGY)
