"""LSTMs on reviews at each scale, and what is smaller than in the paper, [subseq:ulira_details].

`ulira_reviews` and `flipped_labels` sample them by `reviews_lstm`; neither may change them alone.
"""

from experiments.reviews_lstm.corpus import TOY, Corpus
from experiments.reviews_lstm.models import Chain, Shape
from experiments.reviews_lstm.search import Grid
from experiments.reviews_lstm.slices import Models

__all__ = ["MODELS", "PAPER", "list_cuts"]

REVIEWS = "amazon/imdb text"
CLOSING = "amazon/imdb closing text"
K = tuple(range(1, 16))
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
    "large": Models(
        Corpus(CLOSING, private=25_000, public=25_000, test=10_000, length=100),
        Chain(learn_epochs=50, unlearn_epochs=K, batch=400, models=75),
        Grid(
            tuple(Shape(5000, 32, 32, *law) for law in ((0.42, 0.0), (0.42, 1.0), (0.42, 2.0))),
            (0.5, 1.0, 2.0, 4.0), steps=3000, models=1,
            sigmas=(0.1, 0.01, 0.003, 0.001, 0.0), probe=0.001,
        ),
    ),
}  # fmt: skip


def list_cuts(models: Models, *, of_each_law: int, public: int, forget: int) -> list[str]:
    """What is smaller than in the paper, line by line.

    Args:
        public: How many public reviews there were.
    """
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
