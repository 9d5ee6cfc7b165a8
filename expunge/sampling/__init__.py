"""Markov kernels, one in each file: learning, unlearning and retraining are the same step."""

from expunge.sampling import batches, pngd

__all__ = ["batches", "pngd"]
