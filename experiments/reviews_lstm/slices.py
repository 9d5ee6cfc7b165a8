"""Blocks of models run one after another until a slice of time is used up; what is kept is kept.

A block's name and digest hold what it is a function of, and not how many were asked for: another
run goes on where this one ended, a longer one adds blocks, and both experiments find the same ones.
"""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from experiments.parts import Parts
from experiments.reviews_lstm.corpus import Corpus
from experiments.reviews_lstm.models import Cell, Chain, Shape, block, steps_of
from experiments.reviews_lstm.search import Grid, choice, search

__all__ = ["Models", "Sampled", "Sampler", "arms_of", "cell_of"]

FOLDER = Path(__file__).parent / "results"
Row = dict[str, Any]


class NoTime(Exception):
    """The slice is over before this block could be."""


@dataclass(frozen=True)
class Models:
    """All that a block is a function of, with its cell and number."""

    corpus: Corpus
    chain: Chain
    grid: Grid


@dataclass(frozen=True)
class Sampled:
    """Blocks of a cell that are there, of those asked for."""

    cell: Cell
    rows: list[Row]
    missing: int


@dataclass
class Sampler:
    """Args:
    keep: Whether blocks are kept on disk.
    seconds: Of a slice; the first block of a slice always runs.
    """

    models: Models
    keep: bool
    seconds: float
    folder: Path = FOLDER
    parts: Parts = field(init=False)
    _begun: float = field(default_factory=time.perf_counter)
    _fresh: int = 0
    _rate: float = 0.0  # seconds a step of a block

    def __post_init__(self):
        folder = self.folder if self.keep else None
        self.parts = Parts(folder, json.dumps(asdict(self.models)), Path(__file__).parent)

    def chosen(self) -> Row:
        """What the search on public data found, and all it tried."""
        models = self.models
        work = partial(search, models.corpus, models.chain, models.grid)
        tried = self.parts.rows("search", work)
        return {"tried": tried, **choice(tried, models.grid.probe)}

    def sampled(self, cell: Cell, blocks: int) -> Sampled:
        """Blocks that are kept, and new ones while there is time."""
        rows, missing = [], 0
        for number in range(blocks):
            try:
                work = partial(self._block, cell, number)
                rows += self.parts.rows(f"{cell.name}-block{number}", work)
            except NoTime:
                missing += 1
        if missing:
            print(f"  {cell.name}: {missing} of {blocks} blocks left", file=sys.stderr)
        return Sampled(cell, rows, missing)

    def _block(self, cell: Cell, number: int) -> Iterator[Row]:
        models = self.models
        epochs = models.chain.learn_epochs + max(models.chain.unlearn_epochs)
        steps = 2 * epochs * steps_of(models.corpus, models.chain, cell)
        begun = time.perf_counter()
        if self._fresh and begun - self._begun + steps * self._rate > self.seconds:
            raise NoTime
        self._fresh += 1
        yield from block(models.corpus, models.chain, cell, number)
        self._rate = max(self._rate, (time.perf_counter() - begun) / steps)


def cell_of(found: Row, arm: str, public: Any, forget: int) -> Cell:
    """Of what the search chose."""
    one = found[arm]
    return Cell(arm, Shape(**found["shape"]), one["step_size"], one["sigma"], public, forget)


def arms_of(found: Row, asked: Sequence[str]) -> list[str]:
    """Without "learns" where it is the paper's own."""
    same = found["learns"]["sigma"] == found["paper"]["sigma"]
    return [arm for arm in asked if not (arm == "learns" and same and "paper" in asked)]
