"""Pairs, deletions and ways to use public data; what each scale runs."""

from dataclasses import dataclass

__all__ = ["SCALES", "Arm", "Settings"]


@dataclass(frozen=True)
class Arm:
    """A way to learn by noisy descent, so that deletions can be certified.

    Args:
        public: Whether public records are among those that are learned.
        around: Whether descent starts at the public records' minimiser, its ridge centred there.
        ridge: lambda.
        learn_steps: T.
    """

    public: bool
    around: bool
    ridge: float
    learn_steps: int


ARMS = {
    "symmetric": Arm(public=False, around=False, ridge=0.0119, learn_steps=200),
    "asymmetric": Arm(public=True, around=False, ridge=0.0119, learn_steps=200),
    "pre-trained": Arm(public=True, around=True, ridge=0.0119, learn_steps=10),
    "public reference": Arm(public=True, around=True, ridge=0.1, learn_steps=100),
}


@dataclass(frozen=True)
class Settings:
    """Which pairs and deletions a scale runs, and how often.

    Args:
        pairs: Public and private set, and their alignment by measurement (docs/data.md).
        rows: Of each side at most.
        deletions: Shares of the private records.
        unlearn_steps: K for the observer of the last model; 1 for the observer of all models, to
            whom further steps buy nothing.
        exact_ridge: lambda of `auto`, of retraining and of the public records' minimiser.
        runs: Of every noisy cell.
    """

    pairs: tuple[tuple[str, str], ...] = (
        ("art_painting/photo", "aligned"),
        ("sketch/cartoon", "misaligned"),
        ("dvd/imdb", "aligned"),
        ("kitchen/imdb", "misaligned"),
    )
    rows: int = 6000
    deletions: tuple[float, ...] = (0.01, 0.1, 0.5)
    epsilons: tuple[float, ...] = (1.0, 5.0)
    unlearn_steps: int = 100
    exact_ridge: float = 1e-4
    runs: int = 8
    seed: int = 0


SCALES = {
    "smoke": Settings(
        pairs=(("digits+0/digits", "aligned"), ("digits+2/digits", "misaligned")),
        rows=120,
        deletions=(0.1, 0.5),
        epsilons=(5.0,),
        unlearn_steps=3,
        runs=2,
    ),
    "cpu": Settings(),
    "paper": Settings(),
}
