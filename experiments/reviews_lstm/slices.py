"""Blocks of models run until a slice of time is used up; what is kept is kept.

A block's name and digest hold what it is a function of, and not how many were asked for: another
run goes on where this one ended, a longer one adds blocks, and both experiments find the same ones.
On a CPU several blocks run at once, in a process each; which runs where changes no seed.

    EXPUNGE_SLICE=0     begin no block: results from those that are kept, on any machine
    EXPUNGE_SLICE=300   a slice of 300 seconds, whatever the scale says
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from experiments.parts import Parts, machine
from experiments.reviews_lstm.corpus import Corpus, reviews
from experiments.reviews_lstm.models import Cell, Chain, Shape, block, steps_of
from experiments.reviews_lstm.processes import at_once, pool
from experiments.reviews_lstm.search import Grid, choice, search

__all__ = ["Models", "Sampled", "Sampler", "arms_of", "cell_of", "record"]

FOLDER = Path(__file__).parent / "results"
FEW = 1000  # steps that are not worth a process
Row = dict[str, Any]
Block = tuple[Cell, int]  # and its number


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

    def row(self, *fields: str) -> Row:
        """Fields of its cell, and how many models there are of it."""
        return {name: getattr(self.cell, name) for name in fields} | {
            "models": sum(row["models"] for row in self.rows),
            "blocks_left": self.missing,
        }


@dataclass
class Sampler:
    """Args:
    keep: Whether blocks are kept on disk.
    seconds: Of a slice, after which no block would end. Where no block of this machine tells how
        long one takes, the first of each process runs.
    processes: At once; 1 is this one.
    """

    models: Models
    keep: bool
    seconds: float
    folder: Path = FOLDER
    processes: int = field(default_factory=at_once)
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
        processes = self._processes(models.grid.points * models.grid.steps)
        each = map if processes == 1 else pool(processes).map
        work = partial(search, models.corpus, models.chain, models.grid, each)
        tried = self.parts.rows("search", work)
        return {"tried": tried, **choice(tried, models.grid.probe)}

    def sampled(self, cells: Sequence[Cell], blocks: int) -> list[Sampled]:
        """Blocks that are kept, and new ones while there is time, those of the first cell first."""
        wanted = [(cell, number) for cell in cells for number in range(blocks)]
        found = {one: self._kept(one) for one in wanted}
        found |= self._made([one for one in wanted if found[one] is None])
        seconds = self.parts.seconds
        for name in map(_name, wanted):  # in this order, whichever ended first
            if name in seconds:
                seconds[name] = seconds.pop(name)
        return [self._of(cell, [found[cell, number] for number in range(blocks)]) for cell in cells]

    def _of(self, cell: Cell, blocks: list[list[Row] | None]) -> Sampled:
        missing = blocks.count(None)
        if missing:
            print(f"  {cell.name}: {missing} of {len(blocks)} blocks left", file=sys.stderr)
        return Sampled(cell, [row for rows in blocks for row in rows or ()], missing)

    def _made(self, left: list[Block]) -> dict[Block, list[Row] | None]:
        processes = self._processes(sum(self._steps(cell) for cell, _ in left))
        new = partial(self._new, processes)
        if processes == 1:
            return {one: new(one) for one in left}
        with ThreadPoolExecutor(processes) as threads:  # each waits for a process
            return dict(zip(left, threads.map(new, left), strict=True))

    def _kept(self, one: Block) -> list[Row] | None:
        rows = self.parts.kept(_name(one))
        return None if rows is None else self._timed(one, rows)

    def _new(self, processes: int, one: Block) -> list[Row] | None:
        """None where it would not end in time."""
        end = time.perf_counter() - self._begun + self._steps(one[0]) * self._rate
        if self.seconds <= 0 or (self._rate and end > self.seconds):
            return None
        work = partial(block, self.models.corpus, self.models.chain, *one)
        if processes > 1:
            work = pool(processes).submit(work).result
        return self._timed(one, self.parts.rows(_name(one), work))

    def _timed(self, one: Block, rows: list[Row]) -> list[Row]:
        if rows[0]["device"] == machine():
            self._rate = self.parts.seconds[_name(one)] / self._steps(one[0])
        return rows

    def _processes(self, steps: int) -> int:
        return self.processes if steps >= FEW else 1

    def _steps(self, cell: Cell) -> int:
        """Of a block, both laws together."""
        chain = self.models.chain
        epochs = chain.learn_epochs + max(chain.unlearn_epochs)
        return 2 * epochs * steps_of(self.models.corpus, chain, cell)


def record(
    settings: Any, sampler: Sampler, found: Row, sampled: list[Sampled], cut: list[str]
) -> Row:
    """What results tell of their run. Args: found: By the search. cut: Against the paper."""
    data = reviews(sampler.models.corpus, found["shape"]["words"])
    machines = sorted({row["device"] for one in sampled for row in one.rows})
    return {
        "settings": asdict(settings),
        "cut": cut,
        "stands_for": data.stands_for,
        "search": found,
        "seconds": sampler.parts.seconds,
        "device": ", ".join(machines) or "nothing yet",
    }


def cell_of(found: Row, arm: str, public: Any, forget: int) -> Cell:
    """Of what the search chose."""
    one = found[arm]
    return Cell(arm, Shape(**found["shape"]), one["step_size"], one["sigma"], public, forget)


def arms_of(found: Row, asked: Sequence[str]) -> list[str]:
    """Without "learns" where it is the paper's own."""
    same = found["learns"]["sigma"] == found["paper"]["sigma"]
    return [arm for arm in asked if not (arm == "learns" and same and "paper" in asked)]


def _name(one: Block) -> str:
    cell, number = one
    return f"{cell.name}-block{number}"
