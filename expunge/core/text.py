"""Text as padded rows of word numbers; the vocabulary comes from public texts alone.

    "It's great.<br />Really!"  ->  it's | great | . | really | !  ->  [17, 93, 2, 41, 8, 0, 0, 0]

A word is a run of letters, digits and inner apostrophes in lower case; every other mark stands for
itself; line breaks written in HTML are dropped. Id 0 pads at the end, id 1 is any word that the
vocabulary does not know. Which words a vocabulary holds, and in which order, is a statistic of the
texts it was counted on: counted on private ones it would carry a deleted record into every later
model (THEORY 2.10), so there is no way to build one but `Vocabulary.of(public_texts)`.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

__all__ = ["PADDING", "UNKNOWN", "Encoded", "Vocabulary", "lengths_of", "tokens"]

PADDING, UNKNOWN = 0, 1
SPECIAL = 2  # ids before the first word
BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
WORD = re.compile(r"\w+(?:'\w+)*|[^\w\s]")
BLOCK = 4096  # texts at a time


class Encoded(NamedTuple):
    tokens: Tensor  # (texts, length) int64, padded at the end
    lengths: Tensor  # (texts,) int64, at least 1


def tokens(text: str) -> list[str]:
    """Lower-case words and single marks."""
    return WORD.findall(BREAK.sub(" ", text).lower())


@dataclass(frozen=True)
class Vocabulary:
    """Words by rank: the first has id 2. `mark` is what a certificate says of it."""

    words: tuple[str, ...]
    mark: Literal["public"] = "public"

    @classmethod
    def of(cls, public_texts: Iterable[str], *, size: int = 10_000) -> "Vocabulary":
        """The most frequent words of public texts; ties are broken by the alphabet.

        Args:
            public_texts: Records that are never deleted. Private texts are encoded with the
                result and must not enter it.
            size: Ids in all, padding and unknown included.

        Raises:
            ValueError: `size` leaves no room for a word, or no public text holds one.
        """
        if size <= SPECIAL:
            raise ValueError(f"a vocabulary of {size} ids has no room for words: size must be >= 3")
        counts = Counter[str]()
        for text in public_texts:
            counts.update(tokens(text))
        if not counts:
            raise ValueError("the public texts hold no words; a vocabulary needs public texts")
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return cls(tuple(word for word, _ in ranked[: size - SPECIAL]))

    def __len__(self) -> int:
        """Ids in all: rows of an embedding."""
        return len(self.words) + SPECIAL

    @cached_property
    def ids(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words, SPECIAL)}

    def encode(self, texts: Iterable[str], *, length: int) -> Encoded:
        """The first `length` tokens of each text; a text without any is one unknown word."""
        if length < 1:
            raise ValueError(f"length must be at least 1, not {length}")
        known, parts, sizes = self.ids, [], []
        for block in _blocks(texts):
            cut = [tokens(text)[:length] or [""] for text in block]
            counts = np.fromiter(map(len, cut), np.int64, len(cut))
            flat = np.fromiter(
                (known.get(word, UNKNOWN) for word in chain.from_iterable(cut)),
                np.int64,
                int(counts.sum()),
            )
            rows = np.full((len(cut), length), PADDING, np.int64)
            rows[np.arange(length) < counts[:, None]] = flat
            parts.append(rows)
            sizes.append(counts)
        if not parts:
            return Encoded(torch.empty(0, length, dtype=torch.int64), torch.empty(0).long())
        return Encoded(
            torch.from_numpy(np.concatenate(parts)), torch.from_numpy(np.concatenate(sizes))
        )


def lengths_of(tokens: Tensor) -> Tensor:
    """Tokens of each row before its padding: (..., length) -> (...)."""
    return (tokens != PADDING).sum(-1)


def _blocks(texts: Iterable[str]) -> Iterable[list[str]]:
    block: list[str] = []
    for text in texts:
        block.append(text)
        if len(block) == BLOCK:
            yield block
            block = []
    if block:
        yield block
