"""Blocks of models run one after another until a slice of time is used up; what is kept is kept.

A block's name and digest hold what it is a function of, and not how many were asked for: another
run goes on where this one ended, a longer one adds blocks, and both experiments find the same ones.

    EXPUNGE_SLICE=0     begin no block: results from those that are kept, on any machine
    EXPUNGE_SLICE=300   a slice of 300 seconds, whatever the scale says
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from experiments.parts import Parts
from experiments.reviews_lstm.corpus import Corpus
from experiments.reviews_lstm.models import Cell, Chain, Shape, block, machine, steps_of
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
    seconds: Of a slice, after which no block would end. Where no block of this machine tells how
        long one takes, the first runs.
    """

    models: Models
    keep: bool
    seconds: float
    folder: Path = FOLDER
    parts: Parts = field(init=False)
    _begun: float = field(default_factory=time.perf_counter)
    _rate: float = 0.0  # seconds a step of the last block took on this machine

    def __post_init__(self):
        self.seconds = float(os.environ.get("EXPUNGE_SLICE", self.seconds))
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
        steps = self._steps(cell)
        for number in range(blocks):
            name = f"{cell.name}-block{number}"
            try:
                found = self.parts.rows(name, partial(self._block, cell, number, steps))
            except NoTime:
                missing += 1
                continue
            rows += found
            if found[0]["device"] == machine():
                self._rate = self.parts.seconds[name] / steps
        if missing:
            print(f"  {cell.name}: {missing} of {blocks} blocks left", file=sys.stderr)
        return Sampled(cell, rows, missing)

    def _block(self, cell: Cell, number: int, steps: int) -> Iterator[Row]:
        end = time.perf_counter() - self._begun + steps * self._rate
        if self.seconds <= 0 or (self._rate and end > self.seconds):
            raise NoTime
        yield from block(self.models.corpus, self.models.chain, cell, number)

    def _steps(self, cell: Cell) -> int:
        """Of a block, both laws together."""
        chain = self.models.chain
        epochs = chain.learn_epochs + max(chain.unlearn_epochs)
        return 2 * epochs * steps_of(self.models.corpus, chain, cell)


def cell_of(found: Row, arm: str, public: Any, forget: int) -> Cell:
    """Of what the search chose."""
    one = found[arm]
    return Cell(arm, Shape(**found["shape"]), one["step_size"], one["sigma"], public, forget)


def arms_of(found: Row, asked: Sequence[str]) -> list[str]:
    """Without "learns" where it is the paper's own."""
    same = found["learns"]["sigma"] == found["paper"]["sigma"]
    return [arm for arm in asked if not (arm == "learns" and same and "paper" in asked)]
