"""How far unlearned heads are from retrained ones: predicted, or measured by coupled pairs.

    predicted         D_a of pi_R^{T+K} against pi_U^K from two noise-free paths and H v along them
    coupled_estimate  the same shift from a few dozen pairs that share their noise up to its sign

    H v = mean over rows of  x (x) residual'(theta x) (v x)  +  l2 v

Both take the covariance of the linearised noise (`linear_noise`), so both describe Gaussians. The
prediction compares itself with a few pairs and says in its notes where it does not hold: the ball
is within reach, the curvature differs between models, the initial law is not Gaussian.

Full batches, or one order shared by all models, on which the value is then conditional. With an
order for each run of models the law is a mixture over orders; that is refused.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from scipy.stats import norm
from torch import Tensor

from expunge.core import counters
from expunge.core.checks import check_fields, count, instance, integer, open_share, positive
from expunge.core.projection import l2_ball
from expunge.divergence.coupled import coupled
from expunge.divergence.estimate import Estimate
from expunge.divergence.linear_noise import CovariancePart, Law, covariance_part, mixed, solve
from expunge.sampling.ensembles import sample_ensemble
from expunge.sampling.networks import Network
from expunge.sampling.orders import Orders
from expunge.sampling.problem import (
    DefaultUniform,
    Gaussian,
    IndependentBatches,
    NoBatches,
    Problem,
    Records,
)
from expunge.sampling.updates.plain import Precision

__all__ = ["Heads", "coupled_estimate", "predicted"]

TOLERANCE = 0.04  # of the value: what may be neglected without a note
CHECKED = 8  # pairs that a prediction is compared with
MODELS = 4  # at which the curvature is looked at
REACH = 5.0  # standard deviations of a norm within which the ball counts as touched
ROUGH = 0.03  # residual of S^-1 on what enters squared and small


@dataclass(frozen=True)
class Heads:
    """Both laws of a problem of linear heads at one K, linearised around their noise-free paths.

    Args:
        seed: Of the shared order, where there is one; the sampler's.

    Raises:
        ValueError: a network, no noise, or an order for each run of models.
    """

    problem: Problem
    unlearn_steps: int
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(
            self,
            problem=instance(Problem, "a Problem"),
            unlearn_steps=count(),
            seed=integer,
        )
        if isinstance(self.problem.loss, Network):
            raise ValueError("loss: linear heads only; sample networks and estimate from them")
        if not self.problem.sigma > 0:
            raise ValueError("sigma: without noise the laws are points")
        if isinstance(self.problem.scheme, IndependentBatches):
            raise ValueError(
                "batch: an order for each run of models makes the law a mixture over orders; "
                "take SharedBatches (conditional on the order), the full batch, or independent "
                "models and hotelling"
            )

    @cached_property
    def unlearned(self) -> Law:
        return self._law(retraining=False)

    @cached_property
    def retrained(self) -> Law:
        return self._law(retraining=True)

    @property
    def initial_variance(self) -> float:
        law = self.problem.law
        if isinstance(law, Gaussian):
            return law.std**2
        return 1 / (3 * self.problem.shape[1]) if isinstance(law, DefaultUniform) else 0.0

    @property
    def variance(self) -> float:
        """v_0 + nu^2 (T + K): of a coordinate, were there no curvature."""
        steps = self.problem.learn_steps + self.unlearn_steps
        return self.initial_variance + self.problem.noise_std**2 * steps

    def metric(self, order: float) -> Callable[[Tensor], Tensor]:
        """v -> ((1 - a) S_R + a S_U) v."""
        return mixed(self.retrained, self.unlearned, order)

    def direction(self, order: float) -> Tensor:
        """((1 - a) S_R + a S_U)^-1 shift: the best linear test."""
        return solve(self.metric(order), self.retrained.mean - self.unlearned.mean)

    def mean_part(self, direction: Tensor, order: float) -> float:
        """(a/2) shift' ((1 - a) S_R + a S_U)^-1 shift, given that direction."""
        return order / 2 * float((self.retrained.mean - self.unlearned.mean) @ direction)

    def covariance_part(self, order: float) -> CovariancePart:
        return covariance_part(of=self.retrained, against=self.unlearned, order=order)

    def closest_to_the_ball(self) -> float:
        """The least of (radius - typical norm)/std over both paths; models reach it from 5 on."""
        if self.problem.radius is None:
            return math.inf
        least, d = math.inf, math.prod(self.problem.shape)
        for retraining in (False, True):
            for step, weights in enumerate(self._path(retraining)):
                variance = self.initial_variance + self.problem.noise_std**2 * max(step, 1)
                typical = math.sqrt(float(weights.square().sum()) + d * variance)
                least = min(least, (self.problem.radius - typical) / math.sqrt(variance))
        return least

    def curvature(self, weights: Tensor, vectors: Tensor) -> Tensor:
        """H v at these weights (outputs, features), on all that remains."""
        return self._hessian(self._remaining, weights)(vectors)

    def _law(self, retraining: bool) -> Law:
        path = self._path(retraining)
        seen = [self._rows_seen(retraining, step) for step in range(len(path) - 1)]
        hessians = [self._hessian(rows, weights) for rows, weights in zip(seen, path, strict=False)]
        problem = self.problem
        return Law(
            path[-1].flatten(),
            hessians,
            problem.step_size,
            problem.noise_std,
            self.initial_variance,
        )

    def _path(self, retraining: bool) -> list[Tensor]:
        """Noise-free, from the initial law's mean: (outputs, features) before and after a step."""
        return self._paths[retraining]

    @cached_property
    def _paths(self) -> tuple[list[Tensor], list[Tensor]]:
        problem, paths = self.problem, ([], [])
        for retraining in (False, True):
            weights = torch.zeros(problem.shape, dtype=torch.float64)
            paths[retraining].append(weights)
            for step in range(problem.learn_steps + self.unlearn_steps):
                rows = self._rows_seen(retraining, step)
                scores = rows.features.double() @ weights.T
                residual = self._loss.residual(scores, rows.targets)  # (rows, outputs)
                gradient = residual.T @ rows.features.double() / len(scores)
                weights = weights - problem.step_size * (gradient + self._loss.l2 * weights)
                if problem.radius is not None:
                    weights = l2_ball(problem.radius)(weights[None])[0]
                paths[retraining].append(weights)
        return paths

    def _hessian(self, rows: Records, weights: Tensor) -> Callable[[Tensor], Tensor]:
        """Products in float32: their rounding is far below the linearisation's error."""
        features, loss = rows.features, self._loss
        scores = features @ weights.to(features.dtype).T  # (rows, outputs)
        outputs, width = self.problem.shape

        def product(vectors: Tensor) -> Tensor:
            stacked = vectors.reshape(-1, width).to(features.dtype)
            moved = (stacked @ features.T).view(-1, outputs, len(features)).transpose(1, 2)
            bent = loss.residual_derivative(scores, moved, rows.targets).transpose(1, 2)
            image = bent.reshape(-1, len(features)) @ features
            return image.view_as(vectors).to(vectors.dtype) / len(features) + loss.l2 * vectors

        return product

    @property
    def _loss(self):
        assert not isinstance(self.problem.loss, Network)
        return self.problem.loss

    @cached_property
    def _everything(self) -> Records:
        features, targets = self.problem.all_records()
        return Records(features.float(), targets)

    @cached_property
    def _remaining(self) -> Records:
        kept = self.problem.retained()
        return Records(self._everything.features[kept], self._everything.targets[kept])

    def _rows_seen(self, retraining: bool, step: int) -> Records:
        """What a step sees: all rows of its side, or its batch in the shared order."""
        remaining = retraining or step >= self.problem.learn_steps
        rows = self._remaining if remaining else self._everything
        chosen = self._orders[remaining].rows(step)
        if chosen is None:
            return rows
        return Records(rows.features[chosen[0]], rows.targets[chosen[0]])

    @cached_property
    def _orders(self) -> tuple[Orders, Orders]:
        """The orders that the sampler draws for this seed."""
        key, kept = counters.stream(self.seed, "order", "learned", 0), self.problem.retained()
        everything, remaining = torch.ones_like(kept), kept
        return (
            Orders(self.problem.scheme, key, everything, 0, 1),
            Orders(self.problem.scheme, key, remaining, 0, 1),
        )


