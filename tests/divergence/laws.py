"""Gaussian laws with a known D_2, for every estimator."""

import torch


def shifted(count, dimension, divergence, *, seed, rotated=False, dtype=torch.float64):
    """Samples of P and Q with D_2(P || Q) = divergence.

    Args:
        rotated: Eigenvalues from 1 to 100 in random directions, the same for both.
    """
    generator = torch.Generator().manual_seed(seed)
    samples = torch.randn(2, count, dimension, generator=generator, dtype=dtype)
    samples[0, :, 0] += divergence**0.5
    if rotated:
        matrix = torch.randn(dimension, dimension, generator=generator, dtype=torch.float64)
        directions = torch.linalg.qr(matrix)[0].to(dtype)
        scales = torch.linspace(1, 100, dimension, dtype=dtype).sqrt()
        turn = torch.linalg.qr(torch.randn(dimension, dimension, generator=generator).to(dtype))[0]
        samples = samples @ turn * scales @ directions
    return samples[0], samples[1]
