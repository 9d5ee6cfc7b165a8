"""Projections: lower estimates, unbiased along a direction that was known beforehand."""

import numpy as np
import pytest
import torch

from expunge.divergence.projection import _shrunk_direction, along, held_out
from tests.divergence.laws import shifted


def axis(dimension, place=0):
    return torch.eye(dimension, dtype=torch.float64)[place]


def test_the_right_direction_reaches_the_truth():
    values = np.array(
        [along(*shifted(300, 30, 0.5, seed=s), axis(30), order=2.0).value for s in range(60)]
    )
    assert abs(values.mean() - 0.5) < 5 * values.std(ddof=1) / np.sqrt(len(values))


def test_a_wrong_direction_sees_nothing():
    values = np.array(
        [along(*shifted(300, 30, 3.0, seed=s), axis(30, 7), order=2.0).value for s in range(60)]
    )
    assert abs(values.mean()) < 5 * values.std(ddof=1) / np.sqrt(len(values))


def test_a_learned_direction_stays_below_the_truth():
    """D * D/(D + 2 d/N): 0.5 of the truth at D = 1, d = 100, N = 200 to learn from."""
    values = np.array(
        [held_out(*shifted(400, 100, 1.0, seed=s), order=2.0).value for s in range(40)]
    )
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert 0.2 < values.mean() + 5 * error < 1.0


def test_equal_laws_give_zero_although_the_direction_was_learned():
    """Learning and judging on the same samples, the planted fault, does not."""
    honest, fault = [], []
    for seed in range(40):
        p, q = shifted(200, 60, 0.0, seed=seed)
        honest.append(held_out(p, q, order=2.0).value)
        fault.append(along(p, q, p.mean(0) - q.mean(0), order=2.0).value)
    for values, biased in ((np.array(honest), False), (np.array(fault), True)):
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert (abs(values.mean()) > 5 * error) == biased


def test_more_dimensions_than_samples_are_no_obstacle():
    found = held_out(*shifted(60, 500, 0.0, seed=0), order=2.0)
    assert found.kind == "lower estimate"
    assert found.interval[0] <= 0 <= found.interval[1]


@pytest.mark.parametrize("dimension", [40, 80])
def test_the_direction_is_the_shrunk_solution_with_many_samples_and_with_few(dimension):
    """60 samples; with more dimensions than samples it is solved through their Gram matrix."""
    p, q = shifted(30, dimension, 1.0, seed=0)
    centred = torch.cat([p - p.mean(0), q - q.mean(0)])
    weight = float(centred.square().mean()) * dimension / 60
    matrix = centred.T @ centred / 60 + weight * torch.eye(dimension, dtype=torch.float64)
    direct = torch.linalg.solve(matrix, p.mean(0) - q.mean(0))
    torch.testing.assert_close(_shrunk_direction(p, q), direct, rtol=1e-8, atol=1e-10)