def predicted(
    problem: Problem,
    *,
    unlearn_steps: int,
    order: float = 2.0,
    level: float = 0.95,
    seed: int = 0,
    checked: int = CHECKED,
) -> Estimate:
    """D_order(pi_R^{T+K} || pi_U^K) without sampling, and what speaks against it in the notes.

    Args:
        checked: Pairs of models that the prediction is compared with; 0 for no comparison.

    Raises:
        ValueError: as `Heads`; or the step is too large for the noise to be linearised.
    """
    heads = Heads(problem, unlearn_steps, seed)
    positive("order", order)
    open_share("level", level)
    count()("checked", checked)
    direction = heads.direction(order)
    value = heads.mean_part(direction, order)
    part = heads.covariance_part(order)
    notes = [
        f"mean part {value:.6g}, covariance part {part.value:.3g} +- {part.error:.1g}, which is "
        "not in the value",
        *_against_gaussians(heads),
        *_of_the_ball(heads),
    ]
    if part.value - 2 * part.error > TOLERANCE * value:
        notes.append("the covariances differ: the mean part alone understates the divergence")
    if checked:
        retrained, unlearned = _pairs(heads, checked, "float32")
        seen = order / 2 * (retrained.double() - unlearned.double()) @ direction
        notes += _of_the_path(seen, value) + _of_the_curvature(heads, direction, unlearned)
    return Estimate(
        value,
        None,
        "linear noise",
        "prediction",
        order,
        level,
        "Gaussians: noise linearised around the noise-free path" + _conditional(problem),
        tuple(notes),
    )


