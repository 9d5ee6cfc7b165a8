"""The constants of the required-noise figure, [app:toy_plot_details], and the grids around them."""

from dataclasses import dataclass

__all__ = ["SCALES", "Settings"]

SMALL = tuple(range(1, 33))
LARGE = tuple(round(32 * 10 ** (i / 8)) for i in range(1, 21))  # to 1e4


@dataclass(frozen=True)
class Settings:
    """Binary logistic regression with ridge lambda; L = 1/4 + lambda, eta = 1/L, M = 1.

    Args:
        learn_steps: T of the curves.
        ratios: n_pub / n_priv.
        fractions: n_f / n_priv.
        levels: Of D_2, and of epsilon at `delta`.
        law_sigma, law_fraction, law_level: Where exponents are fitted, one factor varied at a time.
        slow_step: eta L of the second fit in T, where T = 100 is still small: m eta T = 0.05.
        totals, limit_forget, limit_fraction, limit_sigma: n, n_f, n_f/n and sigma of the limit of
            large T.
        runs: (n_pub, n_f) of [subseq:renyi_evals], beside 20,000 retained private records.
    """

    ridge: float = 0.0119
    lipschitz: float = 1.0
    order: float = 2.0
    private: int = 3000
    learn_steps: tuple[int, ...] = SMALL + LARGE
    ratios: tuple[float, ...] = (0.0, 1.0, 10.0, 100.0)
    fractions: tuple[float, ...] = (0.01, 0.1, 0.5)
    levels: tuple[float, ...] = (0.1, 1.0, 10.0)
    delta: float = 1e-5
    sigmas: tuple[float, ...] = (0.03, 0.3)
    law_sigma: float = 0.01
    law_fraction: float = 0.5
    law_level: float = 1.0
    slow_step: float = 0.01
    totals: tuple[int, ...] = tuple(round(3000 * 10 ** (i / 2)) for i in range(7))
    limit_forget: int = 300
    limit_fraction: float = 0.1
    limit_sigma: float = 1e-3
    runs: tuple[tuple[int, int], ...] = ((10_000, 12_000), (15_000, 7000), (20_000, 2000))


SCALES = {
    "smoke": Settings(
        learn_steps=(1, 8, 64, 512),
        ratios=(0.0, 10.0),
        fractions=(0.1,),
        levels=(0.1, 1.0),
        sigmas=(0.03,),
        totals=(3000, 300_000, 3_000_000),
        runs=((20_000, 2000),),
    ),
    "cpu": Settings(),
    "paper": Settings(),
}
