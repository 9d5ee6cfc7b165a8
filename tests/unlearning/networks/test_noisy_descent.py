"""The steps themselves: their formula, and noise of their own in every one."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from expunge.core import release
from expunge.core.randomness import normal_source
from expunge.errors import InvalidInput, NoCertificate
from expunge.unlearning import course
from expunge.unlearning.course import grid_of
from expunge.unlearning.networks.noisy_descent import Descent, Place
from tests.unlearning.networks.noisy_jobs import flat, without
from tests.unlearning.networks.problems import job_of, network

WIDE = 4000


def drawn(descent, *, seed, steps=6, sigma=0.3, dimension=WIDE):
    """Noise of every step, as seen in the offsets of a descent whose gradient is nothing."""
    seen = []

    def nothing(offset, index):
        seen.append(offset.clone())
        return torch.zeros_like(offset)

    start = torch.zeros(dimension, dtype=torch.float64)
    end = descent.run(
        job_of(seed=seed), nothing, start, steps=steps, sigma=sigma, stream="test", reach=0.0
    )
    return torch.diff(torch.stack([*seen, end]), dim=0) / (math.sqrt(2 * descent.step_size) * sigma)


def correlations(noise):
    """Between the noise of different steps, in standard errors."""
    steps, width = noise.shape
    return (noise @ noise.T / width - torch.eye(steps))[~torch.eye(steps, dtype=bool)] * width**0.5


@pytest.mark.parametrize("seed", [11, None])
def test_noise_of_different_steps_is_standard_normal_and_uncorrelated(seed):
    noise = drawn(Descent(step_size=0.4, clip=1.0), seed=seed)
    assert float(correlations(noise).abs().max()) < 6
    assert float((noise.square().mean(1) - 1).abs().max()) < 6 * math.sqrt(2 / WIDE)
    # The sum of independent noises has the steps' total variance, not their number squared.
    total = float(noise.sum(0).square().mean()) / len(noise)
    assert abs(total - 1) < 6 * math.sqrt(2 / WIDE)


def test_the_test_of_noise_catches_one_vector_used_in_every_step(monkeypatch):
    """The published mistake: drawn once, added at every step."""

    def once(seed, stream):
        vector = []

        def normal(like):
            vector.append(normal_source(seed, stream)(like)) if not vector else None
            return vector[0]

        return normal

    monkeypatch.setattr(course, "normal_source", once)
    noise = drawn(Descent(step_size=0.4, clip=1.0), seed=11)
    assert float(correlations(noise).abs().max()) > 6


def test_a_step_is_the_formula():
    descent = Descent(step_size=0.4, clip=1.0, weight_decay=0.2, radius=1.5)
    push = torch.linspace(-0.3, 0.3, 5, dtype=torch.float64)
    start = torch.full((5,), 0.6, dtype=torch.float64)
    end = descent.run(
        job_of(seed=7), lambda *_: push, start, steps=3, sigma=0.2, stream="s", reach=2.0
    )
    normal, expected = normal_source(7, "s"), start[None]
    for _ in range(3):
        expected = expected - 0.4 * (push + 0.2 * expected)
        expected = expected + math.sqrt(0.8) * 0.2 * normal(expected)
        expected = expected * min(1.0, 1.5 / float(expected.norm()))
    torch.testing.assert_close(end, expected[0], rtol=0, atol=1e-14)


def test_what_leaves_the_house_lies_on_the_public_grid():
    job, descent = job_of(seed=None), Descent(step_size=0.5, clip=1.0)
    start = torch.full((50,), math.pi, dtype=torch.float64)
    end = descent.run(job, lambda v, _: v * 0.1, start, steps=2, sigma=0.7, stream="s", reach=30.0)
    ticks = end / grid_of(job, 0.7, 50)
    assert torch.equal(ticks, ticks.round())
    phases = descent.phases(job, 50, steps=2, sigma=0.7, reach=30.0)
    assert [phase.steps for phase in phases] == [1, 1]
    assert phases[1].rounding > phases[0].rounding > 0


def test_the_rounding_budget_covers_the_arithmetic_of_a_step():
    """Against the same step in twice the precision, from the gradient on."""
    descent = Descent(step_size=0.3, clip=1.0, weight_decay=0.1, radius=2.0)
    torch.manual_seed(0)
    start, push = (torch.randn(500, dtype=torch.float64) for _ in range(2))
    push /= push.norm()
    end = descent.run(
        job_of(seed=7), lambda *_: push, start, steps=1, sigma=0.1, stream="s", reach=30.0
    )
    noise = normal_source(7, "s")(start[None])[0]
    exact = start.numpy().astype("longdouble")
    exact = exact - 0.3 * (push.numpy() + 0.1 * exact) + math.sqrt(0.6) * 0.1 * noise.numpy()
    exact = exact * min(1, 2 / (exact**2).sum() ** 0.5)
    error = float((((exact - end.numpy()) ** 2).sum()) ** 0.5)
    phases = descent.phases(job_of(), 500, steps=2, sigma=0.1, reach=float(start.norm()))
    assert 0 < error < phases[0].rounding


@pytest.mark.parametrize("radius", [None, 2.0])
def test_the_rounding_budget_counts_everything_that_a_step_computes(radius):
    """Its gradient's error, its operations on the largest numbers there can be, its noise's error.

    Spelled out once more from the constants: a norm and a division where steps project.
    """
    descent = Descent(0.3, clip=50.0, radius=radius, gradient_rounding=1e-13, load=3.0)
    phase = descent.phases(job_of(), 500, steps=5, sigma=1e-3, reach=7.0)[0]
    noise, root = math.sqrt(0.6) * 1e-3, math.sqrt(500)
    step = 0.3 * 50.0 * 3.0 + 12 * noise * root
    largest, operations = (7.0 + 5 * step, 16) if radius is None else (7.0 + step, 2 * 516)
    counted = 0.3 * 1e-13 + operations * 2.0**-53 * largest + 2e-14 * noise * root
    assert counted <= phase.rounding <= 1.001 * counted


@pytest.mark.parametrize("radius", [None, 2.0])
def test_noise_too_small_to_be_exact_is_refused_before_any_gradient_is_taken(radius):
    """By public constants: what the records' gradients come to decides nothing."""
    descent = Descent(step_size=0.5, clip=1.0, radius=radius)

    def never(offset, index):
        raise AssertionError("a record was looked at")

    start, run = torch.zeros(3, dtype=torch.float64), {"steps": 4, "sigma": 1e-14, "stream": "s"}
    reach = descent.reach(3, 1e-14, 0.0, 4)
    with pytest.raises(ValueError, match=r"noise of 1e-14 is too small"):
        descent.run(job_of(seed=None), never, start, **run, reach=reach)


