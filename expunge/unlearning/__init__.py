"""Where tensors meet numbers: strategies that return a model and its certificate together."""

from importlib import import_module
from typing import TYPE_CHECKING

from expunge.errors import NoCertificate

if TYPE_CHECKING:
    from expunge.unlearning.linear.estimator import CertifiedClassifier, CertifiedRegressor
    from expunge.unlearning.linear.langevin import Langevin, NoiseFirst
    from expunge.unlearning.linear.pipeline import CertifiedPipeline, load
    from expunge.unlearning.linear.residual import Residual
    from expunge.unlearning.linear.retrain import Retrain
    from expunge.unlearning.networks.clipped import Clipped
    from expunge.unlearning.networks.finetune import HeadFinetune
    from expunge.unlearning.networks.head import Head
    from expunge.unlearning.networks.langevin import NetworkLangevin
    from expunge.unlearning.networks.retrain import RetrainNetwork
    from expunge.unlearning.networks.training import Training
    from expunge.unlearning.networks.unlearner import TorchUnlearner
    from expunge.unlearning.schemes import Cyclic, FullBatch, PoissonBatch

__all__ = [
    "CertifiedClassifier",
    "CertifiedPipeline",
    "CertifiedRegressor",
    "Clipped",
    "Cyclic",
    "FullBatch",
    "Head",
    "HeadFinetune",
    "Langevin",
    "NetworkLangevin",
    "NoCertificate",
    "NoiseFirst",
    "PoissonBatch",
    "Residual",
    "Retrain",
    "RetrainNetwork",
    "TorchUnlearner",
    "Training",
    "load",
]

# Loaded when asked for: solvers and kernels run where pydantic is not installed.
_HOMES = {
    "linear.estimator": ("CertifiedClassifier", "CertifiedRegressor"),
    "linear.langevin": ("Langevin", "NoiseFirst"),
    "networks.clipped": ("Clipped",),
    "networks.finetune": ("HeadFinetune",),
    "networks.head": ("Head",),
    "networks.langevin": ("NetworkLangevin",),
    "networks.retrain": ("RetrainNetwork",),
    "networks.training": ("Training",),
    "networks.unlearner": ("TorchUnlearner",),
    "linear.pipeline": ("CertifiedPipeline", "load"),
    "linear.residual": ("Residual",),
    "linear.retrain": ("Retrain",),
    "schemes": ("Cyclic", "FullBatch", "PoissonBatch"),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"expunge.unlearning.{home}"), name)
    raise AttributeError(f"module 'expunge.unlearning' has no attribute {name!r}")
