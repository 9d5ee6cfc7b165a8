"""What the paper does not name, chosen on public reviews alone: widths, step sizes, a second sigma.

    1. at the grid's `probe` sigma: the shape whose best step size is most accurate
    2. at that shape, for every sigma: its best step size
    3. "learns": the largest sigma that keeps `KEPT` of what models without noise gain over the
       more frequent label; where none does, or they gain less than `GAIN`, the smallest sigma > 0

Accuracy is on public reviews held out of training, after a fixed number of steps. The paper's sigma
is always in the grid and gets its own best step size.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from experiments.reviews_lstm.corpus import Corpus, reviews
from experiments.reviews_lstm.models import Chain, Shape, device, right
from expunge.sampling import IndependentBatches, Problem, sample_ensemble
from expunge.sampling.problem import Records

__all__ = ["GAIN", "KEPT", "PAPER_SIGMA", "Grid", "choice", "search"]

PAPER_SIGMA = 0.1  # sigma^2 = 0.01
KEPT = 0.7
GAIN = 0.02
HELD_OUT = 0.2  # of public reviews
Row = dict[str, Any]


@dataclass(frozen=True)
class Grid:
    """Args:
    probe: The sigma at which shapes are compared.
    models: Of each point.
    """

    shapes: tuple[Shape, ...]
    step_sizes: tuple[float, ...]
    steps: int
    models: int
    sigmas: tuple[float, ...] = (PAPER_SIGMA, 0.03, 0.01, 0.0)
    probe: float = 0.01

    @property
    def points(self) -> int:
        """That a search tries."""
        return (len(self.shapes) + len(self.sigmas) - 1) * len(self.step_sizes)

    def __post_init__(self):
        if not {PAPER_SIGMA, self.probe, 0.0} <= set(self.sigmas):
            raise ValueError("sigmas must hold the paper's, the probe and 0")


def search(
    corpus: Corpus, chain: Chain, grid: Grid, each: Callable[..., Iterable[Row]] = map
) -> Iterator[Row]:
    """Every point that was tried. Args: each: `map`, or that of a pool of processes."""
    work = partial(point, corpus, chain, grid)
    shapes = [(s, step_size, grid.probe) for s in grid.shapes for step_size in grid.step_sizes]
    tried = list(each(work, shapes))
    shape = Shape(**max(tried, key=_accuracy)["shape"])
    others = [sigma for sigma in grid.sigmas if sigma != grid.probe]
    sigmas = [(shape, step_size, sigma) for sigma in others for step_size in grid.step_sizes]
    yield from (*tried, *each(work, sigmas))


def point(corpus: Corpus, chain: Chain, grid: Grid, at: tuple[Shape, float, float]) -> Row:
    """Args: at: Shape, step size and sigma."""
    shape, step_size, sigma = at
    features, targets = reviews(corpus, shape.words).public
    first = round(HELD_OUT * len(targets))
    held = Records(features[:first], targets[:first])
    problem = Problem(
        loss=shape.loss,
        private=Records(features[first:], targets[first:]),
        public=None,
        forget=[],
        step_size=step_size,
        sigma=sigma,
        learn_steps=grid.steps,
        radius=chain.radius,
        batch=IndependentBatches(chain.batch, models_per_order=1),
    )
    found = sample_ensemble(
        problem, ("learned",), (), models=grid.models, device=device(), seed=chain.seed
    )
    accuracy = right(shape.loss, found["learned", 0].weights, held)
    share = float(held.targets.float().mean())
    return {
        "shape": asdict(shape),
        "step_size": step_size,
        "sigma": sigma,
        "accuracy": round(float(accuracy.mean()), 4),
        "majority": round(max(share, 1 - share), 4),
    }


def choice(tried: list[Row], probe: float) -> Row:
    """`shape`, and by arm its `sigma`, `step_size` and `accuracy` on held-out public reviews."""
    shape = max((row for row in tried if row["sigma"] == probe), key=_accuracy)["shape"]
    of_shape = [row for row in tried if row["shape"] == shape]
    best = {
        sigma: max((row for row in of_shape if row["sigma"] == sigma), key=_accuracy)
        for sigma in {row["sigma"] for row in of_shape}
    }
    base = best[0.0]["majority"]
    needed = base + KEPT * (best[0.0]["accuracy"] - base)
    noisy = {sigma: row for sigma, row in best.items() if sigma > 0}
    enough = [sigma for sigma, row in noisy.items() if row["accuracy"] >= needed]
    reached = bool(enough) and best[0.0]["accuracy"] >= base + GAIN
    learns = max(enough) if reached else min(noisy)
    arms = {"paper": best[PAPER_SIGMA], "learns": best[learns], "no noise": best[0.0]}
    kept = ("sigma", "step_size", "accuracy")
    return {
        "shape": shape,
        "majority": base,
        "needed": round(needed, 4),
        "reached": reached,
        **{arm: {name: row[name] for name in kept} for arm, row in arms.items()},
    }


def _accuracy(row: Row) -> float:
    return row["accuracy"]
