"""Privacy amplification by iteration (PABI): only the trailing unlearning steps count.

    D_alpha <= alpha w^2 Z^2 / sum_j w_j^2 nu_j^2

Z is the distance at the start of the trailing steps on equal data, from the forward
recursion d <- min(2R, c d + s), and w their total contraction. Chien et al. 2024,
arXiv:2403.17105, with half the noise; THEORY 2.9. Infinite without trailing steps.
"""

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.bounds.guarantee import Renyi
from expunge.accounting.bounds.log_sobolev import refuse_uncovered
from expunge.accounting.bounds.taut_string import forward_distance, pull
from expunge.accounting.history import History
from expunge.accounting.moduli import moduli, smooth_parts, split_trailing
from expunge.errors import Refused

__all__ = ["bound"]


def bound(assumptions: Assumptions, history: History) -> Renyi:
    """Bound the Rényi divergence by what the trailing noisy steps on equal data leave of it.

    Raises:
        Refused: no trailing noisy steps on what remains.
    """
    refuse_uncovered(history)
    (parts,) = moduli(assumptions, history)
    before, trailing = split_trailing(smooth_parts(assumptions, parts), lambda run: run.shift > 0)
    if not any(run.noise_std > 0 for run in trailing):
        raise Refused("infinite without noisy unlearning steps at the end")
    distance = forward_distance(
        before, initial_distance=assumptions.initial_distance, diameter=assumptions.diameter
    )
    mu = pull(trailing, initial_distance=distance)  # one chord: w Z / sqrt(V)
    return Renyi.linear(mu**2 * (1 + 2e-12))
