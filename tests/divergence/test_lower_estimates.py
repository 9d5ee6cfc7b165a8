"""Projections: lower estimates, unbiased along a direction that was known beforehand."""

import numpy as np
import pytest
import torch

from expunge.divergence.lower_estimates import (
    _shrunk_direction,
    estimate_along,
    estimate_held_out,
    on_probes,
)
from tests.divergence.laws import shifted


def axis(dimension, place=0):
    return torch.eye(dimension, dtype=torch.float64)[place]


def test_the_right_direction_reaches_the_truth():
    values = np.array(
        [
            estimate_along(*shifted(300, 30, 0.5, seed=s), axis(30), order=2.0).value
            for s in range(60)
        ]
    )
    assert abs(values.mean() - 0.5) < 5 * values.std(ddof=1) / np.sqrt(len(values))


def test_a_wrong_direction_sees_nothing():
    values = np.array(
        [
            estimate_along(*shifted(300, 30, 3.0, seed=s), axis(30, 7), order=2.0).value
            for s in range(60)
        ]
    )
    assert abs(values.mean()) < 5 * values.std(ddof=1) / np.sqrt(len(values))


def test_a_learned_direction_stays_below_the_truth():
    """D * D/(D + 2 d/N): 0.5 of the truth at D = 1, d = 100, N = 200 to learn from."""
    values = np.array(
        [estimate_held_out(*shifted(400, 100, 1.0, seed=s), order=2.0).value for s in range(40)]
    )
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert 0.2 < values.mean() + 5 * error < 1.0


def test_equal_laws_give_zero_although_the_direction_was_learned():
    """Learning and judging on the same samples, the planted fault, does not."""
    honest, fault = [], []
    for seed in range(40):
        p, q = shifted(200, 60, 0.0, seed=seed)
        honest.append(estimate_held_out(p, q, order=2.0).value)
        fault.append(estimate_along(p, q, p.mean(0) - q.mean(0), order=2.0).value)
    for values, biased in ((np.array(honest), False), (np.array(fault), True)):
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert (abs(values.mean()) > 5 * error) == biased


def test_more_dimensions_than_samples_are_no_obstacle():
    found = estimate_held_out(*shifted(60, 500, 0.0, seed=0), order=2.0)
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


def logits(shift, *, models=600, probes=6, classes=3, seed=0):
    """Of heads with unit noise on `classes` x 8 weights, moved by `shift` along one of them."""
    generator = torch.Generator().manual_seed(seed)
    heads = torch.randn(models, classes, 8, generator=generator, dtype=torch.float64)
    heads[:, 0, 0] += shift
    rows = torch.randn(probes, 8, generator=torch.Generator().manual_seed(99)).double()
    return rows @ heads.transpose(1, 2)  # (models, probes, classes)


def test_answers_on_probes_are_a_lower_estimate():
    """6 probes of 8 features and 2 of 3 classes: a part of the weights' D_2 of 1, not none."""
    values = [on_probes(of=logits(1.0, seed=2 * s), against=logits(0.0, seed=2 * s + 1)) for s in
              range(20)]  # fmt: skip
    assert {found.kind for found in values} == {"lower estimate"}
    assert "hotelling" in values[0].method
    found = np.array([one.value for one in values])
    error = found.std(ddof=1) / np.sqrt(len(found))
    rows = torch.randn(6, 8, generator=torch.Generator().manual_seed(99)).double()
    seen = torch.linalg.pinv(rows) @ rows  # what 6 probes see of 8 features
    truth = 2 / 3 * float(seen[0, 0])  # class differences see 2/3 of one class's move
    assert abs(found.mean() - truth) < 5 * error
    assert truth < 1


def test_equal_laws_answer_alike():
    values = np.array(
        [
            on_probes(of=logits(0.0, seed=2 * s), against=logits(0.0, seed=2 * s + 1)).value
            for s in range(20)
        ]
    )
    assert abs(values.mean()) < 5 * values.std(ddof=1) / np.sqrt(len(values))


def test_a_constant_added_to_a_probe_s_logits_changes_nothing():
    of, against = logits(1.0), logits(0.0, seed=1)
    moved = torch.log_softmax(of, -1)
    plain, probabilities = on_probes(of=of, against=against), on_probes(of=moved, against=against)
    assert probabilities.value == pytest.approx(plain.value, rel=1e-9)


@pytest.mark.parametrize("models", [20, 600], ids=["few models", "more answers than weights"])
def test_where_hotelling_cannot_a_direction_is_learned_on_half(models):
    probes = 6 if models == 20 else 12
    of = logits(1.0, models=models, probes=probes)
    found = on_probes(of=of, against=logits(0.0, models=models, probes=probes, seed=1))
    assert "held-out" in found.method


def test_logits_of_other_probes_are_refused():
    with pytest.raises(ValueError, match="answers"):
        on_probes(of=logits(0.0), against=logits(0.0, probes=5))
