"""Tensors and randomness: rows, projections, release noise. Knows no loss and no certificate."""
