"""Rényi divergences from samples of models: estimates with intervals, never certificates.

The direction is always D_order(of || against); the paper's figures are of=retrained,
against=unlearned.
"""

from expunge.divergence.estimate import Estimate
from expunge.divergence.lower_estimates import on_probes
from expunge.divergence.mismatch import density_ratio
from expunge.divergence.rule import renyi_estimate

__all__ = ["Estimate", "density_ratio", "on_probes", "renyi_estimate"]
