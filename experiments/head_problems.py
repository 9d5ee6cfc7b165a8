"""Problems of linear heads on a public and a private set, by split, and their divergences.

    closeness              D_2(pi_R^{T+K} || pi_U^K), predicted
    certified_divergence   an upper bound on it, by the shift bound

A split orders the private rows: those to forget come first, those that are retained last, so that
points with other counts share their records. Points are the paper's three and their neighbours
(`design_points`), or a rising number of public rows (`series`). Public rows are repeated if a point
asks for more than there are, which gives the same public records a larger weight.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from experiments.datasets import load_pair
from expunge.accounting import learn_unlearn
from expunge.accounting.bounds import GDP, shift
from expunge.audit.heads import Heads
from expunge.divergence.linear_noise import solve
from expunge.losses import Softmax
from expunge.sampling import DefaultUniform, Gaussian, IndependentBatches, Problem, Zero

__all__ = [
    "BASE",
    "PAPER",
    "PAPER_CHAIN",
    "Chain",
    "Point",
    "Rows",
    "Variant",
    "certificate",
    "certified_divergence",
    "closeness",
    "design_points",
    "direction",
    "paper_points",
    "problem",
    "rows_of",
    "series",
]

INITS = {"zero": Zero(), "gaussian": Gaussian(0.01), "uniform": DefaultUniform()}
CLOSE = 1e-3  # residual of S^-1 shift: an error of its square, 1e-6 of the value
SAFE = 1 - 1e-6  # of a row's norm, so that rounding never takes it above the stated one


@dataclass(frozen=True)
class Chain:
    """The steps of learning and unlearning; the paper's by default."""

    learn_steps: int = 20
    step_size: float = 1e-3
    sigma: float = 0.01
    radius: float = 1.0


PAPER_CHAIN = Chain()


@dataclass(frozen=True)
class Variant:
    """The factors that decide an outcome, besides the counts.

    Args:
        forget_set: Records at random, or class by class: whole classes, the last one in part.
        init: All zero, Gaussian of std 0.01, or the framework's: uniform on +-1/sqrt(features).
        norm: The norm of every row of features.
        batch: How many rows a step sees, an order for each run of models; None for all rows.
    """

    forget_set: Literal["random", "by class"] = "random"
    init: Literal["zero", "gaussian", "uniform"] = "zero"
    norm: float = 10.0
    batch: int | None = None

    @property
    def predictable(self) -> bool:
        """Whether `closeness` describes it: full batches, and a start inside the ball."""
        return self.init != "uniform" and self.batch is None


BASE = Variant()  # random forget set, zero init, features of norm 10, full batch
PAPER = ((10, 12), (15, 7), (20, 2))  # thousands public and forgotten, of 20 thousand retained


@dataclass(frozen=True)
class Point:
    """Counts of records: public, retained private, forgotten."""

    public: int
    retained: int
    forget: int

    @property
    def total(self) -> int:
        """How many records there are in all."""
        return self.public + self.retained + self.forget


def design_points(retained: int) -> list[Point]:
    """The paper's three points, and the six others of the same counts."""
    publics, forgets = zip(*PAPER, strict=True)
    scale = retained / 20
    return [
        Point(round(public * scale), retained, round(forget * scale))
        for public in publics
        for forget in forgets
    ]


def series(retained: int, volumes: tuple[float, ...]) -> list[Point]:
    """Points with the forget set of the middle point and a rising number of public rows."""
    forget = round(PAPER[1][1] * retained / 20)
    return [Point(round(volume * retained), retained, forget) for volume in volumes]


def paper_points(retained: int) -> list[Point]:
    """The paper's three points, in which n_public rises as n_forget falls."""
    return design_points(retained)[:: len(PAPER) + 1]


class Rows(NamedTuple):
    """Features of norm 1 and classes."""

    features: Tensor
    targets: Tensor


@lru_cache(maxsize=8)
def rows_of(pair: str) -> tuple[Rows, Rows, Rows]:
    """Public, private training and private test rows."""
    loaded = load_pair(pair)
    sets = loaded.public, loaded.private.train, loaded.private.test
    return tuple(_unit(rows.features, rows.targets) for rows in sets)  # type: ignore[return-value]


def _unit(features: np.ndarray, targets: np.ndarray) -> Rows:
    rows = torch.from_numpy(features).float()
    return Rows(SAFE * rows / rows.norm(dim=1, keepdim=True), torch.from_numpy(targets))


def problem(
    pair: str, point: Point, variant: Variant, chain: Chain, *, split: int, seed: int = 0
) -> Problem:
    """Build the sampling problem of one split of a pair at one point.

    Raises:
        ValueError: fewer private records than the point asks for.
    """
    public, private, _ = rows_of(pair)
    if point.retained + point.forget > len(private.targets):
        raise ValueError(f"{pair}: {point} asks for more than {len(private.targets)} private rows")
    rng = np.random.default_rng([seed, split])
    there, order = rng.permutation(len(public.targets)), rng.permutation(len(private.targets))
    if variant.forget_set == "by class":
        rank = rng.permutation(int(private.targets.max()) + 1)
        order = order[np.argsort(rank[private.targets.numpy()[order]], kind="stable")]
    here = np.concatenate([order[: point.forget], order[len(order) - point.retained :]])
    again = there[np.arange(point.public) % len(there)]
    batch = None
    if variant.batch is not None:
        batch = IndependentBatches(min(variant.batch, point.total - point.forget), 8)
    return Problem(
        loss=Softmax(int(private.targets.max()) + 1, l2=0.0, row_norm=variant.norm),
        private=(variant.norm * private.features[here], private.targets[here]),
        public=(variant.norm * public.features[again], public.targets[again]),
        forget=torch.arange(point.forget),
        step_size=chain.step_size,
        sigma=chain.sigma,
        learn_steps=chain.learn_steps,
        radius=chain.radius,
        init=INITS[variant.init],
        batch=batch,
    )


def closeness(task: Problem, unlearn_steps: int) -> dict[str, float]:
    """D_2 predicted, the squared shift of the means, and how far the ball is (in std)."""
    heads = Heads(task, unlearn_steps)
    moved = heads.retrained.mean - heads.unlearned.mean
    value = heads.mean_part(solve(heads.metric(2.0), moved, CLOSE), 2.0)
    return {"value": value, "shift": float(moved @ moved), "room": heads.closest_to_the_ball()}


def direction(task: Problem, unlearn_steps: int) -> Tensor:
    """The best linear test by the noise-free paths on full batches: no model is looked at."""
    return Heads(replace(task, batch=None), unlearn_steps).direction(2.0)


def certificate(variant: Variant, point: Point, chain: Chain, classes: int, k: int) -> GDP:
    """The guarantee of the shift bound, for full batches only (E35), without the ball.

    The ball never binds.
    """
    history = learn_unlearn(
        learn_steps=chain.learn_steps,
        unlearn_steps=k,
        step_size=chain.step_size,
        sigma=chain.sigma,
        samples=point.total,
        forgotten=point.forget,
    )
    return shift.bound(Softmax(classes, l2=0.0, row_norm=variant.norm).assumptions(), history)


def certified_divergence(
    variant: Variant, point: Point, chain: Chain, classes: int, k: int
) -> float:
    """The largest D_2 that the shift bound allows."""
    return certificate(variant, point, chain, classes, k).renyi(2.0)
