"""What is varied, one factor at a time from the base setting; what each scale runs."""

from dataclasses import dataclass, field, replace

from experiments.head_problems import BASE, PAPER_CHAIN, Chain, Variant
from expunge.divergence.discriminator import Discriminator

__all__ = ["SCALES", "Settings", "for_pair"]

FACTORS = {
    "forgotten by class": replace(BASE, forget_set="by class"),
    "Gaussian init": replace(BASE, init="gaussian"),
    "features of norm 1": replace(BASE, norm=1.0),
    "features of norm 40": replace(BASE, norm=40.0),
    "default init": replace(BASE, init="uniform"),
}


def factors(batch: int) -> dict[str, Variant]:
    return FACTORS | {f"batches of {batch:,}": replace(BASE, batch=batch)}


@dataclass(frozen=True)
class Settings:
    """Which pairs, volumes and factors a scale runs, and with how many models.

    Args:
        pairs: Public and private set, and how many private rows are retained.
        volumes: Public rows of the unconfounded series, as multiples of the retained ones.
        ends: Those of them at which factors are varied.
        splits: Of the predictions.
        factors: Varied on the first pair.
        sampled_splits, models: Of factors that cannot be predicted, and of each law.
        checked, check_models: Pairs where coupled pairs and independent models, on the first pair
            also the discriminator if there is one, read the same points on one split.
    """

    pairs: tuple[tuple[str, int], ...]
    splits: int
    sampled_splits: int
    models: int
    checked: tuple[str, ...]
    check_models: int
    discriminator: Discriminator | None = None
    factors: dict[str, Variant] = field(default_factory=lambda: factors(1024))
    chain: Chain = PAPER_CHAIN
    unlearn_steps: tuple[int, ...] = (1, 5, 10, 15)
    volumes: tuple[float, ...] = (0, 0.5, 1, 2, 4, 8)
    ends: tuple[float, ...] = (0, 1, 8)
    coupled_pairs: int = 16
    seed: int = 0


SCALES = {
    "smoke": Settings(
        pairs=(("digits+1/digits", 60),),
        splits=2,
        sampled_splits=2,
        models=64,
        checked=("digits+1/digits",),
        check_models=500,
        factors={
            "forgotten by class": FACTORS["forgotten by class"],
            "batches of 32": replace(BASE, batch=32),
        },
        chain=Chain(learn_steps=4),
        unlearn_steps=(1, 3),
        volumes=(0, 8),
        ends=(0, 8),
        coupled_pairs=8,
    ),
    "cpu": Settings(
        pairs=(("sketch/cartoon", 300), ("amazon/imdb", 400)),
        splits=6,
        sampled_splits=3,
        models=400,
        checked=("amazon/imdb",),
        check_models=1300,
        factors=factors(128),
        ends=(0, 8),
    ),
    "paper": Settings(
        pairs=(("sketch/cartoon", 1171), ("amazon/imdb", 1500)),
        splits=20,
        sampled_splits=20,
        models=30_000,
        checked=("sketch/cartoon", "amazon/imdb"),
        check_models=30_000,
        discriminator=Discriminator(),
    ),
}


def for_pair(
    settings: Settings, pair: str, *, retained: int, public: tuple[float, ...] | None
) -> Settings:
    """The same on a pair of your own.

    Args:
        public: Public rows as multiples of the retained ones, 0 among them.
    """
    volumes = tuple(sorted({0.0, *(public or settings.volumes)}))
    return replace(
        settings,
        pairs=((pair, retained),),
        checked=(pair,),
        volumes=volumes,
        ends=(volumes[0], volumes[-1]),
        discriminator=None,
    )
