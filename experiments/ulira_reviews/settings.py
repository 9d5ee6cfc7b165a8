"""The paper's audit of LSTMs on reviews, [subseq:ulira_details], as large as each scale allows.

Not in the paper, and ours: widths, step sizes and a sigma at which models learn (chosen on public
data, `reviews_lstm/search.py`), the number of words read, batches of 400, the law of initial
weights (`reviews_lstm.models.Shape`). A step of 75 LSTMs of these widths costs a GPU its launches
rather than its arithmetic, so that larger batches make an epoch cheaper.

Scale cpu is a regime of its own, as its note says.
"""

from dataclasses import dataclass

from experiments.review_models import MODELS
from experiments.reviews_lstm.slices import Models

__all__ = ["SCALES", "Settings"]

REMEMBERED = (
    "A regime of its own: 1,000 reviews of 16 words, read 40 times in batches of 25, are "
    "remembered rather than learned. Sizes, batch and word bound were chosen on training and test "
    "accuracies of some twenty pilots on private reviews, before any attack; step sizes and sigma "
    "on public ones."
)


@dataclass(frozen=True)
class Settings:
    """Which cells a scale attacks, and with how many models.

    Args:
        blocks: Of models of each law, in each cell; more of them repeat the attack.
        cells: Arm, with or without public data, and size of the forget set, the wanted ones first.
        shadow, test: Models of each law in one attack; the paper's 50 and 25.
        slice_seconds: After which no further block is begun; the next run goes on.
        note: What a reader of its results must know.
        sweep: Whether the search advances all of its points at once.
    """

    models: Models
    blocks: int
    cells: tuple[tuple[str, str, int], ...]
    shadow: int = 50
    test: int = 25
    resamples: int = 1000
    level: float = 0.95
    seed: int = 0
    keep: bool = True
    slice_seconds: float = 540.0
    note: str = ""
    sweep: bool = False

    @property
    def models_of_each_law(self) -> int:
        return self.blocks * self.models.chain.models


def both(arm: str, forget: int) -> tuple[tuple[str, str, int], ...]:
    return (arm, "without", forget), (arm, "with", forget)


SCALES = {
    "smoke": Settings(
        MODELS["smoke"], 1, both("learns", 10), shadow=8, test=16, resamples=50, keep=False
    ),
    "cpu": Settings(
        MODELS["cpu"],
        1,
        (*both("learns", 20), ("paper", "without", 20), ("learns", "without", 1)),
        shadow=14,
        test=16,
        note=REMEMBERED,
    ),
    "paper": Settings(
        MODELS["paper"], 1, (*both("learns", 100), *both("paper", 100), *both("learns", 1))
    ),
    "large": Settings(MODELS["large"], 3, both("learns", 100), sweep=True),
}
