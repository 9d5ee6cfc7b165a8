"""What the parameters of `TorchUnlearner` may be; looked at when it is made."""

from typing import Any

from torch import nn

from expunge.core.checks import Rule, check_values, function, instance, optional
from expunge.unlearning.linear.estimator_parameters import RULES as ESTIMATORS
from expunge.unlearning.networks.retrain import RetrainNetwork

__all__ = ["RULES", "check_unlearner"]


RULES: dict[str, Rule] = {
    "model": instance(nn.Module, "an nn.Module"),
    "loss": function,
    "head": optional(instance(str, "the name of a layer")),
    "retraining": optional(instance(RetrainNetwork, "a RetrainNetwork record")),
} | {
    name: ESTIMATORS[name]
    for name in ("epsilon", "observer", "released", "random_state", "device", "adaptive_requests")
}


def check_unlearner(**given: Any) -> None:
    """Every parameter but delta and strategy, which their own records look at.

    Raises:
        ValueError: the first that makes no sense, in one line.
    """
    check_values(given, **{name: RULES[name] for name in given})
