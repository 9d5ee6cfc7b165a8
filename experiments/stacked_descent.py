"""`langevin` and `noise_first` for many cells at once: all models are one tensor.

Cells differ in sigma and in which records go, so every run of every cell takes its steps together
with the project's own kernel; sigma comes from the project's accountant (shift bound, rounded
outward) for the very T, K, eta, M, m, L, R and counts that are run.

EXPERIMENT: noise is seeded, and parameters, gradients and noise are float32. The certified
epsilon is that of exact arithmetic; float32's rounding is not charged to it, as the library's own
float64 strategies do for every step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from experiments.deletion_tasks import Division
from experiments.progress import show_progress
from expunge.accounting.calibration import achieved, smallest_sigma
from expunge.accounting.prices import noise_first_price
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta, Observer
from expunge.core.projection import l2_ball
from expunge.core.randomness import normal_source
from expunge.losses import Logistic, Softmax
from expunge.sampling import pngd

__all__ = ["Cell", "Descent", "accuracies", "langevin_cell", "noise_first_cell"]

CHUNK = 2048  # rows of one matrix product


@dataclass(frozen=True)
class Cell:
    """A certified setting: what goes, sigma, and the epsilon that it achieves."""

    division: Division
    epsilon: float
    sigma: float
    certified: float


@dataclass(frozen=True)
class Descent:
    """Noisy descent on one set of rows of norm at most 1; constants as the library states them.

    M = 1 and L = 1/4 + lambda for two classes, sqrt 2 and 1/2 + lambda for more; eta = 1/L; the
    ball has radius M/lambda around the ridge's center, which clean descent never leaves.

    Args:
        center: (outputs, features) of the ridge and of the first step; the origin if None.
    """

    loss: Logistic | Softmax
    rows: Tensor
    labels: Tensor
    learn_steps: int
    seed: int
    center: Tensor | None = None

    @classmethod
    def of(
        cls,
        rows: np.ndarray,
        labels: np.ndarray,
        *,
        classes: int,
        ridge: float,
        learn_steps: int,
        seed: int,
        center: np.ndarray | None = None,
    ) -> "Descent":
        loss = Logistic(ridge) if classes == 2 else Softmax(classes, ridge)
        found = None if center is None else torch.from_numpy(center.astype(np.float32))
        tensors = torch.from_numpy(rows), torch.from_numpy(labels)
        return cls(loss, *tensors, learn_steps, seed, found)

    @property
    def radius(self) -> float:
        return self.loss.lipschitz / self.loss.l2

    @property
    def step_size(self) -> float:
        return 1 / (self.loss.curvature + self.loss.l2)

    @property
    def shape(self) -> tuple[int, int]:
        return self.loss.outputs, self.rows.shape[1]

    def setting(self, division: Division, observer: Observer) -> Setting:
        return Setting(
            self.loss.assumptions(self.radius),
            private=division.private,
            public=division.public,
            forget=division.forget,
            step_size=self.step_size,
            learn_steps=self.learn_steps,
            observer=observer,
        )

    def langevin(
        self, cells: Sequence[Cell], *, runs: int, unlearn_steps: int, title: str
    ) -> Tensor:
        """(cells, runs, outputs, features) after T steps on all records and K on what remains."""
        sigmas = self._sigmas(cells, runs)
        theta = torch.zeros(len(sigmas), *self.shape)
        theta = self._steps(theta, self.learn_steps, sigmas, None, f"{title}: learn")
        weights = self._weights(cells, runs)
        theta = self._steps(theta, unlearn_steps, sigmas, weights, f"{title}: unlearn")
        return self._finished(theta, len(cells))

    def noise_first(
        self, cells: Sequence[Cell], *, runs: int, unlearn_steps: int, title: str
    ) -> Tensor:
        """The same after T clean steps, one noisy step on what remains, and K - 1 clean ones."""
        sigmas, weights = self._sigmas(cells, runs), self._weights(cells, runs)
        theta = self._clean(title).repeat(len(sigmas), 1, 1)
        theta = self._steps(theta, 1, sigmas, weights, f"{title}: noise")
        theta = self._steps(theta, unlearn_steps - 1, None, weights, f"{title}: clean")
        return self._finished(theta, len(cells))

    def without_noise(self, title: str) -> Tensor:
        """(1, 1, outputs, features): what descent would give if nothing had to be forgotten."""
        return self._finished(self._clean(title), 1)

    def _clean(self, title: str) -> Tensor:
        """(1, outputs, features): T steps without noise, seen from the center."""
        start = torch.zeros(1, *self.shape)
        return self._steps(start, self.learn_steps, None, None, f"{title}: learn")

    def _steps(
        self,
        theta: Tensor,
        steps: int,
        sigmas: Tensor | None,
        weights: Tensor | None,
        stream: str,
    ) -> Tensor:
        def gradient(stacked: Tensor, _index: int) -> Tensor:
            return self._gradient(stacked, weights)

        # The kernel's sigma is 1, or 0; each model's own is in the noise that it is handed.
        kernel = pngd.build(
            gradient,
            step_size=self.step_size,
            sigma=0.0 if sigmas is None else 1.0,
            project=l2_ball(self.radius),
        )
        normal = normal_source(self.seed, stream)

        def scaled(like: Tensor) -> Tensor:
            return normal(like) if sigmas is None else sigmas * normal(like)

        for index in show_progress(range(steps), stream):
            theta = kernel.step(theta, index, scaled)
        return theta

    def _gradient(self, stacked: Tensor, weights: Tensor | None) -> Tensor:
        """Of the mean loss over all rows, or over each model's own, plus the ridge.

        Args:
            stacked: (models, outputs, features), seen from the center.
            weights: (rows, models): 1/retained, and 0 for what is gone.
        """
        models, outputs, features = stacked.shape
        at = stacked if self.center is None else stacked + self.center
        flat = at.reshape(models * outputs, features)
        total = torch.zeros_like(flat)
        for start in range(0, len(self.rows), CHUNK):
            some = slice(start, start + CHUNK)
            rows = self.rows[some]
            scores = (rows @ flat.T).reshape(len(rows), models, outputs)
            residual = self.loss.residual(scores, self.labels[some, None])
            if weights is not None:
                residual *= weights[some, :, None]
            total += residual.reshape(len(rows), -1).T @ rows
        if weights is None:
            total /= len(self.rows)
        return total.reshape(stacked.shape) + self.loss.l2 * stacked

    def _weights(self, cells: Sequence[Cell], runs: int) -> Tensor:
        weights = torch.zeros(len(cells), len(self.rows))
        for row, cell in zip(weights, cells, strict=True):
            row[: cell.division.records] = 1 / (cell.division.records - cell.division.forget)
            row[cell.division.gone] = 0
        return weights.T.repeat_interleave(runs, 1)  # (rows, models)

    def _sigmas(self, cells: Sequence[Cell], runs: int) -> Tensor:
        values = torch.tensor([cell.sigma for cell in cells], dtype=torch.float32)
        return values.repeat_interleave(runs)[:, None, None]

    def _finished(self, theta: Tensor, cells: int) -> Tensor:
        if not torch.isfinite(theta).all():
            raise ArithmeticError("a step produced values that are not finite")
        theta = theta if self.center is None else theta + self.center
        return theta.reshape(cells, -1, *self.shape)


def accuracies(theta: Tensor, test: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(cells, runs) of models (cells, runs, outputs, features)."""
    cells, runs, outputs, features = theta.shape
    scores = torch.from_numpy(test) @ theta.reshape(-1, features).T
    scores = scores.reshape(len(test), cells, runs, outputs)
    chosen = scores.argmax(-1) if outputs > 1 else (scores[..., 0] > 0).long()
    right = chosen == torch.from_numpy(labels)[:, None, None]
    return right.double().mean(0).numpy()


def langevin_cell(
    setting: Setting, division: Division, *, epsilon: float, delta: float, unlearn_steps: int
) -> Cell:
    """The least sigma that the accountant accepts for K steps, or for a released base model."""
    target = EpsilonDelta(epsilon, delta)
    sigma = _float32_above(smallest_sigma(setting, target, unlearn_steps=unlearn_steps))
    certified = achieved(setting, target, sigma=sigma, unlearn_steps=unlearn_steps)
    return Cell(division, epsilon, sigma, certified)


def noise_first_cell(
    setting: Setting, division: Division, *, epsilon: float, delta: float, unlearn_steps: int
) -> Cell:
    """The least sigma of the one noisy step."""
    target = EpsilonDelta(epsilon, delta)
    price = noise_first_price(setting, target, unlearn_steps=unlearn_steps)
    assert price.sigma is not None, price.excluded
    assert price.epsilon is not None
    return Cell(division, epsilon, _float32_above(price.sigma), price.epsilon)


def _float32_above(sigma: float) -> float:
    return float(np.nextafter(np.float32(sigma), np.float32(np.inf)))
