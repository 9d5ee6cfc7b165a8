"""A column of text as hashed words: sparse rows, by a rule that no record shaped.

    each word, and each pair of neighbours, counts in one of so many places;   row / ||row||

There is no vocabulary, so nothing of a private record can be in one, and no public records are
needed (scikit-learn's `HashingVectorizer`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field
from sklearn.feature_extraction.text import HashingVectorizer

from expunge.errors import InvalidInput
from expunge.workspace.stored_settings import STRICT

__all__ = ["WIDEST", "Words", "text_rules"]

WIDEST = 2**18


@dataclass(frozen=True)
class Words:
    """The rule of a text column.

    Args:
        places: How many numbers it becomes; nearly all of them are zero.
        together: Words that count together at most: 2 for pairs of neighbours too.
    """

    __pydantic_config__: ClassVar = STRICT

    places: Annotated[int, Field(ge=2, le=WIDEST)]
    together: Literal[1, 2, 3] = 2

    def __post_init__(self) -> None:
        if not 2 <= self.places <= WIDEST:
            raise InvalidInput("text-width", f"{self.places:,}: must be 2 to {WIDEST:,}")

    @property
    def width(self) -> int:
        return self.places

    def encode(self, column: pa.ChunkedArray) -> Any:
        """The rows of the texts, CSR; a missing text has no words."""
        texts = column.cast(pa.string()).to_pylist()
        hashed = _vectoriser(self.places, self.together)
        return hashed.transform(["" if text is None else text for text in texts])


def text_rules(
    named: Sequence[str], width: int, *, path: Path, texts: Sequence[str], declared: Collection[str]
) -> dict[str, Words]:
    """The rules of the text columns, those that are named or else the only one there is.

    Args:
        path: The table that says which columns there are: the public one, where there is one.
        texts: Columns of it that are text and no id or label.
        declared: Columns that have other rules.

    Raises:
        InvalidInput: which columns are meant cannot be told, or one has another rule; it is named.
    """
    open_ones = [name for name in texts if name not in declared]
    if not named and len(open_ones) != 1:
        there = ", ".join(map(repr, open_ones[:20])) or "none"
        raise InvalidInput(
            "text-column", f"name the column whose words count; texts in {path}: {there}"
        )
    for name in named:
        if name in declared:
            raise InvalidInput("text-column", f"{name!r} is declared as something else as well")
        if name not in texts:
            raise InvalidInput("text-column", f"{path} has no column {name!r} of texts")
    return {name: Words(width) for name in named or open_ones}


@cache
def _vectoriser(places: int, together: int) -> Any:
    return HashingVectorizer(
        n_features=places,
        ngram_range=(1, together),
        alternate_sign=False,
        dtype=np.float32,  # pyright: ignore[reportArgumentType]
    )
