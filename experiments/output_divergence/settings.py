"""Queries, forget sets and models of the output-space divergence; what each scale runs."""

from dataclasses import dataclass

from experiments.head_problems import PAPER_CHAIN, Chain

__all__ = ["SCALES", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Which pair is looked at, through how many queries, with how many models.

    Args:
        pair, retained: Public and private set, and how many private rows are retained.
        volumes: Public rows for each retained one.
        queries: Numbers of rows whose outputs an evaluator sees.
        models: Of each law, independent.
    """

    pair: str = "digits+1/digits"
    retained: int = 300
    volumes: tuple[float, ...] = (0.0, 2.0)
    queries: tuple[int, ...] = (1, 4, 16, 64)
    models: int = 4000
    unlearn_steps: int = 1
    chain: Chain = PAPER_CHAIN
    seed: int = 0


SCALES = {
    "smoke": Settings(
        retained=40, queries=(1, 4), models=300, volumes=(0.0,), chain=Chain(learn_steps=4)
    ),
    "cpu": Settings(),
    "paper": Settings(models=40_000),
}
