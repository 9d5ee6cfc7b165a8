"""Learning rehearsed on public records: how good these settings are before private records count.

Half of the public records are learned from, the other half is held out. Without noise that is the
public-only model, the yardstick. Noisy steps are the fit's own: as many, as long, in the same ball,
with noise for all of its records, private ones included; only the gradients are those of public
records. So the figures say what the noise costs, and nothing about any private record. Nothing of a
rehearsal is handed out; its noise is seeded, and the same in every run.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from expunge.core.projection import l2_ball
from expunge.core.randomness import normal_source
from expunge.core.row_products import add_pull, products
from expunge.core.sparse_rows import SparseRows
from expunge.errors import InvalidInput
from expunge.losses.linear import LinearLoss
from expunge.sampling import pngd
from expunge.unlearning.linear.langevin import Langevin, setting_of
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.linear.public_folds import SEED, deal_folds, learn, parts_of, take_evenly

__all__ = ["FEWEST", "Rehearsal"]

FEWEST = 400  # public records, half of them held out: a share of right labels is known to 0.035
MOST = 1024  # of them that take part
DRAWS = 4  # models of each noise
STREAM = "rehearsal on public records"


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """Two halves of a job's public records.

    Args:
        learned, held: Rows, scaled to their bound and with the intercept, and targets.
    """

    job: LinearJob
    learned: tuple[Tensor | SparseRows, Tensor]
    held: tuple[Tensor | SparseRows, Tensor]

    @classmethod
    def of(cls, job: LinearJob) -> "Rehearsal":
        """The halves of a job's public records.

        Raises:
            InvalidInput: too few of them, or a user's loss, which may not take several models.
        """
        public = job.roster.public
        if public < FEWEST:
            problem = f"{public} are too few to rehearse on; at least {FEWEST} are needed"
            raise InvalidInput("public", problem)
        if job.loss.mark == "assumed":
            raise InvalidInput("loss", "a declared loss cannot be rehearsed")
        places = torch.from_numpy(take_evenly(public, MOST))
        rows = job.features[places].to(torch.float32).cpu()
        targets = job.targets[places].cpu()
        labels = not targets.is_floating_point()
        fold = deal_folds(targets.numpy(), 2, classes=labels)
        learned, held = next(iter(parts_of(fold)))
        return cls(job, *((rows[side], targets[side]) for side in (learned, held)))

    @property
    def measure(self) -> str:
        """What scores are: a share of right labels, or of the targets' variance explained."""
        return "R2" if self.learned[1].is_floating_point() else "accuracy"

    @cached_property
    def public_only(self) -> float:
        """The score of the model that the learned half alone makes, without noise."""
        return float(self._scores(self._minimiser[None])[0])

    @cached_property
    def constant(self) -> float:
        """The score of the learned half's most frequent label, or of its mean."""
        known, held = self.learned[1], self.held[1]
        if held.is_floating_point():
            return 0.0
        return float((held == known.mode().values).float().mean())

    def standard_error(self, score: float) -> float:
        """Of a score, by the number of rows held out.

        sqrt(p (1 - p)/n) of a share, and 2 sqrt(R2) (1 - R2)/sqrt(n) of an R2 in large samples.
        """
        inside = min(max(score, 0.0), 1.0)
        spread = math.sqrt(inside * (1 - inside))
        if self.measure == "R2":
            spread = 2 * math.sqrt(inside) * (1 - inside)
        return spread / math.sqrt(len(self.held[1]))

    def noisy(self, strategy: Langevin, sigmas: Sequence[float]) -> list[float]:
        """The mean score after the strategy's learning steps, for each sigma."""
        setting = setting_of(self.job, strategy, 1)
        radius = setting.assumptions.radius
        assert radius is not None
        each = torch.tensor(sigmas).repeat_interleave(DRAWS)[:, None, None]
        kernel = pngd.build(
            self._gradient, step_size=setting.step_size, sigma=1.0, project=l2_ball(radius)
        )
        draw = normal_source(SEED, STREAM)
        stacked = (self._start - self._origin).float().expand(len(each), -1, -1)
        for index in range(setting.learn_steps):
            noise = draw(stacked[:DRAWS]).repeat(len(sigmas), 1, 1)  # the same for every sigma
            stacked = kernel.step(stacked, index, lambda _, noise=noise: each * noise)
        return self._scores(stacked + self._origin).reshape(-1, DRAWS).mean(1).tolist()

    def _gradient(self, stacked: Tensor, _index: int) -> Tensor:
        """Of models (models, outputs, features), seen from the ridge's center."""
        (rows, targets), loss = self.learned, self.job.loss
        at = (stacked + self._origin).float()
        residual = loss.residual(_scores_of(rows, at), targets)  # (models, rows, outputs)
        return _pulls_of(rows, residual) / len(rows) + loss.l2 * stacked

    def _scores(self, stacked: Tensor) -> Tensor:
        """The score of each model on the rows held out: (models,)."""
        rows, targets = self.held
        scores = _scores_of(rows, stacked.float())
        if not targets.is_floating_point():
            return (_labels(self.job.loss, scores) == targets).double().mean(1)
        spread = (targets - targets.mean()).square().mean().clamp_min(1e-300)
        return 1 - (scores[..., 0] - targets).square().mean(1) / spread

    @cached_property
    def _minimiser(self) -> Tensor:
        return learn(self.job.loss, *self.learned)

    @property
    def _start(self) -> Tensor:
        """Where descent begins: what the learned half gives, in place of all public records."""
        return self.job.origin if self.job.start is None else self._minimiser

    @property
    def _origin(self) -> Tensor:
        return self.job.origin if self.job.center is None else self._minimiser


def _scores_of(rows: Tensor | SparseRows, stacked: Tensor) -> Tensor:
    """The scores of rows under each model: (models, rows, outputs)."""
    if isinstance(rows, SparseRows):
        return torch.stack([products(rows, each) for each in stacked])
    return rows @ stacked.transpose(1, 2)


def _pulls_of(rows: Tensor | SparseRows, residual: Tensor) -> Tensor:
    """The sum of the rows times their residuals: (models, outputs, features)."""
    if not isinstance(rows, SparseRows):
        return residual.transpose(1, 2) @ rows
    pulls = residual.new_zeros(len(residual), residual.shape[2], rows.shape[1])
    for total, each in zip(pulls, residual, strict=True):
        add_pull(total, each, rows)
    return pulls


def _labels(loss: LinearLoss, scores: Tensor) -> Tensor:
    return (scores[..., 0] > 0).long() if loss.outputs == 1 else scores.argmax(-1)
