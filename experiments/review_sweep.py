"""The search of `reviews_lstm` with all of its points advanced at once: a minute of a GPU.

Every shape is tried with every step size and sigma, as rows that `search.choice` reads: public
reviews alone, the same fifth held out. A step of one LSTM costs a GPU its launches, so models that
differ in step size, sigma or word bound go through one gradient, each with its own; points of one
loss see the same batches.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from experiments.reviews_lstm.corpus import Corpus, reviews
from experiments.reviews_lstm.models import Chain, Shape, device, right
from experiments.reviews_lstm.search import HELD_OUT, Grid, choice
from experiments.reviews_lstm.slices import Sampler
from expunge.core import counters
from expunge.sampling.problem import Records
from expunge.sampling.updates import lstm_kernels

__all__ = ["chosen_by_sweep", "sweep"]

Row = dict[str, Any]
Point = tuple[Shape, float, float]  # with step size and sigma


def chosen_by_sweep(sampler: Sampler) -> Row:
    """What `Sampler.chosen` states, of all points tried at once; kept where it would be."""
    models = sampler.models
    work = partial(sweep, models.corpus, models.chain, models.grid)
    tried = sampler.parts.rows("search", work)
    return {"tried": tried, **choice(tried, models.grid.probe)}


def sweep(corpus: Corpus, chain: Chain, grid: Grid) -> Iterator[Row]:
    """Every point of the grid, as rows that `search.choice` reads."""
    by_loss: dict[Shape, list[Point]] = {}
    for shape in grid.shapes:
        points = [(shape, eta, sigma) for eta in grid.step_sizes for sigma in grid.sigmas]
        by_loss.setdefault(replace(shape, word_bound=0.0), []).extend(points)
    for points in by_loss.values():
        yield from _together(corpus, chain, grid.steps, points)


def _together(corpus: Corpus, chain: Chain, steps: int, points: list[Point]) -> Iterator[Row]:
    """Points whose losses differ in the law of their initial weights alone."""
    place, loss = device(), points[0][0].loss
    features, targets = reviews(corpus, points[0][0].words).public
    first = round(HELD_OUT * len(targets))
    held = Records(features[:first], targets[:first])
    seen = Records(features[first:].to(place), targets[first:].to(place))
    weights = _initial(chain.seed, points).to(place)
    etas = torch.tensor([eta for _, eta, _ in points], device=place)[:, None]
    stds = torch.tensor([math.sqrt(2 * e) * s for _, e, s in points], device=place)[:, None]
    faster = place == "cuda" and lstm_kernels.serves(loss.hidden)
    moved = replace(loss, half=True) if faster else loss
    drawn = torch.Generator(place).manual_seed(chain.seed)
    orders = torch.Generator().manual_seed(chain.seed)
    noise = torch.empty_like(weights)
    for rows in _batches(len(seen.targets), chain.batch, steps, orders):
        at = rows.to(place)
        weights -= etas * moved.gradient(weights, seen.features[at], seen.targets[at])
        weights += stds * noise.normal_(generator=drawn)
        norms = torch.linalg.vector_norm(weights, dim=1, keepdim=True)
        weights *= (chain.radius / norms).clamp_max(1.0)
    share = float(held.targets.float().mean())
    accuracy = right(loss, weights, held).tolist()
    for (shape, eta, sigma), value in zip(points, accuracy, strict=True):
        yield {
            "shape": asdict(shape),
            "step_size": eta,
            "sigma": sigma,
            "accuracy": round(value, 4),
            "majority": round(max(share, 1 - share), 4),
        }


def _initial(seed: int, points: list[Point]) -> Tensor:
    """One model of each point; points of one shape start alike."""
    shapes = dict.fromkeys(shape for shape, _, _ in points)
    start = {}
    for shape in shapes:
        key, bounds = counters.stream(seed, "sweep", str(shape)), shape.loss.default_bounds()
        start[shape] = counters.uniforms(key, 0, 1, len(bounds), "cpu")[0] * bounds
    return torch.stack([start[shape] for shape, _, _ in points]).float()


def _batches(rows: int, size: int, steps: int, orders: torch.Generator) -> Iterator[Tensor]:
    """Rows of each step, in a new order every epoch; what does not fill a batch is left out."""
    each = rows // size
    for epoch in range(-(-steps // each)):
        order = torch.randperm(rows, generator=orders)
        for place in range(min(each, steps - epoch * each)):
            yield order[place * size : (place + 1) * size]
