"""The paper's numerical setup for strongly convex losses, [app:toy_plot_details]."""

from dataclasses import dataclass

__all__ = ["SCALES", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Binary logistic regression with ridge lambda; L = 1/4 + lambda, eta = 1/L, M = 1."""

    ridge: float = 0.0119
    learn_steps: int = 10_000
    private: int = 3000
    public: tuple[int, ...] = (0, 3000, 30_000)
    lipschitz: float = 1.0
    order: float = 2.0
    level: float = 1.0
    epsilon: float = 1.0
    delta: float = 1e-5
    unlearn_steps: tuple[int, ...] = (10, 50, 100)
    fractions: tuple[float, ...] = tuple(i / 100 for i in (1, *range(5, 101, 5)))
    forgotten: tuple[int, ...] = (30, 300, 3000)
    sigmas: tuple[float, ...] = (0.03, 0.3)


SCALES = {
    "smoke": Settings(learn_steps=200, fractions=(0.01, 0.5, 1.0), unlearn_steps=(10,)),
    "cpu": Settings(),
    "paper": Settings(),
}
