"""The step size and the radius of noisy descent where they are given, as in the paper."""

from expunge.accounting.assumptions import Assumptions
from expunge.errors import InvalidInput

__all__ = ["checked_radius", "step_size_of"]


def step_size_of(assumptions: Assumptions, given: float | None) -> float:
    """eta: 1/L, or what is given.

    Raises:
        InvalidInput: it is above 2/L, where gradient steps diverge.
    """
    smoothness = assumptions.smoothness or 1.0
    if given is None:
        return 1 / smoothness
    if given > 2 / smoothness:
        raise InvalidInput(
            "step_size",
            f"{given:g} is above 2/L = {2 / smoothness:.4g}, by row_norm and l2, and gradient "
            "steps diverge; take less, or None for 1/L",
        )
    return given


def checked_radius(given: float, start: float) -> float:
    """R as it was given, for a descent that begins so far from the center.

    Raises:
        InvalidInput: it begins outside of the ball.
    """
    if start > given:
        problem = f"descent begins {start:.4g} from the center; take more, or no reference"
        raise InvalidInput("radius", problem)
    return given
