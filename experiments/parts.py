"""A long run in parts: each is kept as it ends, so that a run that was stopped goes on.

Parts lie beside the results until the run is complete. Their names carry a digest of the settings
and of the experiment's code: another run never finds them.

    EXPUNGE_SLICE=0     begin no part: results from those that are kept, on any machine
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

__all__ = ["Parts", "begins_no_part", "machine"]

Rows = list[dict[str, Any]]
DRAWING = {"figures.py", "report.py", "verdicts.py"}  # they make nothing that is kept


@dataclass
class Parts:
    """The parts of a long run, each kept on disk as it ends.

    Args:
        folder: Where parts are kept; None keeps none.
        settings: The settings as JSON; part of every name.
        code: The experiment's folder.
        only_kept: Use the parts that are kept, and begin no other.
        seconds: How long each part took, whenever it was run.
        machines: The machines that ran parts.
        missing: Parts that were neither kept nor begun.
    """

    folder: Path | None
    settings: str
    code: Path
    only_kept: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    machines: set[str] = field(default_factory=set)
    missing: list[str] = field(default_factory=list)

    @property
    def device(self) -> str:
        """The names of all machines that ran a part."""
        return " and ".join(sorted(self.machines))

    def kept(self, name: str) -> Rows | None:
        """The part's rows from before, if it is there."""
        path = self._path(name)
        if path is None or not path.exists():
            return None
        kept = json.loads(path.read_text())
        self.seconds[name] = kept["seconds"]
        self.machines.add(kept.get("machine", machine()))
        return kept["rows"]

    def rows(self, name: str, work: Callable[[], Iterable[dict[str, Any]]]) -> Rows:
        """The part's rows: kept from before, or made now; none if it is missing."""
        kept, path = self.kept(name), self._path(name)
        if kept is not None:
            return kept
        if path is not None and self.only_kept:
            self.missing.append(name)
            return []
        start = time.perf_counter()
        rows = list(work())
        self.seconds[name] = round(time.perf_counter() - start, 1)
        self.machines.add(machine())
        print(f"  {name}: {self.seconds[name]:g} s", file=sys.stderr)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            half = path.with_suffix(".half")
            kept = {"machine": machine(), "seconds": self.seconds[name], "rows": rows}
            half.write_text(json.dumps(kept))
            half.rename(path)
        return rows

    def done(self) -> None:
        """Delete all kept parts, unless one is missing."""
        if self.missing:
            return
        if self.folder is not None and self.folder.exists():
            for path in self.folder.glob(f"{self._digest()}-*"):
                path.unlink()
            if not any(self.folder.iterdir()):
                self.folder.rmdir()

    def _path(self, name: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{self._digest()}-{name}.json"

    def _digest(self) -> str:
        digest = hashlib.sha256(self.settings.encode())
        for path in sorted(self.code.glob("*.py")):
            if path.name not in DRAWING:
                digest.update(path.read_bytes())
        return digest.hexdigest()[:12]


def begins_no_part() -> bool:
    """Whether the environment asks for results from kept parts alone."""
    return os.environ.get("EXPUNGE_SLICE") == "0"


def machine() -> str:
    """The name of the machine's GPU, or CPU."""
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
