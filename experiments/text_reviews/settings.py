"""Which features of which reviews, and how many of them are deleted."""

from dataclasses import dataclass

__all__ = ["SCALES", "Settings"]


@dataclass(frozen=True)
class Settings:
    """The comparison on reviews: IMDB's private, Amazon's public.

    Args:
        pair: "amazon/imdb text", or "made" for reviews that are made here.
        public, private, test: How many at most.
        features: "tfidf" takes words and pairs of words of public reviews and weighs them by these;
            "hashed" has no vocabulary.
        width: Features at most.
        forget: How many records each request deletes; all of them are timed, one after another.
        refits: How often scikit-learn's refit is timed; the least time counts.
        seed: Of who is deleted, and of made reviews.
    """

    pair: str = "amazon/imdb text"
    public: int = 6_000
    private: int = 6_000
    test: int = 5_000
    features: tuple[str, ...] = ("tfidf", "hashed")
    width: int = 2**18
    forget: tuple[int, ...] = (1, 1, 10, 60)
    refits: int = 2
    seed: int = 0


SCALES = {
    "smoke": Settings("made", 300, 400, 200, width=2**10, forget=(1, 10), refits=1),
    "cpu": Settings(),
}
