"""Small problems, requests in a row on them, and the minimiser at 50 digits."""

import math
from dataclasses import dataclass, replace

import mpmath
import numpy as np
import torch

from expunge.losses import Logistic, Softmax, Squared
from expunge.losses.objective import Objective
from expunge.losses.row_terms import RowTerms
from expunge.losses.solver import solve
from expunge.losses.tolerances import Resolution, solution_norm
from expunge.unlearning.linear.anchor import Anchor
from expunge.unlearning.linear.newton_step import newton_step

DIGITS = 50


@dataclass
class Deletions:
    """A problem, the place of its anchor, and requests: lists of (row, joins).

    Args:
        present: (rows,) which rows are there at the anchor.
        divisor: nbar; the rows present if None.
        intercept: The last feature is the same in every row, and within `newton_step`'s bound.
        drawn: What kind of problem it is, in words.
    """

    loss: object
    features: torch.Tensor
    targets: torch.Tensor
    present: torch.Tensor
    requests: list
    center: torch.Tensor | None = None
    divisor: float | None = None
    intercept: bool = False
    drawn: tuple[str, ...] = ()

    @property
    def terms(self):
        reach = solution_norm(self.loss, self.center, 1e-3)
        return RowTerms(self.loss, self.features.shape[1], reach)

    def objective(self, present):
        return Objective(
            self.loss, self.features, self.targets, present, self.divisor, center=self.center
        )

    def step(self, anchor):
        """The Newton step from an anchor of this problem, with its bound."""
        return newton_step(
            anchor,
            self.terms,
            center=self.center,
            intercept=self.intercept,
            divisor=self.divisor,
        )

    def anchor(self):
        """At the minimiser, or as near to it as rounding allows."""
        objective = self.objective(self.present)
        start = torch.zeros(objective.shape, dtype=torch.float64)
        width = self.features.shape[1]
        least = Resolution(self.loss, objective.rows, width, self.center).least_tolerance()
        point = solve(objective, start, tolerance=max(1e-9, least), gram=objective.gram())
        places = int(self.present.nonzero().sum())
        return Anchor.at(point, self.terms, objective, places, made=0)

    def states(self):
        """After each request: the anchor, and which rows are there."""
        anchor, present = self.anchor(), self.present.clone()
        for request in self.requests:
            for joins in (True, False):
                rows = [row for row, comes in request if comes == joins]
                anchor = anchor.moved(rows, self.terms, self.features, self.targets, joining=joins)
                present[rows] = joins
            yield anchor, present.clone()


