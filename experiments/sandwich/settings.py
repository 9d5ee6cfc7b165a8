"""Which laws are attacked, by how many models."""

from dataclasses import dataclass

from experiments.head_problems import PAPER_CHAIN, Chain, Variant

__all__ = ["SCALES", "Case", "Settings"]

BY_CLASS = Variant(forget_set="by class", norm=1.0)


@dataclass(frozen=True)
class Case:
    """A pair of sets with the sizes at which its laws are attacked.

    Args:
        retained, forget: Private rows.
        models: Of each law.
    """

    pair: str
    retained: int
    forget: int
    models: int


@dataclass(frozen=True)
class Settings:
    """Which cases, steps and public volumes a scale runs.

    Args:
        variant: Features of norm 1, where certificates mean something, forgotten class by class.
        volumes: Public rows for each retained private one.
    """

    cases: tuple[Case, ...]
    variant: Variant = BY_CLASS
    chain: Chain = PAPER_CHAIN
    unlearn_steps: tuple[int, ...] = (1, 5, 15)
    volumes: tuple[float, ...] = (0, 1, 4)
    delta: float = 1e-5
    level: float = 0.95
    seed: int = 0


SCALES = {
    "smoke": Settings((Case("digits+1/digits", 40, 20, 300),), unlearn_steps=(1,), volumes=(0, 1)),
    "cpu": Settings(
        (Case("sketch/cartoon", 200, 80, 1200), Case("digits+1/digits", 150, 50, 4000)),
    ),
    "paper": Settings(
        (Case("sketch/cartoon", 1171, 390, 60_000), Case("digits+1/digits", 300, 100, 200_000)),
        unlearn_steps=(1, 5, 10, 15),
        volumes=(0, 0.5, 1, 2, 4, 8),
    ),
}
