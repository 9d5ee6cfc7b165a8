"""The paper's table of accuracies, [tab:unlearning-LSTM-results], on ulira_reviews' models."""

from dataclasses import dataclass

from experiments.review_models import MODELS
from experiments.reviews_lstm.slices import Models

__all__ = ["PAPER", "SCALES", "Settings"]

PAPER = {  # percent, unlearned and retrained, K = 15
    "without": (82.59, 82.54),
    "with": (81.42, 82.15),
    "flipped": (80.40, 80.80),
}


@dataclass(frozen=True)
class Settings:
    """Which models a scale samples for the table, and how many.

    Args:
        arms: Sigmas, the wanted one first: "learns" or "paper".
        blocks: Of models of each law, in each cell.
        control: Retrained models without noise, on private reviews alone.
        sweep: Whether the search advances all of its points at once.
    """

    models: Models
    blocks: int
    forget: int
    arms: tuple[str, ...] = ("learns", "paper")
    level: float = 0.95
    keep: bool = True
    slice_seconds: float = 540.0
    control: int = 0
    sweep: bool = False


SCALES = {
    "smoke": Settings(
        MODELS["smoke"], 1, forget=10, arms=("learns",), keep=False, control=2, sweep=True
    ),
    "cpu": Settings(MODELS["cpu"], 1, forget=20, arms=("learns",)),
    "paper": Settings(MODELS["paper"], 1, forget=100),
    "large": Settings(MODELS["large"], 1, forget=100, arms=("learns",), control=15, sweep=True),
}
