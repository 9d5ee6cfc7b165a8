"""What is compared: trained heads at two feature norms, with and without public data."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["SCALES", "Case", "Settings"]


@dataclass(frozen=True)
class Case:
    """One comparison: a feature norm, with or without public data, and an initial law.

    Args:
        norm: Of every row of features.
        init: Law of the initial points: all zero, or the framework's default.
    """

    norm: float
    with_public: bool
    init: Literal["zero", "uniform"] = "zero"


CASES = (
    Case(1.0, False),
    Case(1.0, True),
    Case(10.0, False),
    Case(10.0, True),
    Case(10.0, True, "uniform"),
)


@dataclass(frozen=True)
class Settings:
    """The paper's chain: T = 20, eta = 1e-3, sigma = 0.01, full batch, ball of radius 100.

    Args:
        source: PACS embeddings of 384 numbers, or scikit-learn's embedded digits.
        domains: Public and private.
        rows: Of public and of private training records, drawn at random; None for all.
        forget: Records of one class, which is what makes a forget set special.
        models: Independent ones of each law, for Hotelling.
        ensembles: Pairs of such ensembles; their estimates are averaged.
        pairs: Coupled ones.
        probes: Test rows on which a black box is asked.
        mismatched: Pairs of domains whose mismatch is estimated.
    """

    source: Literal["pacs", "embedded"] = "pacs"
    domains: tuple[str, str] = ("sketch", "cartoon")
    rows: tuple[int, int] | None = None
    forget: int = 200
    learn_steps: int = 20
    unlearn_steps: tuple[int, ...] = (1, 5, 15)
    step_size: float = 1e-3
    sigma: float = 0.01
    radius: float = 100.0
    models: int = 30_000
    ensembles: int = 16
    pairs: int = 32
    probes: int = 20
    cases: tuple[Case, ...] = CASES
    mismatched: tuple[tuple[str, str], ...] = (
        ("sketch", "cartoon"),
        ("art_painting", "photo"),
    )
    seed: int = 0


SCALES = {
    "smoke": Settings(
        source="embedded",
        rows=(150, 150),
        forget=12,
        unlearn_steps=(1, 5),
        models=1200,
        ensembles=2,
        pairs=8,
        probes=4,
        cases=(Case(10.0, True),),
        mismatched=(),
    ),
    "cpu": Settings(rows=(1000, 1000), forget=100, models=4200, ensembles=1, unlearn_steps=(1, 15)),
    "paper": Settings(),
}