@pytest.mark.parametrize("steps", [1, 10_000])
def test_noise_that_networks_use_is_far_from_that_refusal(steps):
    """Without a ball too, where what steps can reach grows with their number."""
    dimension, sigma = 100_000_000, 1e-3
    descent, noise_std = Descent(step_size=1.0, clip=1.0), math.sqrt(2) * sigma
    reach = descent.reach(dimension, sigma, 100.0, steps)
    grid = release.grid_for(std=noise_std, mu=0.1, dimension=dimension)
    release.check_reach(2 * reach, std=noise_std, grid=grid)


@pytest.mark.parametrize("radius", [None, 2.0])
def test_steps_stay_within_their_reach_though_every_gradient_pushes_the_same_way(radius):
    descent, dimension = Descent(0.5, clip=1.0, load=2.0, radius=radius), 50
    push = torch.full((dimension,), -2.0 / math.sqrt(dimension), dtype=torch.float64)
    reach, farthest = descent.reach(dimension, 0.1, 1.0, 300), 0.0

    def pushing(offset, _):
        nonlocal farthest
        farthest = max(farthest, float(offset.norm()))
        return push

    start = torch.full((dimension,), 1.0 / math.sqrt(dimension), dtype=torch.float64)
    job, run = job_of(seed=5), {"steps": 300, "sigma": 0.1, "stream": "s"}
    end = descent.run(job, pushing, start, **run, reach=reach)
    assert 0.9 * (301 if radius is None else 2) < max(farthest, float(end.norm())) <= reach


