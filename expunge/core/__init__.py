"""Records, rows, projections, randomness, release noise, files. Knows no loss, no certificate."""
