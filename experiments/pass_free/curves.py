"""How far a Newton step from an anchor is proven to be, and is, as records leave.

The anchor's sums are exact, so what is proven once so many records are gone does not depend on how
many requests took them: one curve over records gone answers for requests of every size.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from experiments.pass_free.problems import Problem
from experiments.pass_free.settings import Settings
from expunge.accounting.conversions import gdp_for_epsilon
from expunge.losses.objective import Objective
from expunge.losses.row_terms import RowTerms
from expunge.losses.solver import solve
from expunge.losses.tolerances import Resolution, solution_norm
from expunge.unlearning.linear.anchor import Anchor
from expunge.unlearning.linear.newton_step import newton_step

__all__ = ["Start", "noise_std"]

ROUNDS = 12  # of Newton's method at most, for the true minimiser
BLOCK = 65_536


class Start:
    """A solved problem with its anchor: where every curve begins."""

    def __init__(self, problem: Problem, l2: float) -> None:
        self.problem, self.loss = problem, problem.loss(l2)
        self.objective = Objective(self.loss, problem.features, problem.targets)
        rows, width = problem.features.shape
        least = Resolution(self.loss, rows, width).least_tolerance()
        origin = torch.zeros(self.objective.shape, dtype=torch.float64)
        tolerance = max(1e-9, least)
        gram = self.objective.gram()
        point = solve(self.objective, origin, tolerance=tolerance / 2, gram=gram)
        self.terms = RowTerms(self.loss, width, solution_norm(self.loss, None, tolerance))
        self.anchor = Anchor.at(point, self.terms, self.objective, rows * (rows - 1) // 2, 0)
        hessian = self.anchor.hessian.value(self.terms.root_unit**2) / rows
        hessian.diagonal().add_(l2)
        self.factor = torch.linalg.cholesky(hessian)

    def curve(self, order: np.ndarray, settings: Settings) -> Iterator[dict[str, Any]]:
        """Bound, and at some points truth and accuracies, as records leave in this order."""
        anchor, gone = self.anchor, 0
        problem = self.problem
        for records in places(len(order), settings):
            leaving = order[gone:records].tolist()
            anchor = anchor.moved(leaving, self.terms, problem.features, problem.targets)
            gone = records
            step = newton_step(anchor, self.terms, intercept=True)
            found: dict[str, Any] = {"gone": records, "bound": _finite(step.distance)}
            within = step.distance <= settings.default
            if records in settings.compared and within:
                found |= self.truth(order[:records], step.theta, settings)
            yield found
            if not step.distance <= max(settings.distances):
                return

    def truth(self, gone: np.ndarray, theta: Tensor, settings: Settings) -> dict[str, Any]:
        """The distance from the exact minimiser without these, and accuracies of both."""
        keep = torch.ones(len(self.problem.features), dtype=torch.bool)
        keep[torch.from_numpy(gone)] = False
        objective = Objective(self.loss, self.problem.features, self.problem.targets, keep)
        exact, error = self.minimiser(objective, theta)
        released = noisy(theta, settings.default, settings)
        accuracies = [self.problem.accuracy(each) for each in released]
        return {
            "truth": float((theta - exact).norm()),
            "truth_error": error,
            "retrained": self.problem.accuracy(exact),
            "released": float(np.mean(accuracies)),
            "released_spread": float(np.std(accuracies, ddof=1)),
        }

    def minimiser(self, objective: Objective, theta: Tensor) -> tuple[Tensor, float]:
        """The minimiser by Newton's method with the anchor's factor, and how far it may be off.

        The error is the gradient's norm, as computed, over the ridge.
        """
        best, least = theta, float("inf")
        for _ in range(ROUNDS):
            gradient = objective.gradient(theta)
            norm = float(gradient.norm())
            if not norm < least / 2:
                break
            best, least = theta, norm
            move = torch.cholesky_solve(gradient.reshape(-1, 1), self.factor)
            theta = theta - move.reshape(theta.shape)
        return best, least / self.loss.l2

    def most_influential(self, count: int) -> np.ndarray:
        """The records whose removal would move the minimiser most, by one Newton step."""
        problem, sizes = self.problem, []
        for start in range(0, len(problem.features), BLOCK):
            rows = problem.features[start : start + BLOCK].double()
            scores = rows @ self.anchor.point.T
            residuals = self.loss.residual(scores, problem.targets[start : start + BLOCK])
            for part, those in zip(residuals.split(2048), rows.split(2048), strict=True):
                gradients = (part[:, :, None] * those[:, None, :]).flatten(1)
                sizes.append(torch.cholesky_solve(gradients.T, self.factor).norm(dim=0))
        largest = torch.cat(sizes).topk(count)
        return largest.indices.numpy()

    def accuracies(self, settings: Settings) -> Iterator[dict[str, Any]]:
        """Accuracy with the noise of every distance, beside that without noise."""
        exact = self.problem.accuracy(self.anchor.point)
        for distance in settings.distances:
            found = [
                self.problem.accuracy(each)
                for each in noisy(self.anchor.point, distance, settings)
            ]  # fmt: skip
            yield {
                "distance": distance,
                "without_noise": exact,
                "accuracy": float(np.mean(found)),
                "error": float(np.std(found, ddof=1) / len(found) ** 0.5),
            }


def places(records: int, settings: Settings) -> Sequence[int]:
    """Records gone at the points of a curve: `step` of them for each factor 10, and round ones."""
    decades = np.arange(0, np.log10(max(2, records)), 1 / settings.step)
    known = {round(10**power) for power in decades} | {c for c in settings.compared if c <= records}
    return sorted(known | {records})


def noise_std(distance: float, settings: Settings) -> float:
    """The noise of a release that may be this far from the minimiser."""
    return 2 * distance / gdp_for_epsilon(settings.epsilon, settings.delta)


def noisy(theta: Tensor, distance: float, settings: Settings) -> Iterator[Tensor]:
    """The weights with fresh noise, as many times as asked for."""
    generator = torch.Generator().manual_seed(settings.seed)
    for _ in range(settings.draws):
        noise = torch.randn(theta.shape, generator=generator, dtype=torch.float64)
        yield theta + noise_std(distance, settings) * noise


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
