"""Which laws are attacked, by how many models."""

from dataclasses import dataclass
from typing import Literal

from experiments.head_problems import PAPER_CHAIN, Chain, Variant

__all__ = ["SCALES", "Case", "Settings"]


@dataclass(frozen=True)
class Case:
    """A pair of sets with the sizes at which its laws are attacked.

    Args:
        retained, forget: Private rows.
        models: Of each law.
        forget_set: The records of whole classes, or as many drawn at random.
    """

    pair: str
    retained: int
    forget: int
    models: int
    forget_set: Literal["by class", "random"] = "by class"

    @property
    def variant(self) -> Variant:
        """Features of norm 1, where certificates mean something."""
        return Variant(forget_set=self.forget_set, norm=1.0)


@dataclass(frozen=True)
class Settings:
    """Which cases, steps and public volumes a scale runs.

    Args:
        volumes: Public rows for each retained private one.
    """

    cases: tuple[Case, ...]
    chain: Chain = PAPER_CHAIN
    unlearn_steps: tuple[int, ...] = (1, 5, 15)
    volumes: tuple[float, ...] = (0, 1, 4)
    delta: float = 1e-5
    level: float = 0.95
    seed: int = 0


SCALES = {
    "smoke": Settings(
        (
            Case("digits+1/digits", 40, 20, 300),
            Case("digits+1/digits", 40, 20, 300, "random"),
        ),
        unlearn_steps=(1,),
        volumes=(0, 1),
    ),
    "cpu": Settings(
        (
            Case("sketch/cartoon", 200, 80, 1200),
            Case("sketch/cartoon", 200, 80, 1200, "random"),
            Case("digits+1/digits", 150, 50, 4000),
        ),
    ),
    "paper": Settings(
        (
            Case("sketch/cartoon", 1171, 390, 60_000),
            Case("sketch/cartoon", 1171, 390, 60_000, "random"),
            Case("digits+1/digits", 300, 100, 200_000),
            Case("digits+1/digits", 300, 100, 200_000, "random"),
        ),
        unlearn_steps=(1, 5, 10, 15),
        volumes=(0, 0.5, 1, 2, 4, 8),
    ),
}
