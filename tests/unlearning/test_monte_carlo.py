"""Certificates against attacks: tens of thousands of models that were unlearned, or never learned.

Each strategy is asked for its history on a job built to be nearly as bad as its constants allow;
the history is then run on stacked models. No attack may prove more than the certificate states,
and the same attacks must catch a third of the noise and a run that forgot to unlearn.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from expunge.accounting.bounds import shift
from expunge.accounting.target import EpsilonDelta
from expunge.core import release
from expunge.core.projection import l2_ball
from expunge.core.randomness import normal_source
from expunge.losses import Squared
from expunge.sampling import pngd
from expunge.unlearning.ids import id_rows
from expunge.unlearning.linear import by_passes as by_passes_module
from expunge.unlearning.linear import pass_free
from expunge.unlearning.linear.langevin import Langevin, NoiseFirst
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.linear.newton_step import NewtonStep
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.roster import Roster
from tests.unlearning.monte_carlo import empirical_epsilon

MODELS = 40_000
ROWS, LEFT = 40, 39
DELTA = 1e-2  # so that 20,000 held-out models can prove an epsilon of 1
TARGET = EpsilonDelta(1.0, DELTA)

LANGEVIN = Langevin(learn_steps=30, sigma=0.006)
NOISE_FIRST = NoiseFirst(learn_steps=30, unlearn_steps=4)
DESCENT = pytest.mark.parametrize("strategy", [LANGEVIN, NOISE_FIRST], ids=lambda s: s.name)

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def lonely_row(rows=ROWS, observer="final"):
    """The last row has a direction that no other row has, and the largest target.

    Its gradient is Y B against M = B (B R + Y), the rest's has mean zero, and the Hessian along it
    is the ridge: the drift is 1/(2 (1 + R)) = 0.43 of what the certificate allows for.
    """
    rng = np.random.default_rng(2)
    features = np.zeros((ROWS, 4))
    features[:LEFT, 1:] = rng.normal(size=(LEFT, 3))
    features[LEFT:, 0] = 1
    features /= np.linalg.norm(features, axis=1)[:, None]
    targets = np.r_[0.1 * rng.normal(size=LEFT), 1.0]
    return LinearJob(
        loss=Squared(l2=1.0, target_norm=1.0, radius=0.15),
        features=torch.from_numpy(features),
        targets=torch.from_numpy(targets),
        roster=Roster.of(id_rows(None, ROWS, 0), 0, (torch.arange(ROWS) >= rows).long()),
        target=TARGET,
        observer=observer,
    )


def certified_run(strategy, observer="final"):
    """Assumptions and history of one deletion, from the strategy itself, and its epsilon."""
    outcome = strategy.forget(
        lonely_row(LEFT, observer), strategy.fit(lonely_row(observer=observer))
    )
    epsilon = shift.bound(outcome.assumptions, outcome.history).epsilon(DELTA)
    return outcome.assumptions, outcome.history, epsilon


def simulated(assumptions, history, *, seed, saw_all, share=1.0):
    """Stacked models after every phase, (models, features) each.

    Args:
        saw_all: Whether phases ran on the rows they had; the comparator saw what remains only.
        share: Of the noise that the history states.
    """
    job, generator = lonely_row(), torch.Generator().manual_seed(seed)

    def noise(like):
        return torch.randn(like.shape, generator=generator, dtype=like.dtype)

    theta, after = torch.zeros(MODELS, 1, 4, dtype=torch.float64), []
    for phase in history.phases:
        rows = phase.samples if saw_all else LEFT
        features, targets = job.features[:rows], job.targets[:rows]

        def gradient(theta, _, features=features, targets=targets):
            slopes = job.loss.residual(theta @ features.T, targets[None])
            return slopes @ features / len(features) + job.loss.l2 * theta

        kernel = pngd.build(
            gradient,
            step_size=phase.step_size,
            sigma=phase.sigma * share,
            project=l2_ball(assumptions.radius),
        )
        for index in range(phase.steps):
            theta = kernel.step(theta, index, noise)
        after.append(theta[:, 0].numpy())
    return after


@DESCENT
def test_no_attack_on_descent_proves_more_than_its_certificate(strategy):
    assumptions, history, certified = certified_run(strategy)
    unlearned = simulated(assumptions, history, seed=1, saw_all=True)[-1]
    retrained = simulated(assumptions, history, seed=2, saw_all=False)[-1]
    assert certified <= TARGET.level
    assert empirical_epsilon(unlearned, retrained, DELTA) <= certified


@DESCENT
def test_a_third_of_the_noise_is_caught_by_the_same_attacks(strategy):
    assumptions, history, certified = certified_run(strategy)
    unlearned = simulated(assumptions, history, seed=3, saw_all=True, share=1 / 3)[-1]
    retrained = simulated(assumptions, history, seed=4, saw_all=False, share=1 / 3)[-1]
    assert empirical_epsilon(unlearned, retrained, DELTA) > certified


@DESCENT
def test_forgetting_to_unlearn_is_caught_by_the_same_attacks(strategy):
    assumptions, history, certified = certified_run(strategy)
    learning = sum(phase.forgotten > 0 for phase in history.phases)
    learned = simulated(assumptions, history, seed=5, saw_all=True)[learning - 1]
    retrained = simulated(assumptions, history, seed=6, saw_all=False)[-1]
    assert empirical_epsilon(learned, retrained, DELTA) > certified


def test_no_attack_on_both_releases_proves_more_than_the_joint_certificate():
    assumptions, history, certified = certified_run(Langevin(learn_steps=30, capacity=0.025), "all")
    seen = [i for i, phase in enumerate(history.phases) if phase.released]
    assert len(seen) == 2
    unlearned, retrained = (
        np.hstack([simulated(assumptions, history, seed=seed, saw_all=all_)[i] for i in seen])
        for seed, all_ in ((7, True), (8, False))
    )
    assert certified <= TARGET.level
    assert empirical_epsilon(unlearned, retrained, DELTA) <= certified


def test_a_certificate_for_the_final_model_does_not_hold_for_both_releases():
    assumptions, history, certified = certified_run(LANGEVIN)
    learning = sum(phase.forgotten > 0 for phase in history.phases)
    unlearned, retrained = (
        np.hstack([simulated(assumptions, history, seed=seed, saw_all=all_)[i] for i in (-1, last)])
        for seed, all_, last in ((9, True, learning - 1), (10, False, learning - 1))
    )
    assert empirical_epsilon(unlearned, retrained, DELTA) > certified


@DESCENT
def test_the_strategy_itself_draws_from_the_simulated_law(strategy):
    """Noise and release as they are drawn: mean and variances within six standard errors."""
    runs = 300
    assumptions, history, _ = certified_run(strategy)
    expected = simulated(assumptions, history, seed=11, saw_all=True)[-1]
    before, after = lonely_row(), lonely_row(LEFT)
    drawn = np.stack(
        [strategy.forget(after, strategy.fit(before)).theta.numpy()[0] for _ in range(runs)]
    )
    spread = expected.std(0)
    assert (abs(drawn.mean(0) - expected.mean(0)) <= 6 * spread / math.sqrt(runs)).all()
    assert (abs(drawn.std(0) / spread - 1) <= 6 / math.sqrt(2 * runs)).all()


def opposite_ends(monkeypatch, strategy):
    """The two points of the checked ball that are farthest apart, each accepted by `forget`."""
    base, ends = strategy.fit(lonely_row()), []
    honest = by_passes_module.solve
    for sign in (1, -1):

        def lying(objective, start, *, tolerance, gram, sign=sign):
            theta = honest(objective, start, tolerance=1e-14, gram=gram)
            theta[0, 0] += sign * strategy.tolerance * (1 - 1e-4) / objective.loss.l2
            return theta

        monkeypatch.setattr(by_passes_module, "solve", lying)
        outcome = strategy.forget(lonely_row(LEFT), base)
        ends.append(outcome.secret["theta"].numpy()[0])
    return ends, outcome


@pytest.mark.parametrize("tolerance", [1e-3, 1e-9])
def test_no_attack_on_residual_proves_more_even_with_the_worst_solver(monkeypatch, tolerance):
    strategy = Residual(tolerance, distance=0)
    ends, outcome = opposite_ends(monkeypatch, strategy)
    certified = shift.bound(outcome.assumptions, outcome.history).epsilon(DELTA)
    noise_std, grid = strategy.noise(lonely_row(LEFT))
    drawn = [release.draw(np.tile(end, (MODELS, 1)), noise_std, grid) for end in ends]
    centred = [(models - ends[0]) / noise_std for models in drawn]
    assert certified <= TARGET.level
    found = empirical_epsilon(*centred, DELTA)
    assert 0.5 * certified <= found <= certified  # the attack has power: nothing is wasted


def test_a_third_of_the_residual_noise_and_no_unlearning_are_caught(monkeypatch):
    strategy = Residual(1e-3, distance=0)
    ends, outcome = opposite_ends(monkeypatch, strategy)
    certified = shift.bound(outcome.assumptions, outcome.history).epsilon(DELTA)
    noise_std, grid = strategy.noise(lonely_row(LEFT))
    thin = [release.draw(np.tile(end, (MODELS, 1)), noise_std / 3, grid) for end in ends]
    assert empirical_epsilon(*thin, DELTA) > certified
    learned = replace(strategy, tolerance=1e-12).fit(lonely_row()).theta.numpy()[0]
    still_learned = release.draw(np.tile(learned, (MODELS, 1)), noise_std, grid)
    retrained = release.draw(np.tile(ends[0], (MODELS, 1)), noise_std, grid)
    assert empirical_epsilon(still_learned, retrained, DELTA) > certified


def ends_of_the_ball(monkeypatch, strategy):
    """The two points farthest apart that a request without a pass may go to, taken by `forget`."""
    base, left, ends = strategy.fit(lonely_row()), lonely_row().without([ROWS - 1]), []
    best = by_passes_module.solve(left.objective, base.theta, tolerance=1e-14)
    for sign in (1, -1):
        reach = strategy.reach(left)
        end = best.clone()
        end[0, 0] += sign * reach * (1 - 1e-9)
        farthest = NewtonStep(end, reach)
        monkeypatch.setattr(pass_free, "newton_step", lambda *_, end=farthest, **__: end)
        outcome = strategy.forget(left, base)
        assert not outcome.read_every_row
        ends.append(end.numpy()[0])
    return ends, outcome


@pytest.mark.parametrize("distance", [None, 1e-6, 0.3])
def test_no_attack_on_a_request_without_a_pass_proves_more_even_at_the_balls_ends(
    monkeypatch, distance
):
    strategy = Residual(distance=distance)
    ends, outcome = ends_of_the_ball(monkeypatch, strategy)
    certified = shift.bound(outcome.assumptions, outcome.history).epsilon(DELTA)
    noise_std, grid = strategy.noise(lonely_row(LEFT))
    centred = [
        (release.draw(np.tile(end, (MODELS, 1)), noise_std, grid) - ends[0]) / noise_std
        for end in ends
    ]
    assert certified <= TARGET.level
    assert 0.5 * certified <= empirical_epsilon(*centred, DELTA) <= certified
    thin = [release.draw(np.tile(end, (MODELS, 1)), noise_std / 3, grid) for end in ends]
    assert empirical_epsilon(*thin, DELTA) > certified  # planted: a third of the noise


@pytest.mark.parametrize("distance", [1e-6, 0], ids=["without a pass", "passes"])
def test_a_fixed_normaliser_holds_against_retraining_that_divides_alike(distance):
    """The real deletion beside the real retraining; one that divides by the records left fails."""
    strategy = Residual(1e-8, distance=distance, fixed=True)
    base, left = strategy.fit(lonely_row()), lonely_row().without([ROWS - 1])
    outcome, retrained = strategy.forget(left, base), strategy.fit(left).theta.numpy()[0]
    assert outcome.read_every_row == (distance == 0)
    certified = shift.bound(outcome.assumptions, outcome.history).epsilon(DELTA)
    noise_std, grid = strategy.noise(left)
    shown = []
    for divides in (strategy, replace(strategy, fixed=False)):
        seeded = divides.forget(replace(left, seed=1), base).theta
        point = seeded - noise_std * normal_source(1, "request 1")(seeded)
        drawn = [
            release.draw(np.tile(center, (MODELS, 1)), noise_std, grid)
            for center in (point.numpy()[0], retrained)
        ]
        shown.append(
            empirical_epsilon(*((models - retrained) / noise_std for models in drawn), DELTA)
        )
    assert shown[0] <= certified < shown[1]
