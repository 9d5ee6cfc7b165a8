"""Pairs whose alignment was measured, public volumes, and what each scale runs."""

from dataclasses import dataclass, replace

from experiments.head_problems import PAPER_CHAIN, Chain, Variant

__all__ = ["SCALES", "Settings", "for_pair"]

VARIANTS = {
    "norm 10": Variant(),
    "norm 40": Variant(norm=40.0),
    "norm 10, default init": Variant(init="uniform"),
}


@dataclass(frozen=True)
class Settings:
    """Which pairs, public volumes and counts of models a scale runs.

    Args:
        pairs: Two families, each with an aligned and a misaligned pair, by measurement
            (docs/data.md).
        private: Rows at most; half of them are forgotten, as in the paper.
        volumes: Public rows for each private one: 10, 30 and 40 thousand for 20 thousand.
        models: Pairs of models that share their noise, of each split.
        ratio_rows: Rows of each side from which the mismatch is estimated, at most.
    """

    splits: int
    private: int
    models: int
    ratio_rows: int
    pairs: tuple[tuple[str, str], ...] = (
        ("art_painting/photo", "aligned"),
        ("sketch/cartoon", "misaligned"),
        ("dvd/imdb", "aligned"),
        ("kitchen/imdb", "misaligned"),
    )
    variants: tuple[str, ...] = tuple(VARIANTS)
    volumes: tuple[float, ...] = (0.5, 1.5, 2.0)
    unlearn_steps: int = 5
    chain: Chain = PAPER_CHAIN
    seed: int = 0


SCALES = {
    "smoke": Settings(
        splits=2,
        private=40,
        models=4,
        ratio_rows=60,
        pairs=(("digits+0/digits", "aligned"), ("digits+2/digits", "misaligned")),
        variants=("norm 10",),
        volumes=(0.5, 2.0),
        chain=Chain(learn_steps=6),
    ),
    "cpu": Settings(splits=8, private=400, models=4, ratio_rows=700),
    "paper": Settings(splits=20, private=2000, models=16, ratio_rows=4000),
}


def for_pair(
    settings: Settings, pair: str, *, retained: int, public: tuple[float, ...] | None
) -> Settings:
    """The same on a pair of your own; half of the private rows are retained.

    Args:
        public: Public rows as multiples of the retained ones.
    """
    volumes = settings.volumes
    if public:
        volumes = tuple(volume / 2 for volume in public if volume > 0)
    return replace(settings, pairs=((pair, "yours"),), private=2 * retained, volumes=volumes)
