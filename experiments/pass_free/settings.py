"""Data, ridges and sizes of the experiment on requests without a pass."""

from dataclasses import dataclass

__all__ = ["SCALES", "Series", "Settings"]


@dataclass(frozen=True)
class Series:
    """A data set at several sizes.

    Args:
        name: Of `problems.PROBLEMS`.
        sizes: How many records, the first of a shuffled set; as many as there are if fewer.
        orders: How many random orders of deletion; the adversarial one comes on top.
    """

    name: str
    sizes: tuple[int, ...]
    orders: int = 3


@dataclass(frozen=True)
class InARow:
    """Requests for one record each, one after the other, by the library's own estimator."""

    records: int
    features: int
    requests: int
    checkpoints: int = 10
    l2: float = 1e-3


@dataclass(frozen=True)
class Settings:
    """The settings of a scale.

    Args:
        most: The most records that leave on a curve; never more than a quarter.
        step: Points of a curve for each factor 10 of records gone.
        compared: Records gone at which the bound is compared with the true distance.
        distances: z_max, over the rows' norm, which is 1 here.
        draws: Of the noise, for accuracies.
        requests: Records of a request.
    """

    series: tuple[Series, ...]
    in_a_row: InARow
    ridges: tuple[float, ...] = (1e-3, 1e-4, 1e-5)
    most: int = 10_000
    step: int = 8
    compared: tuple[int, ...] = (1, 10, 100, 1000, 10_000)
    distances: tuple[float, ...] = (2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2)
    default: float = 2.5e-3
    draws: int = 20
    requests: tuple[int, ...] = (1, 10, 100)
    epsilon: float = 1.0
    delta: float = 1e-5
    seed: int = 0


SCALES = {
    "smoke": Settings(
        (Series("made, 2 classes", (2000,), 1), Series("embedded digits", (1200,), 1)),
        InARow(3000, 8, 6, checkpoints=2),
        ridges=(1e-2,),
        most=100,
        step=3,
        compared=(1, 10),
        draws=4,
    ),
    "cpu": Settings(
        (
            Series("reviews", (4000, 18_888)),
            Series("digits 3, 5, 8", (4000, 17_403)),
            Series("images", (6000,), 1),
            Series("made, 2 classes", (10_000, 100_000, 1_000_000)),
            Series("made, 5 classes", (10_000, 100_000)),
        ),
        InARow(1_000_000, 64, 1000),
        compared=(1, 10, 100, 1000),
    ),
    "paper": Settings(
        (
            Series("reviews", (4000, 8000, 18_888), 5),
            Series("digits", (20_000, 60_000)),
            Series("digits 3, 5, 8", (4000, 17_403), 5),
            Series("images", (8000,)),
            Series("made, 2 classes", (10_000, 100_000, 1_000_000)),
            Series("made, 2 classes", (10_000_000,), 1),  # every comparison takes passes
            Series("made, 5 classes", (10_000, 100_000, 1_000_000)),
        ),
        InARow(1_000_000, 64, 1000),
        most=100_000,
    ),
}
