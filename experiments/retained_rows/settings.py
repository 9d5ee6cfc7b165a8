"""Numbers of retained rows, and what each scale runs."""

from dataclasses import dataclass

from experiments.head_problems import PAPER_CHAIN, Chain

__all__ = ["SCALES", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Which pairs and numbers of retained rows a scale runs.

    Args:
        pairs: Public and private set, and the numbers of private rows retained; 0.35 times as many
            are forgotten, as at the paper's middle point. The last one is all that there are.
        paper_retained: The paper's own number, to which the formula is extrapolated.
    """

    pairs: tuple[tuple[str, tuple[int, ...]], ...]
    splits: int
    unlearn_steps: tuple[int, ...] = (1,)
    paper_retained: int = 20_000
    chain: Chain = PAPER_CHAIN
    seed: int = 0


SCALES = {
    "smoke": Settings((("digits+1/digits", (30, 60)),), 2, chain=Chain(learn_steps=4)),
    "cpu": Settings(
        (("sketch/cartoon", (300, 700, 1388)), ("amazon/imdb", (300, 1500))),
        splits=8,
    ),
    "paper": Settings(
        (
            ("sketch/cartoon", (300, 500, 700, 1000, 1388)),
            ("amazon/imdb", (300, 750, 1500, 3000, 6194)),
        ),
        splits=20,
    ),
}
