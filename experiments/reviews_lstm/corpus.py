"""Reviews as rows of word numbers: IMDB private, Amazon public, or a generated corpus of neither.

The vocabulary is counted on public texts alone. Rows are drawn uniformly, so the first private ones
are a uniform forget set; forget sets of different sizes are nested.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch

from experiments.datasets import DataSet, Pair, load_pair
from expunge.core.text import Vocabulary
from expunge.sampling.problem import Records

__all__ = ["TOY", "Corpus", "Reviews", "flipped", "reviews"]

TOY = "generated"


@dataclass(frozen=True)
class Corpus:
    """Args:
    pair: A name of `load_pair`, or `TOY`.
    private, public, test: Rows; a set that has fewer gives all it has.
    length: Words of a review that are read, its first ones.
    """

    pair: str
    private: int
    public: int
    test: int
    length: int
    seed: int = 0


class Reviews(NamedTuple):
    """Features are word numbers as float32, padded by 0."""

    private: Records
    public: Records
    test: Records
    words: int  # ids in all
    stands_for: str


@lru_cache(maxsize=2)
def reviews(corpus: Corpus, words: int) -> Reviews:
    """Args: words: Ids at most, padding and unknown included."""
    pair = generated(corpus) if corpus.pair == TOY else load_pair(corpus.pair)
    generator = np.random.default_rng(corpus.seed)
    private, public, test = (
        one.of(generator.permutation(len(one))[:most])
        for one, most in (
            (pair.private.train, corpus.private),
            (pair.public, corpus.public),
            (pair.private.test, corpus.test),
        )
    )
    vocabulary = Vocabulary.of(public.features, size=words)
    private, public, test = (
        Records(
            vocabulary.encode(one.features, length=corpus.length).tokens.float(),
            torch.from_numpy(one.targets),
        )
        for one in (private, public, test)
    )
    return Reviews(private, public, test, len(vocabulary), pair.stands_for)


def flipped(records: Records, share: float, seed: int) -> Records:
    """With a uniformly drawn share of its labels, 0 or 1, turned over."""
    generator = np.random.default_rng(seed)
    chosen = generator.permutation(len(records.targets))[: round(share * len(records.targets))]
    targets = records.targets.clone()
    targets[torch.from_numpy(chosen)] ^= 1
    return Records(records.features, targets)


def generated(corpus: Corpus) -> Pair:
    """Texts of 40 neutral words and some of 10 that go with the label, in most cases."""
    generator = np.random.default_rng(corpus.seed)

    def made(name: str, rows: int, tests: int) -> DataSet:
        targets = generator.integers(0, 2, rows + tests)
        texts = [_text(generator, int(label), corpus.length) for label in targets]
        is_test = np.arange(rows + tests) >= rows
        return DataSet(
            name, np.array(texts, dtype=object), targets, ("negative", "positive"), is_test
        )

    private = made("generated, private", corpus.private, corpus.test)
    return Pair(TOY, made("generated, public", corpus.public, 0), private)


def _text(generator: np.random.Generator, label: int, length: int) -> str:
    """A third of the words have a polarity, the label's in four cases of five."""
    number = generator.integers(2, length + 1)
    words = []
    for kind, place in zip(
        generator.random(number), generator.integers(0, 40, number), strict=True
    ):
        side = label if kind < 4 / 15 else 1 - label
        words.append(f"side{side}{place % 10}" if kind < 1 / 3 else f"plain{place}")
    return " ".join(words)
