"""The worst case of noisy descent that a certificate must survive, built on purpose.

A problem of the same constants in which the forgotten records, the canaries, are all alike and the
others sit at the origin, so that nothing but the ridge works against their pull. With a fixed
normaliser this reaches sqrt((1 - 1/classes)/2) of the bound for softmax and 1/2 for two classes, as
long as the noise hides what was learned; with the mean's half of that, because the bound allows for
others that pull the opposite way for ever. More features would only let the noise fill the ball,
whose projection forgets by itself.

For audits of one's own model; nothing here is ever released.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from expunge.accounting.bounds import GDP, shift
from expunge.accounting.setting import Setting
from expunge.losses import Softmax, Squared
from expunge.losses.linear import LinearLoss
from expunge.sampling import Problem, Zero, sample_ensemble
from expunge.sampling.chain import Regime

__all__ = ["WorstDescent"]

PAIRS = 400  # that measure what canaries reach


@dataclass(frozen=True)
class WorstDescent:
    """Noisy descent with a fitted model's constants, on the worst records there could be.

    Args:
        loss: The model's.
        setting: Counts, constants and steps; `forget` of all records are the canaries.
        sigma: What is claimed to be drawn.
    """

    loss: LinearLoss
    setting: Setting
    sigma: float

    @property
    def direction(self) -> Tensor:
        """The direction in which the canaries pull, before anything is learned."""
        zero = torch.zeros(1, self.loss.outputs, dtype=torch.float64)
        return -self.loss.residual(zero, self._targets[:1]).reshape(-1)

    @property
    def _targets(self) -> Tensor:
        rows = self.setting.private
        if isinstance(self.loss, Softmax):
            return torch.zeros(rows, dtype=torch.long)
        largest = self.loss.target_norm if isinstance(self.loss, Squared) else 1.0
        return torch.full((rows,), largest, dtype=torch.float64)

    def certified(self, unlearn_steps: int) -> GDP:
        history = self.setting.history(self.sigma, unlearn_steps)
        return shift.bound(self.setting.assumptions, history)

    def drawn(
        self,
        regimes: Sequence[Regime],
        unlearn_steps: int,
        *,
        models: int,
        seed: int,
        noise: float = 1.0,
        coupled: bool = False,
    ) -> list[Tensor]:
        """Models of each regime: (models, outputs).

        Args:
            noise: A factor on what is drawn; anything but 1 is a fault.
        """
        setting = self.setting
        features = torch.zeros(setting.private, 1, dtype=torch.float64)
        features[: setting.forget] = self.loss.row_norm
        problem = Problem(
            loss=self.loss,
            private=(features, self._targets),
            public=None,
            forget=range(setting.forget),
            step_size=setting.step_size,
            sigma=self.sigma * noise,
            learn_steps=setting.learn_steps,
            radius=setting.assumptions.radius,
            init=Zero(),
        )
        ensembles = sample_ensemble(
            problem,
            regimes,
            (unlearn_steps,),
            models=models,
            seed=seed,
            coupled=coupled,
            block=models,
        )
        points = [(name, 0 if name == "learned" else unlearn_steps) for name in regimes]
        return [ensembles[point].weights.reshape(models, -1) for point in points]

    def reached(self, unlearn_steps: int, noise: float = 1.0) -> float:
        """mu along the direction, by pairs with the same noise."""
        both = self.drawn(
            ("unlearned", "retrained"),
            unlearn_steps,
            models=PAIRS,
            seed=0,
            noise=noise,
            coupled=True,
        )
        unit = self.direction / self.direction.norm()
        first, second = (models.double() @ unit for models in both)
        return abs(float((first - second).mean())) / float(second.std())
