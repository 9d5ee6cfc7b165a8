"""What the parameters of `TorchUnlearner` may be; looked at when it is made."""

from typing import Any

from torch import nn

from expunge.core.checks import (
    check_values,
    choice,
    device,
    flag,
    function,
    instance,
    integer,
    optional,
)
from expunge.unlearning.linear.estimator_parameters import target_epsilon
from expunge.unlearning.networks.retrain import RetrainNetwork

__all__ = ["check_unlearner"]


def check_unlearner(**given: Any) -> None:
    """Every parameter but delta and strategy, which their own records look at.

    Raises:
        ValueError: the first that makes no sense, in one line.
    """
    rules = {
        "model": instance(nn.Module, "an nn.Module"),
        "loss": function,
        "head": optional(instance(str, "the name of a layer")),
        "epsilon": target_epsilon,
        "observer": choice("final", "all"),
        "retraining": optional(instance(RetrainNetwork, "a RetrainNetwork record")),
        "released": flag,
        "random_state": optional(integer),
        "device": device,
        "adaptive_requests": flag,
    }
    check_values(given, **{name: rules[name] for name in given})
