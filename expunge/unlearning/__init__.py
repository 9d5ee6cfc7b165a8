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
    "CertifiedClassifier": "linear.estimator",
    "CertifiedPipeline": "linear.pipeline",
    "CertifiedRegressor": "linear.estimator",
    "Clipped": "networks.clipped",
    "Cyclic": "schemes",
    "FullBatch": "schemes",
    "Head": "networks.head",
    "HeadFinetune": "networks.finetune",
    "Langevin": "linear.langevin",
    "NetworkLangevin": "networks.langevin",
    "NoiseFirst": "linear.langevin",
    "PoissonBatch": "schemes",
    "Residual": "linear.residual",
    "Retrain": "linear.retrain",
    "RetrainNetwork": "networks.retrain",
    "TorchUnlearner": "networks.unlearner",
    "Training": "networks.training",
    "load": "linear.pipeline",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"expunge.unlearning.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'expunge.unlearning' has no attribute {name!r}")
