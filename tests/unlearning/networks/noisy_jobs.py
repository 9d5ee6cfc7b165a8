"""Requests and verdicts for noisy strategies on networks, without an unlearner around them."""

from dataclasses import replace

import torch

from expunge.accounting.account import account
from tests.unlearning.networks import problems


def without(job, rows):
    """The job after one more request for these private rows, which are zeroed."""
    inputs, targets = job.inputs.clone(), job.targets.clone()
    inputs[rows] = 0
    targets[rows] = 0
    return replace(problems.without(job, rows), inputs=inputs, targets=targets)


def with_row(job, row, value):
    """The job with one private row of another content."""
    inputs = job.inputs.clone()
    inputs[row] = value
    return replace(job, inputs=inputs)


def judged(outcome, job):
    return account(outcome.assumptions, outcome.history, delta=job.target.delta)


def flat(state):
    return torch.cat([part.detach().double().flatten() for part in state.values()])