def test_values_that_are_not_finite_are_refused():
    start = torch.zeros(3, dtype=torch.float64)
    with pytest.raises(NoCertificate, match="not finite"):
        Descent(0.1, 1.0).run(
            job_of(), lambda v, _: v + math.nan, start, steps=1, sigma=1.0, stream="s", reach=0.0
        )


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ({"step_size": 0.0}, "step_size"),
        ({"clip": -1.0}, "clip"),
        ({"clip": math.inf}, "clip"),
        ({"radius": 0.0}, "radius"),
        ({"weight_decay": 3.0}, "weight_decay"),
        ({"smoothness": math.nan}, "smoothness"),
    ],
)
def test_settings_that_make_no_sense_are_named(setting, name):
    with pytest.raises(ValueError, match=name):
        Descent(**{"step_size": 0.5, "clip": 1.0, **setting})


def test_a_layer_that_mixes_records_is_named():
    with pytest.raises(InvalidInput, match=r"'body.1'.*BatchNorm1d"):
        Place.of(job_of(network(extra=nn.BatchNorm1d(6))), "start")


def test_a_module_that_remembers_is_refused():
    """One record would move the others' gradients, which no clipping bounds."""

    class Running(nn.Module):
        mean = 0.0

        def forward(self, x):
            self.mean = self.mean + 0.1 * float(x.detach().mean())
            return x - self.mean

    with pytest.raises(InvalidInput, match="remembers"):
        Place.of(job_of(network(extra=Running())), "start")


def test_forgotten_records_which_are_blank_are_not_sent_through_the_module():
    class Picky(nn.Module):
        def forward(self, x):
            if not bool(x.detach().any()):
                raise ValueError("nothing in it")
            return x

    job = job_of(network(extra=Picky()))
    asked = without(job, [0, 3])
    asked.module.body = nn.Sequential(Picky(), asked.module.body)
    Place.of(asked, "start")
    with pytest.raises(ValueError, match="nothing in it"):
        Place.of(replace(asked, roster=job.roster), "start")  # a planted look at them


@pytest.mark.parametrize("around", ["start", "zero"])
def test_parameters_go_into_one_vector_and_back(around):
    job = job_of()
    place = Place.of(job, around)
    expected = flat(dict(job.module.named_parameters()))
    torch.testing.assert_close(place.center + place.beginning, expected)
    assert (float(place.beginning.norm()) == 0) == (around == "start")
    back = place.state(place.beginning)
    assert all(torch.equal(back[n], p) for n, p in job.module.named_parameters())
    torch.testing.assert_close(place.offset_of(back), place.beginning)
    with pytest.raises(ValueError, match="around"):
        Place.of(job, "nowhere")


def test_the_printed_constants_are_those_of_the_steps():
    """Measured on runs that share their noise; the certificate prints them as enforced."""
    descent = Descent(step_size=0.4, clip=0.7, weight_decay=0.3, radius=5.0, smoothness=2.0)
    printed = descent.assumptions
    enforced = dict.fromkeys(("clip", "weight_decay", "radius"), "enforced")
    assert printed.marks == {**enforced, "smoothness": "assumed"}

    def end(start, push=0.0, steps=3):
        made = torch.full((4,), start, dtype=torch.float64)
        gradient = torch.full((4,), push / 2, dtype=torch.float64)  # `push` long
        run = {"steps": steps, "sigma": 0.01, "stream": "s", "reach": 1e7}
        return descent.run(job_of(seed=7), lambda *_: gradient, made, **run)

    c = 1 - 0.4 * printed.weight_decay
    torch.testing.assert_close(end(1.0) - end(0.5), torch.full((4,), 0.5).double() * c**3)
    pushed = (1 + c + c**2) * 0.4 * printed.clip
    assert float((end(0.0, push=0.7) - end(0.0)).norm()) == pytest.approx(pushed, rel=1e-9)
    assert float(end(1e6, steps=1).norm()) == pytest.approx(printed.radius, rel=1e-12)
    assert printed.smoothness == 2.0 + printed.weight_decay  # the ridge's part is in it
