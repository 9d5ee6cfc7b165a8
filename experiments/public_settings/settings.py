"""Which sets each scale tries, and how the ridge is chosen there."""

from dataclasses import dataclass
from typing import Literal

from experiments.datasets.packaged import FROM_PACKAGES

__all__ = ["SCALES", "Settings", "Task"]


@dataclass(frozen=True)
class Task:
    """A private set, and where its public records come from.

    Args:
        pair: PUBLIC/PRIVATE, by its name in `experiments.datasets`; or the name of a table.
        public: "random": private rows that are declared public; "shifted": the pair's public set,
            or rows of a table below the median of one column.
        features: Of a table: its encoded "columns", or the "leaves" of trees grown on public rows.
    """

    pair: str
    public: Literal["random", "shifted"]
    features: Literal["given", "columns", "leaves"] = "given"


@dataclass(frozen=True)
class Settings:
    """What is tried.

    Args:
        seeds: Splits into public and private records.
        share: Public records among all.
        most: Records in all, at most.
        row_norms: As for `CertifiedClassifier`.
        fixed: Ridges that know nothing of the records.
        grid: Ridges in units of B^2, the best of which is what the rule is held against.
    """

    tasks: tuple[Task, ...]
    seeds: int
    share: float = 0.1
    most: int = 3000
    row_norms: tuple[float | Literal["public"], ...] = ("public", 1.0)
    fixed: tuple[float, ...] = (1e-2, 1e-3, 1e-4)
    grid: tuple[float, ...] = tuple(10.0 ** (-step / 2) for step in range(2, 15))


def _tables(*names: str) -> tuple[Task, ...]:
    kinds: tuple[Literal["columns", "leaves"], ...] = ("columns", "leaves")
    return tuple(Task(name, "random", kind) for name in names for kind in kinds)


TABLES = _tables(*FROM_PACKAGES)


def _both(*pairs: str) -> tuple[Task, ...]:
    return tuple(Task(pair, public) for pair in pairs for public in ("random", "shifted"))


SCALES = {
    "smoke": Settings(
        (Task("digits+1/digits", "random"), Task("breast_cancer", "random", "leaves")),
        seeds=1,
    ),
    "cpu": Settings(
        (
            Task("digits+0/digits", "random"),
            Task("usps/mnist", "random"),
            Task("art_painting/photo", "random"),
            *_both("sketch/cartoon", "dvd/imdb"),
            *TABLES,
        ),
        seeds=2,
    ),
    "paper": Settings(
        (
            *_both("digits+0/digits", "digits+1/digits", "usps/mnist", "mnist/usps"),
            *_both("sketch/cartoon", "art_painting/photo", "photo/art_painting"),
            *_both("dvd/imdb", "kitchen/imdb", "amazon/imdb"),
        ),
        seeds=5,
        most=20_000,
    ),
}
