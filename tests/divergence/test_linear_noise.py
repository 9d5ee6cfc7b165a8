"""The prediction is exact where its model is: quadratics, any covariance, both directions."""

import pytest
import torch

from expunge.divergence.linear_noise import Law, predict
from tests.gaussians import renyi_gaussians

D, STEP, NOISE, START = 6, 0.3, 0.2, 0.5


def chain(hessian, center, steps=12):
    """Mean and covariance of noisy descent on (x-center)' H (x-center)/2, and its `Law`."""
    mean = torch.zeros(D, dtype=torch.float64)
    identity = torch.eye(D, dtype=torch.float64)
    covariance, contraction = START * identity, identity - STEP * hessian
    for _ in range(steps):
        mean = mean - STEP * hessian @ (mean - center)
        covariance = contraction @ covariance @ contraction + NOISE**2 * identity
    return mean, covariance, Law(mean, [lambda v: v @ hessian] * steps, STEP, NOISE, START)


def two_chains(difference):
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, D, D, generator=generator, dtype=torch.float64)
    center = torch.randn(D, generator=generator, dtype=torch.float64)
    hessian = a @ a.T / D
    return chain(hessian, center), chain(hessian + difference * (b + b.T) / 2, center + 0.1)


def test_products_with_the_covariance_are_the_recursion():
    (_, covariance, law), _ = two_chains(0.05)
    vector = torch.arange(D, dtype=torch.float64)
    torch.testing.assert_close(law.covariance(vector), covariance @ vector, rtol=1e-12, atol=1e-14)


def test_hessians_may_change_along_the_path_and_their_order_matters():
    """H then 2 H is not 2 H then H, because only the later one acts on the first step's noise."""
    hessian = torch.diag(torch.linspace(0.1, 1, D)).double()
    one, two = (lambda v: v @ hessian), (lambda v: 2 * v @ hessian)
    vector = torch.ones(D, dtype=torch.float64)
    found = [
        Law(vector, order, STEP, NOISE, 0.0).covariance(vector)
        for order in ([one, two], [two, one])
    ]
    contraction = torch.eye(D) - 2 * STEP * hessian
    expected = NOISE**2 * (contraction @ contraction @ vector + vector)
    torch.testing.assert_close(found[0], expected, rtol=1e-12, atol=0)
    assert not torch.allclose(found[0], found[1])


@pytest.mark.parametrize("order", [1.5, 2.0])
def test_the_mean_part_is_exact_in_both_directions(order):
    (m1, s1, p), (m2, s2, q) = two_chains(0.05)
    exact = renyi_gaussians(m1.numpy(), s1.numpy(), m2.numpy(), s2.numpy(), order=order)
    back = renyi_gaussians(m2.numpy(), s2.numpy(), m1.numpy(), s1.numpy(), order=order)
    assert predict(of=p, against=q, order=order).value == pytest.approx(exact.mean, rel=1e-7)
    assert predict(of=q, against=p, order=order).value == pytest.approx(back.mean, rel=1e-7)


def test_the_covariance_part_is_told_apart():
    (m1, s1, p), (m2, s2, q) = two_chains(0.01)
    exact = renyi_gaussians(m1.numpy(), s1.numpy(), m2.numpy(), s2.numpy(), order=2.0)
    note = predict(of=p, against=q).notes[0]
    words = note.replace(",", "").split()
    stated = float(words[words.index("covariance") + 2])
    assert stated == pytest.approx(exact.covariance, rel=0.35)
    assert "not in the value" in note


def test_equal_chains_have_no_divergence():
    (_, _, p), _ = two_chains(0.0)
    assert predict(of=p, against=p).value == 0


def test_chains_without_noise_are_refused():
    law = Law(torch.zeros(3), [], 0.1, 0.0)
    with pytest.raises(ValueError, match="noise"):
        predict(of=law, against=law)
