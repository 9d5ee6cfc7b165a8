"""What the frontier covers, and the published figures it is held against.

Published: Chien, Wang, Chen, Li 2024 (Langevin unlearning) and the descend-to-delete baseline in
it; MNIST 3 against 8, one deletion, K = 1, rows of norm 1, lambda = 1e-6 * 11,982 = 0.0119,
L = 1/4 + lambda, eta = 1/L, M = 1, T = 10,000, delta = 1/n.
"""

from dataclasses import dataclass, field, replace

from experiments.datasets.mnist import Source

__all__ = ["PUBLISHED", "SCALES", "Growth", "Settings", "Task"]

# Accuracy in percent by epsilon.
PUBLISHED: dict[str, dict[float, float]] = {
    "Langevin unlearning": {0.05: 67.9, 0.1: 81.2, 0.5: 91.0, 1.0: 91.1, 5.0: 91.0},
    "descend-to-delete": {0.05: 51.3, 0.1: 51.6, 0.5: 55.1, 1.0: 59.7, 5.0: 82.5},
}


@dataclass(frozen=True)
class Task:
    """A classification task, and how long and how often its cells are run.

    Args:
        classes: The digits to tell apart.
        learn_steps: T of noisy descent in the grid; the comparison has its own.
        center_steps: T of noisy descent around the public records' minimiser.
        unlearn_steps: Each K of `langevin` for observer `final`; the last is also noise_first's.
        final_shares: Public shares at which noisy descent is run for observer `final`.
        runs: Of every noisy cell.
        exact_runs: Of `auto` and `residual`, whose noise is far below any margin.
    """

    name: str
    classes: tuple[int, ...]
    learn_steps: int = 500
    center_steps: int = 100
    unlearn_steps: tuple[int, ...] = (1, 100)
    final_shares: tuple[float, ...] = (0.0, 0.5, 0.9)
    runs: int = 5
    exact_runs: int = 2


TWO = Task("3 against 8", (3, 8))
# 60,000 rows and ten outputs: 50 times the work of a step of the task above, so fewer steps and
# runs. Descent without noise is about 2 points below its limit after 60 steps.
TEN = Task("ten classes", tuple(range(10)), 60, 30, (6,), runs=2)


@dataclass(frozen=True)
class Growth:
    """A fixed private set and deletion, and more and more public records beside it."""

    private: int = 1198
    public: tuple[int, ...] = (0, 100, 300, 1198, 3594, 10_784)
    epsilons: tuple[float, ...] = (0.1, 1.0)
    deletions: tuple[int | float, ...] = (1, 0.01, 0.1)


@dataclass(frozen=True)
class Settings:
    """The grid that a scale covers: tasks, epsilons, deletions, public shares, ridges.

    Args:
        deletions: A whole number is a count, a fraction a share of the private records, rounded up.
        shares: Of the records that are public.
        ridge: lambda of noisy descent.
        exact_ridge: lambda of `residual`, `retrain` and `auto`.
        center_ridge: lambda of noisy descent around the public records' minimiser.
        compared_epsilons, compared_steps, compared_runs: Of the comparison with published figures.
    """

    source: Source = "mnist"
    tasks: tuple[Task, ...] = (TWO, TEN)
    epsilons: tuple[float, ...] = (0.05, 0.1, 0.5, 1.0, 2.0, 5.0)
    deletions: tuple[int | float, ...] = (1, 0.01, 0.1, 0.5)
    shares: tuple[float, ...] = (0.0, 0.5, 0.9)
    ridge: float = 0.0119
    exact_ridge: float = 1e-4
    center_ridge: float = 0.1
    compared_epsilons: tuple[float, ...] = tuple(PUBLISHED["Langevin unlearning"])
    compared_steps: int = 10_000
    compared_runs: int = 20
    growth: Growth = field(default_factory=Growth)
    seed: int = 0


SCALES = {
    "smoke": Settings(
        source="embedded",
        tasks=(
            replace(
                TWO, learn_steps=60, center_steps=20, unlearn_steps=(1, 20), runs=2, exact_runs=1
            ),
            replace(TEN, learn_steps=30, center_steps=20, unlearn_steps=(3,), exact_runs=1),
        ),
        epsilons=(0.1, 1.0),
        compared_epsilons=(0.1, 1.0),
        compared_steps=100,
        compared_runs=3,
        growth=Growth(60, (0, 60, 180), (1.0,), (1, 0.1)),
    ),
    "cpu": Settings(
        tasks=(replace(TWO, runs=3),),
        epsilons=(0.1, 1.0, 5.0),
        compared_steps=1000,
        compared_runs=10,
    ),
    "paper": Settings(),
}
