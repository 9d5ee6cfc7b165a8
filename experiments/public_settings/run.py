"""Settings chosen on public records: what the rule loses against the best ridge there is.

The best ridge is found on the private test set, which nobody may do; it is the yardstick. The rule
is `l2="public"` (expunge/unlearning/linear/public_ridge.py): cross-validation on public records,
rescaled to all of them. Beside it: cross-validation without rescaling, and fixed ridges. Models
are without noise, as `residual` learns them; what capacity costs is another page.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from experiments.datasets import load_pair
from experiments.datasets.records import Pair
from experiments.public_settings.settings import Settings, Task
from expunge.core.rows import bounded_rows, public_row_norm
from expunge.losses import Logistic, Softmax
from expunge.losses.linear import LinearLoss
from expunge.unlearning.linear.public_folds import learn
from expunge.unlearning.linear.public_ridge import choose_ridge

__all__ = ["run", "verdicts"]

POINT = 0.01  # of accuracy
Row = dict[str, Any]
Rows = tuple[np.ndarray, np.ndarray]


def run(settings: Settings) -> Row:
    rows = [
        {"pair": task.pair, "public": task.public, "seed": seed, **row}
        for task in settings.tasks
        for seed in range(settings.seeds)
        for row in _tried(settings, task, load_pair(task.pair), seed)
    ]
    result = {"settings": asdict(settings), "rows": rows}
    return result | {"verdicts": verdicts(result)}


def _tried(settings: Settings, task: Task, pair: Pair, seed: int) -> Iterator[Row]:
    """One split, for each way to bound the rows."""
    public, private = _split(settings, task, pair, seed)
    classes = len(pair.private.classes)
    test = pair.private.test.features, pair.private.test.targets
    for row_norm in settings.row_norms:
        bound = public_row_norm(public[0]) if row_norm == "public" else row_norm
        ridge = choose_ridge(
            *public,
            lambda l2, bound: _loss(classes, l2, bound),
            row_norm=row_norm,
            records=len(public[1]) + len(private[1]),
            classes=True,
        )
        of = _Models(classes, bound, public, private, test)
        best = {value * bound**2: of.accuracy(value * bound**2) for value in settings.grid}
        yield {
            "row_norm": row_norm,
            "bound": bound,
            "public_records": len(public[1]),
            "records": ridge.records,
            "best_l2": max(best, key=best.__getitem__),
            "best": max(best.values()),
            "chosen_l2": ridge.l2,
            "chosen": of.accuracy(ridge.l2),
            "not_rescaled": of.accuracy(ridge.cross_validated),
            "fixed": {f"{l2:g}": of.accuracy(l2) for l2 in settings.fixed},
        }


def _split(settings: Settings, task: Task, pair: Pair, seed: int) -> tuple[Rows, Rows]:
    """Public and private rows in a random order."""
    rng, train = np.random.default_rng(seed), pair.private.train
    order = rng.permutation(len(train))[: settings.most]
    count = round(settings.share * len(order))
    public = train.of(order[:count])
    if task.public == "shifted":
        public = pair.public.of(rng.permutation(len(pair.public))[:count])
    private = train.of(order[count:])
    return (public.features, public.targets), (private.features, private.targets)


class _Models:
    """Models of all records, by their ridge; each starts at the one before."""

    def __init__(self, classes: int, bound: float, public: Rows, private: Rows, test: Rows) -> None:
        rows = bounded_rows(np.concatenate([public[0], private[0]]), bound)
        self.classes, self.bound = classes, bound
        self.rows = torch.from_numpy(rows)
        self.targets = torch.from_numpy(np.concatenate([public[1], private[1]]))
        self.test = torch.from_numpy(bounded_rows(test[0], bound)).double()
        self.test_targets = torch.from_numpy(test[1])
        self.theta: Tensor | None = None

    def accuracy(self, l2: float) -> float:
        loss = _loss(self.classes, l2, self.bound)
        self.theta = learn(loss, self.rows, self.targets, start=self.theta)
        scores = self.test @ self.theta.T
        found = (scores[:, 0] > 0).long() if self.classes == 2 else scores.argmax(1)
        return float((found == self.test_targets).double().mean())


def _loss(classes: int, l2: float, bound: float) -> LinearLoss:
    return Logistic(l2, bound) if classes == 2 else Softmax(classes, l2, bound)


def verdicts(result: Row) -> list[dict[str, str]]:
    """By task: what the rule loses, over splits and row norms."""
    statements = []
    for task in result["settings"]["tasks"]:
        rows = of_task(result, task)
        lost = [row["best"] - row["chosen"] for row in rows]
        mean = float(np.mean(lost))
        statements.append(
            {
                "claim": f"{task['pair']}, {task['public']} public records: the rule loses at most "
                "1 point",
                "found": f"{100 * mean:.2f} points on average, {100 * max(lost):.2f} at most",
                "verdict": "holds" if mean <= POINT else "does not hold",
            }
        )
    return statements


def of_task(result: Row, task: Row) -> list[Row]:
    """The rows of a task."""
    return [
        row
        for row in result["rows"]
        if (row["pair"], row["public"]) == (task["pair"], task["public"])
    ]
