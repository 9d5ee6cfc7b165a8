"""Requests and verdicts for noisy strategies on networks, without an unlearner around them."""

from dataclasses import replace

import torch

from expunge.accounting.account import account


def without(job, rows):
    """The job after one more request for these private rows, which are zeroed."""
    keep, left = job.keep.clone(), job.left.clone()
    inputs, targets = job.inputs.clone(), job.targets.clone()
    left[rows] = job.request + 1
    keep[rows] = False
    inputs[rows] = 0
    targets[rows] = 0
    return replace(job, keep=keep, left=left, inputs=inputs, targets=targets)


def with_row(job, row, value):
    """The job with one private row of another content."""
    inputs = job.inputs.clone()
    inputs[row] = value
    return replace(job, inputs=inputs)


def judged(outcome, job):
    return account(outcome.assumptions, outcome.history, delta=job.target.delta)


def flat(state):
    return torch.cat([part.detach().double().flatten() for part in state.values()])
