"""Rows, projections, randomness, release noise, files. Knows no loss and no certificate."""
