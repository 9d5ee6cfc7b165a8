"""Which tables, how many of their rows, and one rule for all settings."""

from dataclasses import dataclass

__all__ = ["SCALES", "Settings"]


@dataclass(frozen=True)
class Settings:
    """The comparison on real tables.

    Args:
        rows: Training rows at most, public and private, of each table.
        test: Test rows at most.
        public_share: Of the training rows.
        kinds: How public rows are drawn: among all rows, or among those whose `shift` column is
            below its median.
        l2: The same for all tables; it was not chosen on any.
        trees: Of LightGBM and of `TreeLeaves` alike.
        forget_share: Of the private rows, in one request.
    """

    tables: tuple[str, ...] = ("flights", "diamonds", "nassCDS", "MplsStops", "TV16")
    rows: int = 3000
    test: int = 3000
    public_share: float = 0.1
    kinds: tuple[str, ...] = ("random", "shifted")
    seeds: tuple[int, ...] = (0,)
    l2: float = 1e-4
    trees: int = 150
    leaves: int = 31
    forget_share: float = 0.01


SCALES = {
    "smoke": Settings(
        tables=("breast_cancer", "diabetes"), rows=300, test=100, public_share=0.3, trees=5
    ),
    "cpu": Settings(),
    "paper": Settings(rows=50_000, test=20_000, seeds=(0, 1, 2, 3, 4)),
}
