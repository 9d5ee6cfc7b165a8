"""Which tables, how many of their rows, and one rule for all settings: the public one."""

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
        seeds: In this order: a run that is stopped has first those that no rule was chosen on.
        trees: Of LightGBM and of `TreeLeaves` alike.
        forget_share: Of the private rows, in one request.
        growing: The table whose training rows grow, public ones at random.
        growth: How many of them there are, one after the other.
    """

    tables: tuple[str, ...] = (
        "flights",
        "MplsStops",
        "TV16",
        "nassCDS",
        "covid_testing",
        "diamonds",
        "gss_wages",
        "hotel_rates",
        "deliveries",
        "loans_full_schema",
        "house_prices",
        "Bikeshare",
    )
    rows: int = 3000
    test: int = 5000
    public_share: float = 0.1
    kinds: tuple[str, ...] = ("random", "shifted")
    seeds: tuple[int, ...] = (3, 4, 0, 1, 2)
    trees: int = 150
    leaves: int = 31
    forget_share: float = 0.01
    growing: str = "flights"
    growth: tuple[int, ...] = ()


SCALES = {
    "smoke": Settings(
        tables=("breast_cancer", "diabetes"),
        rows=300,
        test=100,
        public_share=0.4,
        seeds=(0,),
        trees=5,
        growing="breast_cancer",
        growth=(200,),
    ),
    "cpu": Settings(growth=(1000, 3000, 10_000, 30_000, 100_000, 245_000)),
    "paper": Settings(rows=50_000, test=20_000, growth=(5000, 30_000, 100_000, 245_000)),
}
