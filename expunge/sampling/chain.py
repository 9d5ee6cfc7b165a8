"""One block of models through learning, unlearning and retraining: the one loop.

    theta <- Proj( theta - eta (gradient + l2 theta) + sqrt(2 eta) sigma xi )

as in `pngd.py`, in place on stacked models. One learning run serves every K and is continued by
unlearning; one retraining run of T + max K steps serves every K too. Noise, initial points and
orders are functions of (seed, chain, step, model): a block is the same wherever it is computed.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from expunge.core import counters
from expunge.sampling.networks import Network
from expunge.sampling.orders import Orders
from expunge.sampling.problem import DefaultUniform, Gaussian, Problem, Records, SharedBatches
from expunge.sampling.recurrent import Recurrent
from expunge.sampling.updates import cpu_kernels, kernels
from expunge.sampling.updates.fused import Fused
from expunge.sampling.updates.plain import Plain, Precision
from expunge.sampling.updates.stacked import Stacked

__all__ = ["Point", "Recipe", "Regime", "run_block", "start_of"]

Regime = Literal["learned", "unlearned", "retrained"]
Point = tuple[str, int]  # regime and unlearning steps


@dataclass(frozen=True, eq=False)
class Recipe:
    """Everything a block of models is a function of, besides its place.

    Args:
        coupled: Retraining draws the initial points, noise and orders that learning drew.
        precision: The precision of products; weights and noise are float32, or float64 throughout.
    """

    problem: Problem
    regimes: tuple[Regime, ...]
    unlearn_steps: tuple[int, ...]
    seed: int
    coupled: bool = False
    device: str = "cpu"
    precision: Precision = "float32"

    @cached_property
    def points(self) -> list[Point]:
        """What a block yields: ("learned", 0) after T steps, every other regime at every K."""
        points: list[Point] = [("learned", 0)] if "learned" in self.regimes else []
        for regime in ("unlearned", "retrained"):
            if regime in self.regimes:
                points += [(regime, k) for k in sorted(set(self.unlearn_steps))]
        return points

    @cached_property
    def everything(self) -> Records:
        """All records, on the device and in the precision of the recipe."""
        features, targets = self.problem.all_records()
        dtype = torch.float64 if self.precision == "float64" else torch.float32
        return Records(features.to(self.device, dtype), targets.to(self.device))

    @cached_property
    def remaining(self) -> Records:
        """The records that remain after the request."""
        kept = self.problem.retained().to(self.device)
        return Records(self.everything.features[kept], self.everything.targets[kept])

    def key(self, purpose: str, retraining: bool, step: int = 0) -> int:
        """The key of a stream; coupled chains share them all."""
        chain = "retrained" if retraining and not self.coupled else "learned"
        return counters.stream(self.seed, purpose, chain, step)


def run_block(recipe: Recipe, first: int, models: int) -> dict[Point, Tensor]:
    """Compute models first..first+models-1 at every point of the recipe: (models, *shape) each."""
    with torch.cuda.device(recipe.device) if recipe.device.startswith("cuda") else nullcontext():
        return _run_chains(recipe, first, models)  # Triton launches on the current device


def _run_chains(recipe: Recipe, first: int, models: int) -> dict[Point, Tensor]:
    """Run the learning chain and the retraining chain, and take the models at their points."""
    snapshots: dict[Point, Tensor] = {}
    learn_steps = recipe.problem.learn_steps
    for retraining in (False, True):
        points = [point for point in recipe.points if (point[0] == "retrained") is retraining]
        if not points:
            continue
        chain = _chain(recipe, retraining, first, models)
        sides = [
            _orders(recipe, retraining, remaining, first, models) for remaining in (False, True)
        ]
        last = learn_steps + max(k for _, k in points)
        for step in range(last + 1):
            for point in points:
                if step == learn_steps + point[1]:
                    snapshots[point] = chain.snapshot()
            if step < last:
                remaining = retraining or step >= learn_steps
                records = recipe.remaining if remaining else recipe.everything
                orders = sides[remaining]
                key = recipe.key("noise", retraining, step)
                chain.step(records, orders.rows(step), orders.runs, key)
    return snapshots


def start_of(recipe: Recipe, models: int) -> tuple[Plain | Fused, Orders]:
    """Models 0..models-1 before they learn, and the order they will learn in."""
    return _chain(recipe, False, 0, models), _orders(recipe, False, False, 0, models)


def _chain(recipe: Recipe, retraining: bool, first: int, models: int) -> Plain | Fused:
    """A block of models at its initial points."""
    problem, key = recipe.problem, recipe.key("init", retraining)
    law, count = problem.law, torch.Size(problem.shape).numel()
    dtype = recipe.everything.features.dtype
    if isinstance(law, Gaussian):
        drawn = _normal(recipe, key, first, models, count) * law.std
    elif isinstance(law, DefaultUniform):
        drawn = _uniform(recipe, key, first, models, count)
    else:
        drawn = torch.zeros(models, count, device=recipe.device, dtype=dtype)
    weights = drawn.view(models, *problem.shape)
    if recipe.precision == "bfloat16" and Fused.serves(problem):
        return Fused(problem, weights, first)
    stepper = Stacked if isinstance(problem.loss, Recurrent) else Plain
    return stepper(problem, recipe.precision, weights, first)


def _normal(recipe: Recipe, key: int, first: int, models: int, count: int) -> Tensor:
    """Draw standard normals; a kernel that serves draws the same bits."""
    drawn = torch.zeros(models, count, device=recipe.device, dtype=recipe.everything.features.dtype)
    if kernels.serves(drawn):
        kernels.launch_plain_update(
            drawn, drawn, key=key, first=first, shrink=1.0, rate=0.0, noise_std=1.0
        )
        return drawn
    return cpu_kernels.normals(key, first, models, count, recipe.device).to(drawn.dtype)


def _uniform(recipe: Recipe, key: int, first: int, models: int, count: int) -> Tensor:
    """Draw uniforms on +-1/sqrt(fan-in); a kernel that serves draws the same bits."""
    loss, dtype = recipe.problem.loss, recipe.everything.features.dtype
    if isinstance(loss, Network):
        bounds = loss.default_bounds().to(recipe.device)
        return counters.uniforms(key, first, models, count, recipe.device).to(dtype) * bounds
    bound = recipe.problem.shape[-1] ** -0.5
    drawn = torch.empty(models, count, device=recipe.device, dtype=dtype)
    if kernels.serves(drawn):
        kernels.launch_uniforms(drawn, key, first, bound)
        return drawn
    return counters.uniforms(key, first, models, count, recipe.device).to(dtype) * bound


def _orders(recipe: Recipe, retraining: bool, remaining: bool, first: int, models: int) -> Orders:
    """The orders of a block; a shared order is the same in both chains.

    Estimates are conditional on a shared order anyway.
    """
    present = recipe.problem.retained() | (not remaining)
    shared = isinstance(recipe.problem.scheme, SharedBatches)
    key = recipe.key("order", retraining and not shared)
    return Orders(recipe.problem.scheme, key, present.to(recipe.device), first, models)
