"""Gaussians whose divergence is known: dimensions, divergences, repetitions."""

from dataclasses import dataclass

from expunge.divergence.discriminator import Discriminator

__all__ = ["SCALES", "Settings"]

PUBLISHED = Discriminator()


@dataclass(frozen=True)
class Settings:
    """Which known Gaussians a scale draws from, and how often.

    Args:
        repetitions: Of every cell of the Hotelling table.
        discriminator: The paper's, at its published settings but for the scale.
    """

    samples: int = 30_000
    dimensions: tuple[int, ...] = (10, 100, 1000, 9216)
    divergences: tuple[float, ...] = (0.0, 0.1, 0.5, 1.0, 3.0)
    repetitions: int = 100
    level: float = 0.95
    critic_dimensions: tuple[int, ...] = (10, 1000, 9216)
    critic_divergences: tuple[float, ...] = (0.0, 0.5, 3.0)
    discriminator: Discriminator = PUBLISHED
    seed: int = 0


SCALES = {
    "smoke": Settings(
        samples=200,
        dimensions=(3,),
        divergences=(0.0, 1.0),
        repetitions=4,
        critic_dimensions=(3,),
        critic_divergences=(0.5,),
        discriminator=Discriminator(width=8, steps=5, batch=50),
    ),
    "cpu": Settings(
        samples=3000,
        dimensions=(10, 100),
        repetitions=40,
        critic_dimensions=(10,),
        discriminator=Discriminator(steps=600, batch=1500, learning_rate=1e-3),
    ),
    "paper": Settings(),
}