def coupled_estimate(
    problem: Problem,
    *,
    unlearn_steps: int,
    pairs: int = 32,
    order: float = 2.0,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """D_order(pi_R^{T+K} || pi_U^K) from pairs that share start and noise, on the CPU in float64.

    Half of the pairs run on the negative noise of the others; the mean of two such pairs, in which
    all that is linear in the noise cancels, is one observation. The interval is over noise: the
    metric's own rounding, about 1e-6 of the value, is not in it.

    Raises:
        ValueError: as `Heads`, or fewer than eight pairs.
    """
    heads = Heads(problem, unlearn_steps, seed)
    positive("order", order)
    open_share("level", level)
    count()("pairs", pairs)
    if pairs < 8 or pairs % 2:
        raise ValueError(f"pairs: {pairs}; an even number, at least 8")
    there = _pairs(heads, pairs // 2, "float64")
    back = _pairs(replace(heads, problem=_mirror(problem)), pairs // 2, "float64")
    # Mirrored weights are negative ones.
    retrained, unlearned = ((ahead - behind) / 2 for ahead, behind in zip(there, back, strict=True))
    metric = heads.metric(order)
    shift = (retrained - unlearned).mean(0)

    def precision(vectors: Tensor) -> Tensor:
        """Solve for a mean in the metric, and for deviations, which enter squared, in S_U."""
        if vectors.dim() == 1:
            return solve(metric, vectors)
        return solve(heads.unlearned.covariance, vectors, ROUGH)

    estimate = coupled(
        of=retrained, against=unlearned, precision=precision, order=order, level=level
    )
    return replace(
        estimate,
        model="Gaussians with the linearised noise's covariances" + _conditional(problem),
        notes=(
            *estimate.notes,
            *_against_gaussians(heads),
            *_of_the_ball(heads),
            *_of_the_curvature(heads, solve(metric, shift, ROUGH), there[1]),
        ),
    )


def _pairs(heads: Heads, count: int, precision: Precision) -> tuple[Tensor, Tensor]:
    """Retrained and unlearned, (count, d) each, coupled."""
    k = heads.unlearn_steps
    ensembles = sample_ensemble(
        heads.problem,
        unlearn_steps=(k,),
        models=count,
        coupled=True,
        seed=heads.seed,
        precision=precision,
    )
    return (
        ensembles["retrained", k].weights.flatten(1),
        ensembles["unlearned", k].weights.flatten(1),
    )


def _mirror(problem: Problem) -> Problem:
    """The problem on negated features: its chains are those of the negative noise, negated.

    Initial laws are symmetric.
    """
    private, public = problem.records_of()
    return replace(
        problem,
        private=Records(-private.features, private.targets),
        public=Records(-public.features, public.targets),
    )


def _of_the_path(seen: Tensor, value: float) -> list[str]:
    """A note where coupled pairs contradict the predicted value; none otherwise.

    Args:
        seen: (a/2) <S^-1 shift, a pair's shift>; its mean is `value` if the noise-free path is
            right.
    """
    off, error = float(seen.mean()) - value, float(seen.std()) / math.sqrt(len(seen))
    if abs(off) - 3 * error <= TOLERANCE * abs(value):
        return []
    return [
        f"outside its range: {len(seen)} coupled pairs give {value + off:.4g} +- {error:.1g}; "
        "use coupled_estimate"
    ]


def _of_the_curvature(heads: Heads, direction: Tensor, models: Tensor) -> list[str]:
    """A note where the curvature at drawn models differs too much from that on the path.

    A change of h along the direction changes the variance by at most 2 eta (T + K) h.
    """
    problem, unit = heads.problem, direction / direction.norm()
    drawn = [model.view(problem.shape) for model in models[:MODELS]]
    on_path = heads.unlearned.mean.view(problem.shape)
    bent = [float(heads.curvature(weights, unit) @ unit) for weights in (on_path, *drawn)]
    steps = problem.learn_steps + heads.unlearn_steps
    effect = 2 * problem.step_size * steps * abs(float(np.mean(bent[1:])) - bent[0])
    if effect <= TOLERANCE:
        return []
    return [
        f"outside its range: the curvature at drawn models differs from that on the path, worth up "
        f"to {effect:.0%} of the variance; use independent models and hotelling"
    ]


def _of_the_ball(heads: Heads) -> list[str]:
    """A note where models reach the ball that every step is projected onto."""
    room = heads.closest_to_the_ball()
    if room > REACH:
        return []
    return [
        "outside its range: models reach the ball that every step is projected onto, which the "
        "linearised noise ignores; use independent models and hotelling"
    ]


def _against_gaussians(heads: Heads) -> list[str]:
    """A note where the initial law is too far from Gaussian.

    Uniform initial points leave edges that Gaussians of the same covariance do not have.
    """
    if not isinstance(heads.problem.law, DefaultUniform):
        return []
    noise = math.sqrt(heads.variance - heads.initial_variance)
    ratio = heads.variance * _location_information(heads.problem.shape[1] ** -0.5, noise)
    if ratio < 1 + TOLERANCE:
        return []
    return [
        "the initial law is uniform: the value is that of Gaussians of the same covariance, a "
        f"lower one; small shifts are worth up to {ratio:.3g} times as much to whoever sees all "
        "weights"
    ]


def _location_information(bound: float, noise_std: float) -> float:
    """Fisher information about the location of uniform(-bound, bound) + N(0, noise_std^2)."""
    points = np.linspace(-bound - 9 * noise_std, bound + 9 * noise_std, 200_001)
    upper, lower = (points + bound) / noise_std, (points - bound) / noise_std
    density = (norm.cdf(upper) - norm.cdf(lower)) / (2 * bound)
    slope = (norm.pdf(upper) - norm.pdf(lower)) / (2 * bound * noise_std)
    inside = density > 1e-12 * density.max()
    return float(np.sum(slope[inside] ** 2 / density[inside]) * (points[1] - points[0]))


def _conditional(problem: Problem) -> str:
    return "" if isinstance(problem.scheme, NoBatches) else ", given the shared order"
