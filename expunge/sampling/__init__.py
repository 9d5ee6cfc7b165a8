"""Markov kernels, one in each file, and ensembles of the models they sample."""

from expunge.sampling import batches, pngd
from expunge.sampling.engines import Local
from expunge.sampling.ensembles import Ensemble, sample_ensemble
from expunge.sampling.networks import Network
from expunge.sampling.problem import (
    DefaultUniform,
    Gaussian,
    IndependentBatches,
    NoBatches,
    Problem,
    SharedBatches,
    Zero,
)
from expunge.sampling.ray_engine import Ray
from expunge.sampling.recurrent import LSTMClassifier, Recurrent

__all__ = [
    "DefaultUniform",
    "Ensemble",
    "Gaussian",
    "IndependentBatches",
    "LSTMClassifier",
    "Local",
    "Network",
    "NoBatches",
    "Problem",
    "Ray",
    "Recurrent",
    "SharedBatches",
    "Zero",
    "batches",
    "pngd",
    "sample_ensemble",
]
