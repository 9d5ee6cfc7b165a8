"""What is run of the K = 1 ablation."""

from dataclasses import dataclass

from experiments.head_problems import PAPER_CHAIN, Chain, Variant
from expunge.divergence.discriminator import Discriminator

__all__ = ["SCALES", "Settings"]

VARIANTS = {"base": Variant(), "forgotten by class": Variant(forget_set="by class")}


@dataclass(frozen=True)
class Settings:
    """Which pairs, steps and public volumes a scale runs.

    Args:
        pairs: Public and private set, and how many private rows are retained.
        unlearn_steps: The ablation's single step, and the last K of the main figure beside it.
        checked: The pair on which all estimators read one split, and with how many models of each
            law.
    """

    pairs: tuple[tuple[str, int], ...]
    splits: int
    checked: str
    check_models: int
    discriminator: Discriminator | None = None
    chain: Chain = PAPER_CHAIN
    unlearn_steps: tuple[int, ...] = (1, 15)
    volumes: tuple[float, ...] = (0, 0.5, 1, 2, 4, 8)
    coupled_pairs: int = 16
    seed: int = 0


SCALES = {
    "smoke": Settings(
        (("digits+1/digits", 60),),
        2,
        "digits+1/digits",
        500,
        chain=Chain(learn_steps=4),
        unlearn_steps=(1, 3),
        volumes=(0, 8),
        coupled_pairs=8,
    ),
    "cpu": Settings(
        (("sketch/cartoon", 200), ("amazon/imdb", 300)),
        6,
        "amazon/imdb",
        1300,
        volumes=(0, 0.5, 1, 2, 8),
    ),
    "paper": Settings(
        (("sketch/cartoon", 1171), ("amazon/imdb", 1500)),
        20,
        "sketch/cartoon",
        30_000,
        Discriminator(),
    ),
}
