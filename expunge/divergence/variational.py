"""The convex-conjugate form of D_a / a, and what it gives on a line.

    sup_{g<0}  E_Q g + 1/(a-1) LOG E_P |g|^((a-1)/a) + (log a + 1)/a

Paper: [eq:cc_renyi], which lacks the logarithm (E17), takes the a-th root instead of a times the
value (E18), and swaps the samples (E19). P is `of`, Q `against`. A value on the samples that chose
g is biased up; on held-out samples it is a lower estimate.
"""

import math

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

__all__ = ["conjugate_on_a_line", "convex_conjugate", "polysoftplus"]


def convex_conjugate(g_of: Tensor, g_against: Tensor, order: float) -> Tensor:
    """D_a from values of g < 0 at samples (..., N)."""
    power = _log_mean_exp((order - 1) / order * torch.log(-g_of)) / (order - 1)
    return order * (g_against.mean(-1) + power) + math.log(order) + 1


def polysoftplus(x: Tensor) -> Tensor:
    """-(1/(1-x) for x < 0, 1 + x otherwise): negative, continuously differentiable (E20)."""
    return -torch.where(x < 0, 1 / (1 - x.clamp_max(0)), 1 + x.clamp_min(0))


def conjugate_on_a_line(of: np.ndarray, against: np.ndarray, *, order: float) -> float:
    """Estimate D_a on a line by g = -exp(cubic), fitted on the first halves, read on the second.

    Good up to D_2 about 1: it needs e^(4 D_2) samples.
    """
    pooled = np.concatenate([of, against])
    center, scale = float(pooled.mean()), float(pooled.std())
    powers = [_powers((values - center) / scale) for values in (of, against)]
    train = [part[: len(part) // 2] for part in powers]
    test = [part[len(part) // 2 :] for part in powers]

    def value(coefficients: Tensor, parts: list[Tensor]) -> Tensor:
        first, second = (-torch.exp((part @ coefficients).clamp(-50, 50)) for part in parts)
        return convex_conjugate(first, second, order)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        coefficients = torch.tensor(flat, dtype=torch.float64, requires_grad=True)
        reached = -value(coefficients, train)
        (gradient,) = torch.autograd.grad(reached, coefficients)
        return float(reached.detach()), gradient.numpy()

    optimum = minimize(loss, _gaussian_start(train, order), jac=True, method="BFGS")
    return float(value(torch.as_tensor(optimum.x), test))


def _gaussian_start(train: list[Tensor], order: float) -> np.ndarray:
    """The optimum |g| = (dP/dQ)^a / (a E_Q (dP/dQ)^a) for Gaussians with the samples' moments."""
    (m_p, v_p), (m_q, v_q) = ((float(x[:, 1].mean()), float(x[:, 1].var())) for x in train)
    ratio = np.array(
        [
            (m_q**2 / v_q - m_p**2 / v_p + math.log(v_q / v_p)) / 2,
            m_p / v_p - m_q / v_q,
            (1 / v_q - 1 / v_p) / 2,
            0.0,
        ]
    )
    start = order * ratio
    start[0] -= math.log(order) + float(_log_mean_exp(train[1] @ torch.from_numpy(start)))
    return start


def _powers(values: np.ndarray) -> Tensor:
    return torch.from_numpy(np.stack([values**k for k in range(4)], axis=1))  # (N, 4)


def _log_mean_exp(values: Tensor) -> Tensor:
    return values.logsumexp(-1) - math.log(values.shape[-1])
