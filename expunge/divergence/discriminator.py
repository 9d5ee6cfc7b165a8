"""The paper's discriminator, corrected, for reproduction only. Do not trust its numbers.

Critics (`critics.py`) maximise the convex conjugate form of D_a / a on three quarters of the
samples and are read on the rest; several restarts are averaged.
Paper: [eq:cc_renyi], [app:disc_details], with the logarithm (E17), a times the value (E18), the
samples in their places (E19) and a held-out reading (E20).

A 1-Lipschitz critic on standardised samples cannot express log-density ratios: it saturates far
below the truth in 10 dimensions, and in thousands it reads its own training samples.
"""

import warnings
from dataclasses import dataclass

import torch

from expunge.divergence.critics import Critics, Discriminator
from expunge.divergence.hotelling import as_samples
from expunge.divergence.variational import convex_conjugate

__all__ = ["Discriminator", "Readings", "discriminator_readings"]

WARNING = (
    "the paper's discriminator measures neither large divergences nor high dimensions; it is here "
    "for reproduction, use renyi_estimate"
)


@dataclass(frozen=True)
class Readings:
    """D_a as each restart reads it: on the samples it was trained on, and on the others."""

    trained: tuple[float, ...]
    held_out: tuple[float, ...]

    @property
    def value(self) -> float:
        """The mean over held-out samples, the only reading that the method supports."""
        return sum(self.held_out) / len(self.held_out)


def discriminator_readings(
    *,
    of: object,
    against: object,
    order: float = 2.0,
    settings: Discriminator | None = None,
    seed: int = 0,
) -> Readings:
    """Train on three quarters of the samples and read on both parts; always warns."""
    warnings.warn(WARNING, stacklevel=2)
    settings = settings or Discriminator()
    first, second = as_samples(of).float(), as_samples(against).float()
    pooled = torch.cat([first, second])
    center, scale = pooled.mean(0), pooled.std(0).clamp_min(1e-12)
    first, second = (first - center) / scale, (second - center) / scale
    if first.is_cuda:  # a step is as long as its batch takes to read
        first, second = first.bfloat16(), second.bfloat16()
    cuts = [3 * len(samples) // 4 for samples in (first, second)]
    train = first[: cuts[0]], second[: cuts[1]]
    test = first[cuts[0] :], second[cuts[1] :]
    generator = torch.Generator(device=first.device).manual_seed(seed)
    critics = Critics(first.shape[1], settings, generator)
    critics.train(*train, order=order, generator=generator)
    readings = [
        convex_conjugate(critics(of_part), critics(against_part), order).tolist()
        for of_part, against_part in (train, test)
    ]
    return Readings(tuple(readings[0]), tuple(readings[1]))
