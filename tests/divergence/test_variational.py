"""The variational form: exact at its optimum, below it elsewhere; errata E17 to E20.

Paper: [eq:cc_renyi].
"""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from expunge.divergence.variational import (
    conjugate_on_a_line,
    convex_conjugate,
    polysoftplus,
)

COUNT = 400_000


def quantiles(shift):
    """Equally probable points of N(shift, 1): expectations become means, nearly exactly."""
    return torch.from_numpy(stats.norm.ppf((np.arange(COUNT) + 0.5) / COUNT) + shift)


def log_ratio(x, shift):
    """log dP/dQ for P = N(shift, 1), Q = N(0, 1)."""
    return shift * x - shift**2 / 2


def at_the_optimum(shift, order):
    """The form at |g| = (dP/dQ)^a / (a E_Q (dP/dQ)^a), P = N(shift, 1), Q = N(0, 1)."""
    scale = math.exp(-order * (order - 1) * shift**2 / 2) / order
    g = [-scale * torch.exp(order * log_ratio(quantiles(at), shift)) for at in (shift, 0.0)]
    return float(convex_conjugate(*g, order))


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0])
@pytest.mark.parametrize("shift", [0.0, 0.3, 0.7])
def test_the_truth_is_reached_at_the_optimum(order, shift):
    truth = order * shift**2 / 2
    assert at_the_optimum(shift, order) == pytest.approx(truth, rel=2e-2, abs=1e-6)


def test_the_printed_form_without_the_logarithm_is_wrong_even_for_equal_laws_e17():
    """N(0, 1) against itself, order 2: 0 with the logarithm, 2.193 as printed (THEORY E17)."""
    q = quantiles(0.0)
    g = -torch.full_like(q, 0.5)
    assert float(convex_conjugate(g, g, 2.0)) == pytest.approx(0, abs=1e-12)
    best = max(2 * (-c + c**0.5 + (math.log(2) + 1) / 2) for c in np.linspace(0.01, 2, 2000))
    assert best == pytest.approx(2.193, abs=1e-3)


def test_the_output_is_order_times_the_form_and_not_its_root_e18():
    order = 2.0
    value = at_the_optimum(0.7, order)
    assert value == pytest.approx(0.49, rel=1e-2)
    assert (value / order) ** (1 / order) == pytest.approx(0.495, rel=1e-2)  # as printed: by luck
    assert (0.25**2 / order) ** (1 / order) > 0.17  # D_2 = 0.0625 would be printed as 0.177


def test_the_samples_have_their_places_e19():
    """Swapping them estimates the other direction: different laws, different values."""
    rng = np.random.default_rng(0)
    narrow, wide = rng.normal(0, 0.9, 200_000), rng.normal(0, 1, 200_000)
    for one, other, ratio in ((narrow, wide, 0.81), (wide, narrow, 1 / 0.81)):
        truth = -math.log((2 - ratio) * ratio) / 2
        assert conjugate_on_a_line(one, other, order=2.0) == pytest.approx(truth, abs=0.004)
    assert -math.log((2 - 0.81) * 0.81) / 2 + 0.008 < -math.log((2 - 1 / 0.81) / 0.81) / 2


def test_polysoftplus_is_negative_and_smooth_at_zero_e20():
    x = torch.linspace(-5, 5, 2001, dtype=torch.float64, requires_grad=True)
    y = polysoftplus(x)
    assert (y < 0).all()
    (slope,) = torch.autograd.grad(y.sum(), x)
    assert slope.diff().abs().max() < 0.02
    assert float(polysoftplus(torch.tensor(-1.0))) == -0.5
    assert float(polysoftplus(torch.tensor(1.0))) == -2.0


@pytest.mark.parametrize("divergence", [0.0, 0.25, 0.8])
def test_the_conjugate_on_a_line_recovers_known_values(divergence):
    """Its scatter at 30,000 a side is at most .03; the band is more than five of them."""
    rng = np.random.default_rng(0)
    p, q = rng.normal(divergence**0.5, 1, 30_000), rng.normal(0, 1, 30_000)
    assert conjugate_on_a_line(p, q, order=2.0) == pytest.approx(divergence, abs=0.16)


def test_a_function_read_on_its_own_samples_is_biased_up_e20():
    """Cubic fits to equal laws: held out they read about 0 or less, on themselves more."""
    rng = np.random.default_rng(0)
    honest = [
        conjugate_on_a_line(rng.normal(size=200), rng.normal(size=200), order=2.0)
        for _ in range(40)
    ]
    fault = []
    for _ in range(40):
        p, q = rng.normal(size=100), rng.normal(size=100)
        fault.append(conjugate_on_a_line(np.tile(p, 2), np.tile(q, 2), order=2.0))
    error = np.std(honest, ddof=1) / math.sqrt(40)
    assert np.mean(honest) < 5 * error
    assert np.mean(fault) > 5 * np.std(fault, ddof=1) / math.sqrt(40)
