"""Tensors and randomness: rows, projections, release noise. Knows no loss and no certificate."""

from expunge.core import projection, randomness, release, rows

__all__ = ["projection", "randomness", "release", "rows"]
