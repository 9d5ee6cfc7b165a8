"""The paper's audit of LSTMs on reviews, [subseq:ulira_details], as large as each scale allows.

Not in the paper, and ours: widths, step sizes and a sigma at which models learn (chosen on public
data, `reviews_lstm/search.py`), the number of words read, batches of 400, the law of initial
weights (`reviews_lstm.models.Shape`). A step of 75 LSTMs of these widths costs a GPU its launches
rather than its arithmetic, so that larger batches make an epoch cheaper.

Scale cpu is a regime of its own, as its note says.
"""

from dataclasses import dataclass

from experiments.reviews_lstm.corpus import TOY, Corpus
from experiments.reviews_lstm.models import Chain, Shape
from experiments.reviews_lstm.search import Grid
from experiments.reviews_lstm.slices import Models

__all__ = ["MODELS", "PAPER", "SCALES", "Settings", "cut"]

REVIEWS = "amazon/imdb text"
K = tuple(range(1, 16))
REMEMBERED = (
    "A regime of its own: 1,000 reviews of 16 words, read 40 times in batches of 25, are "
    "remembered rather than learned. Sizes, batch and word bound were chosen on training and test "
    "accuracies of some twenty pilots on private reviews, before any attack; step sizes and sigma "
    "on public ones."
)
PAPER = {  # what a scale is held against; words are ours
    "words read of a review": 200,
    "models of each law": 75,
    "epochs of learning (T)": 50,
    "largest K": 15,
    "private reviews": 25_000,
    "public reviews": 50_000,
    "forgotten": 100,
    "test reviews": 10_000,
}

MODELS = {
    "smoke": Models(
        Corpus(TOY, private=60, public=60, test=40, length=6),
        Chain(learn_epochs=2, unlearn_epochs=(1, 3), batch=20, models=24),
        Grid((Shape(64, 4, 4),), step_sizes=(1.0,), steps=4, models=2, sigmas=(0.1, 0.01, 0.0)),
    ),
    "cpu": Models(
        Corpus(REVIEWS, private=1000, public=1000, test=1000, length=16),
        Chain(learn_epochs=40, unlearn_epochs=K, batch=25, models=30),
        Grid(
            (Shape(300, 16, 16, word_bound=2.0),), (0.5, 1.0), steps=1600, models=2,
            sigmas=(0.1, 0.01, 0.0),
        ),
    ),
    "paper": Models(
        Corpus(REVIEWS, private=25_000, public=50_000, test=10_000, length=48),
        Chain(learn_epochs=50, unlearn_epochs=K, batch=400, models=75),
        Grid((Shape(1000, 8, 16), Shape(1000, 16, 16)), (0.5, 1.0), steps=2000, models=1),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Which cells a scale attacks, and with how many models.

    Args:
        blocks: Of models of each law, in each cell; more of them repeat the attack.
        cells: Arm, with or without public data, and size of the forget set, the wanted ones first.
        shadow, test: Models of each law in one attack; the paper's 50 and 25.
        slice_seconds: After which no further block is begun; the next run goes on.
        note: What a reader of its results must know.
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

    @property
    def models_of_each_law(self) -> int:
        return self.blocks * self.models.chain.models


def cut(models: Models, *, of_each_law: int, public: int, forget: int) -> list[str]:
    """What is smaller than in the paper. Args: public: Reviews that there were."""
    corpus, chain = models.corpus, models.chain
    ours = (
        corpus.length, of_each_law, chain.learn_epochs, max(chain.unlearn_epochs),
        corpus.private, public, forget, corpus.test,
    )  # fmt: skip
    return [
        f"{what}: {here:,} of {full:,}"
        for (what, full), here in zip(PAPER.items(), ours, strict=True)
        if here < full
    ]


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
}
