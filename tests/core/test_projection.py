"""The ball's projection: identity inside, radial outside, non-expansive, nearest point."""

import pytest
import torch

from expunge.core.projection import l2_ball, norms, whole_space

ROUNDING = 1e-14  # a few float64 operations and a norm of a dozen coordinates


def stacked(models=500, scale=1.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    spread = scale * torch.rand(models, 1, 1, generator=generator, dtype=torch.float64)
    return spread * torch.randn(models, 3, 4, generator=generator, dtype=torch.float64)


def onto_the_sphere(radius):
    """The reference code's fault: rescales always (THEORY, reference-code defects)."""
    return lambda theta: theta * (radius / norms(theta))[:, None, None]


def leaves_inside_points_alone(project):
    inside = 0.9 * stacked() / norms(stacked()).max()
    return torch.equal(project(inside), inside)


def is_nonexpansive(project):
    """On pairs near and far, inside, outside and across the sphere."""
    for gap in (1e-6, 1e-2, 1.0):
        first = stacked(scale=1.0, seed=1)
        second = first + gap * stacked(scale=1.0, seed=2)
        moved, given = norms(project(first) - project(second)), norms(first - second)
        if not (moved <= given + ROUNDING).all():
            return False
    return True


def test_points_inside_the_ball_are_left_alone_bit_for_bit():
    """Paper: [eq:pngd-update], [alg:pngd_training]."""
    assert leaves_inside_points_alone(l2_ball(1.0))
    zero = torch.zeros(2, 3, 4, dtype=torch.float64)
    assert torch.equal(l2_ball(1.0)(zero), zero)
    edge = torch.tensor([[3.0, 4.0], [-0.0, 5.0]], dtype=torch.float64)
    assert torch.equal(l2_ball(5.0)(edge), edge)


def test_points_outside_go_radially_to_the_sphere():
    """Paper: [eq:pngd-update], [alg:pngd_training]."""
    theta = stacked(scale=50.0)
    outside = theta[norms(theta) > 2.0]
    assert len(outside) > 400
    projected = l2_ball(2.0)(outside)
    torch.testing.assert_close(norms(projected), torch.full((len(outside),), 2.0).double())
    expected = 2.0 * outside / norms(outside)[:, None, None]
    torch.testing.assert_close(projected, expected, rtol=ROUNDING, atol=0)


def test_the_result_is_in_the_ball():
    for scale in (1e-3, 1.0, 1e3, 1e100):
        assert (norms(l2_ball(0.7)(stacked(scale=scale))) <= 0.7 * (1 + ROUNDING)).all()


def test_the_projection_is_nonexpansive():
    """Paper: [alg:pngd_training]; every bound needs a 1-Lipschitz projection."""
    assert is_nonexpansive(l2_ball(1.5))


def test_always_rescaling_to_the_sphere_is_caught():
    assert not leaves_inside_points_alone(onto_the_sphere(1.0))
    assert not is_nonexpansive(onto_the_sphere(1.5))


def test_no_point_of_the_ball_is_nearer():
    """argmin over the ball: <theta - P theta, y - P theta> <= 0 for every y in it."""
    theta, ball = stacked(scale=3.0), l2_ball(1.0)
    projected = ball(theta)
    for seed in range(5):
        other = ball(stacked(scale=2.0, seed=10 + seed))
        inner = ((theta - projected) * (other - projected)).flatten(1).sum(1)
        assert (inner <= ROUNDING * (1 + norms(theta))).all()


def test_projecting_twice_changes_nothing_but_rounding():
    once = l2_ball(1.0)(stacked(scale=5.0))
    torch.testing.assert_close(l2_ball(1.0)(once), once, rtol=ROUNDING, atol=0)


def test_each_model_is_projected_by_its_own_norm():
    theta = stacked(models=6, scale=5.0)
    together = l2_ball(1.0)(theta)
    for i in range(len(theta)):
        assert torch.equal(l2_ball(1.0)(theta[i : i + 1])[0], together[i])


def test_the_input_is_left_alone():
    theta = stacked(scale=5.0)
    l2_ball(1.0)(theta)
    assert torch.equal(theta, stacked(scale=5.0))


@pytest.mark.parametrize("shape", [(3, 5), (3, 2, 5), (3, 2, 2, 2)])
def test_norms_are_euclidean_over_everything_but_models(shape):
    theta = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = torch.stack([(each * each).sum().sqrt() for each in theta])
    torch.testing.assert_close(norms(theta), expected)


def test_the_whole_space_constrains_nothing():
    theta = stacked(scale=1e9)
    assert torch.equal(whole_space(theta), theta)
