"""What unlearning costs on private test data, and what the mismatch of public data allows it to.

    cost = mean over unlearned models of their test loss - mean over retrained ones

with its sign: below 0 the unlearned models are better (E37). Its standard error is over models,
paired where model i of both laws shares its noise. The bound beside it is
[prop:unlearning_da_risk] with the exact factor and with the paper's (E28), from an estimated
D_infinity: an estimate went into it, so it is not a certificate.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from expunge.accounting.generalisation import (
    RiskBound,
    mismatch_factor,
    mismatch_factor_paper,
    public_weight,
)
from expunge.core.checks import flag, instance
from expunge.core.checks import share as share_of
from expunge.divergence.mismatch import DensityRatio

__all__ = ["Cost", "cost", "private_risk"]

TILE = 256  # models whose scores are held at once


@dataclass(frozen=True)
class Cost:
    """What unlearning costs on test data, compared with retraining.

    Args:
        unlearned, retrained: Mean over models of their mean loss on the test rows.
        difference: unlearned - retrained, signed.
        standard_error: Of the difference, over models; the test rows stay.
        accuracy: Of unlearned and of retrained models.
    """

    unlearned: float
    retrained: float
    difference: float
    standard_error: float
    accuracy: tuple[float, float]

    @property
    def relative(self) -> float:
        """The difference as a share of the retrained loss, signed."""
        return self.difference / self.retrained


def cost(
    loss: Any,
    features: Tensor,
    targets: Tensor,
    *,
    unlearned: Tensor,
    retrained: Tensor,
    coupled: bool = False,
) -> Cost:
    """Compare the test loss of unlearned heads with that of retrained ones.

    Args:
        loss: Of linear heads.
        features, targets: Private rows that no model saw.
        unlearned, retrained: Stacked heads (models, outputs, features).
        coupled: Whether model i of both shares its noise.

    Raises:
        ValueError: coupled ensembles of different sizes, or a single model.
    """
    flag("coupled", coupled)
    for name, models in (("unlearned", unlearned), ("retrained", retrained)):
        if instance(Tensor, "a tensor of stacked heads")(name, models).ndim != 3:
            raise ValueError(f"{name}: must be (models, outputs, features)")
    if min(len(unlearned), len(retrained)) < 2:
        raise ValueError("unlearned and retrained: at least two models of each")
    if coupled and len(unlearned) != len(retrained):
        raise ValueError(f"pairs: {len(unlearned)} and {len(retrained)} models do not match")
    (first, hits), (second, others) = (
        _test(loss, features, targets, models) for models in (unlearned, retrained)
    )
    difference = float(first.mean() - second.mean())
    variances = [values.var() / len(values) for values in (first, second)]
    error = (first - second).var() / len(first) if coupled else sum(variances)
    return Cost(
        float(first.mean()),
        float(second.mean()),
        difference,
        math.sqrt(float(error)),
        (hits, others),
    )


def private_risk(
    ratio: DensityRatio,
    bound: RiskBound,
    *,
    public: int,
    retained_private: int,
    share: float = 0.99,
) -> dict[str, float]:
    """[prop:unlearning_da_risk] on the private distribution, at the estimated D_infinity.

    "any mismatch" needs no estimate: the factor is at most (n_pub + n_r-priv)/n_r-priv.
    """
    share_of("share", share)
    weight = public_weight(public=public, retained_private=retained_private)
    divergence = ratio.d_infinity(share).value
    factors = {
        "exact": mismatch_factor(weight, divergence),
        "paper": mismatch_factor_paper(weight, divergence),
        "any mismatch": mismatch_factor(weight, math.inf),
    }
    risks = {name: bound.private(factor) for name, factor in factors.items()}
    return {"d_infinity": divergence, "public_weight": weight, **risks}


def _test(loss: Any, features: Tensor, targets: Tensor, models: Tensor) -> tuple[Tensor, float]:
    """Test models: the mean loss of each (models,), and the accuracy over all of them."""
    values, hits = [], 0.0
    for part in models.to(features.dtype).split(TILE):
        scores = features @ part.transpose(1, 2)  # (models, rows, outputs)
        values.append(loss.value(scores, targets).double().mean(1))
        guess = scores.argmax(-1) if scores.shape[-1] > 1 else (scores[..., 0] > 0).long()
        right = targets if scores.shape[-1] > 1 else (targets > 0).long()
        hits += float((guess == right).double().mean(1).sum())
    return torch.cat(values), hits / len(models)
