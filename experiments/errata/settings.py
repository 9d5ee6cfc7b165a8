"""The counter-examples of the errata, and how many random settings are tried."""

from dataclasses import dataclass

__all__ = ["SCALES", "Case", "Settings"]


@dataclass(frozen=True)
class Case:
    """A one-dimensional quadratic: forgotten gradients +M, all others -M."""

    name: str
    step_size: float
    sigma: float
    learn_steps: int
    forget_share: float
    strong_convexity: float = 0.0
    initial_variance: float = 0.0


@dataclass(frozen=True)
class Settings:
    cases: tuple[Case, ...] = (
        Case("the paper's section 5.1, linear loss", 1e-3, 0.01, 20, 2 / 7),
        Case("the same, initial variance 1e-6", 1e-3, 0.01, 20, 2 / 7, initial_variance=1e-6),
        Case("eta = 0.1, T = 50", 0.1, 0.3, 50, 0.1),
        Case("one step on the data", 0.1, 0.1, 1, 0.1),
    )
    distances: tuple[float, ...] = (0.0, 0.5, 1.0)
    order: float = 2.0
    random_settings: int = 5000
    seed: int = 20_260_101


SCALES = {
    "smoke": Settings(random_settings=200),
    "cpu": Settings(),
    "paper": Settings(),
}