def random_deletions(seed, kind=None, requests=None):
    """Any of the losses, at most 8 numbers, duplicates, equal columns, separable labels."""
    rng = np.random.default_rng(seed)
    kind = kind or rng.choice(["logistic", "softmax", "squared"])
    outputs = int(rng.integers(2, 4)) if kind == "softmax" else 1
    width = int(rng.integers(1, 8 // outputs + 1))
    count = int(rng.choice([12, 40, 120, 260], p=[0.3, 0.4, 0.2, 0.1]))
    l2, bound = 10.0 ** rng.uniform(-4, -0.5), float(rng.choice([1.0, 0.3, 5.0]))
    loss = {
        "logistic": Logistic(l2 * bound**2, bound),
        "softmax": Softmax(outputs, l2 * bound**2, bound),
        "squared": Squared(l2 * bound**2, bound, target_norm=2.0),
    }[kind]
    drawn = [str(kind)]
    rows = _rows(rng, count, width, bound, drawn)
    rule = rng.standard_normal((width, outputs)) * 5 / bound
    noisy = rng.random() < 0.6
    drawn += [] if noisy else ["separable"]
    scores = rows @ rule + (rng.gumbel(size=(count, outputs)) if noisy else 0)
    targets = {"logistic": scores[:, 0] > 0, "softmax": scores.argmax(1), "squared": scores[:, 0]}
    late = rng.random(count) < rng.choice([0.0, 0.2])
    late[:3] = False
    center = torch.from_numpy(rng.standard_normal((outputs, width))) if rng.random() < 0.3 else None
    divisor = float(count) if rng.random() < 0.2 else None
    drawn += [
        name for name, value in (("center", center), ("divisor", divisor)) if value is not None
    ]
    problem = Deletions(
        loss,
        torch.from_numpy(rows),
        torch.from_numpy(targets[kind].astype(float if kind == "squared" else np.int64)),
        torch.from_numpy(~late),
        [],
        center,
        divisor,
        "intercept" in drawn,
    )
    order = _order(rng, problem, np.flatnonzero(~late), drawn)
    most = min(len(order) - 2, 200 if requests is None else requests)
    asked = [[(int(row), False)] for row in order[: rng.integers(1, most + 1)]]
    for row in np.flatnonzero(late):
        asked[rng.integers(len(asked))].append((int(row), True))
    drawn += ["insertions"] if late.any() else []
    return replace(problem, requests=asked, drawn=tuple(drawn))


def _rows(rng, count, width, bound, drawn):
    rows = rng.standard_normal((count, width))
    if rng.random() < 0.3 and width > 1:
        rows[:, -1] = rows[:, 0]
        drawn.append("rank deficient")
    if rng.random() < 0.3:
        rows[count // 2 :] = rows[: count - count // 2]
        drawn.append("duplicates")
    norms = np.linalg.norm(rows, axis=1)[:, None]
    rows *= bound * (1 - 1e-12) / np.maximum(norms, rng.choice([1e-9, 2.0]))
    if rng.random() < 0.3:
        rows = np.hstack([rows[:, :-1], np.full((count, 1), bound)]) / math.sqrt(2) * (1 - 1e-12)
        drawn.append("intercept")
    return rows


def _order(rng, problem, rows, drawn):
    """Rows in the order in which they leave."""
    kind = rng.choice(["random order", "most influential first", "all one way"])
    drawn.append(str(kind))
    if kind == "random order":
        return rng.permutation(rows)
    anchor = problem.anchor()
    objective = replace(problem.objective(problem.present), divisor=float(anchor.rows))
    hessian = _hessian(objective, anchor.point)
    scores = problem.features @ anchor.point.T
    residuals = problem.loss.residual(scores, problem.targets).numpy()
    gradients = residuals[:, :, None] * problem.features.numpy()[:, None, :]
    moves = np.linalg.solve(hessian, gradients[rows].reshape(len(rows), -1).T).T
    sizes = np.linalg.norm(moves, axis=1)
    along = sizes if kind == "most influential first" else moves @ moves[sizes.argmax()]
    return rows[np.argsort(-along, kind="stable")]


def optimum(deletions, present, near):
    """The minimiser of the rows present, at 50 digits, as a list of numbers.

    Corrections by a float64 Hessian to a gradient at 50 digits, until it is below 1e-40 times the
    ridge: the minimiser is then closer than 1e-40.
    """
    loss, center = deletions.loss, deletions.center
    objective = deletions.objective(present)
    least = Resolution(loss, objective.rows, objective.shape[1], center).least_tolerance()
    near = solve(objective, near, tolerance=max(1e-9, least), gram=objective.gram())
    hessian = _hessian(objective, near)
    where = present.nonzero()[:, 0]
    with mpmath.workdps(DIGITS):
        rows = [[mpmath.mpf(v) for v in row] for row in deletions.features[where].tolist()]
        targets = deletions.targets[where].tolist()
        pull = [mpmath.mpf(0)] * near.numel() if center is None else _exact(center)
        theta = _exact(near)
        for _ in range(200):
            gradient = _gradient(loss, theta, pull, rows, targets, objective.nbar)
            norm = mpmath.norm(gradient)
            if norm < loss.l2 * mpmath.mpf(10) ** -40:
                return theta
            scale = norm  # the correction in float64, whatever the gradient's size
            unit = np.array([float(each / scale) for each in gradient])
            step = np.linalg.solve(hessian, unit)
            theta = [t - scale * mpmath.mpf(float(s)) for t, s in zip(theta, step, strict=True)]
    raise AssertionError("the optimum was not found")


def distance(theta, truth):
    with mpmath.workdps(DIGITS):
        return mpmath.norm([a - b for a, b in zip(_exact(theta), truth, strict=True)])


def _exact(tensor):
    return [mpmath.mpf(value) for value in tensor.ravel().tolist()]


def _hessian(objective, theta):
    product, size = objective.hessian_product(theta, torch.float64), theta.numel()
    units = torch.eye(size, dtype=torch.float64).reshape(size, *theta.shape)
    return torch.stack([product(unit).ravel() for unit in units]).numpy()


def _gradient(loss, theta, pull, rows, targets, nbar):
    width = len(rows[0])
    total = [mpmath.mpf(0)] * len(theta)
    for row, target in zip(rows, targets, strict=True):
        scores = [mpmath.fdot(theta[a * width : (a + 1) * width], row) for a in range(loss.outputs)]
        for a, residual in enumerate(_residuals(loss, scores, target)):
            for j, value in enumerate(row):
                total[a * width + j] += residual * value
    return [g / nbar + loss.l2 * (t - c) for g, t, c in zip(total, theta, pull, strict=True)]


def _residuals(loss, scores, target):
    if isinstance(loss, Squared):
        return [scores[0] - mpmath.mpf(min(max(target, -loss.target_norm), loss.target_norm))]
    if isinstance(loss, Logistic):
        return [1 / (1 + mpmath.exp(-scores[0])) - (target > 0)]
    powers = [mpmath.exp(score - max(scores)) for score in scores]
    total = sum(powers)
    return [power / total - (a == target) for a, power in enumerate(powers)]
