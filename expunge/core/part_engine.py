"""Where the parts of a pass are computed: an engine maps parts to results, in their order.

    engine.map(compute, shared, parts)    compute(shared, part), part by part

A result is a function of what all parts share and of its part alone, so a lost worker's parts are
computed again, and whoever adds up results in their order gets the same bits from every engine
whose processors and numbers of threads are the same. An engine of your own has these two names.
"""

import importlib.util
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from expunge.core.ray_cluster import Cluster
from expunge.errors import InvalidInput

__all__ = ["HERE", "Here", "Observed", "PartEngine", "engine_called", "working"]

Compute = Callable[[Any, Any], Any]


class PartEngine(Protocol):
    """What computes parts: each result once and in order, again if its worker died."""

    @property
    def together(self) -> int:
        """How many stretches of rows are worth one part."""
        ...

    def map(self, compute: Compute, shared: Any, parts: Iterable[Any]) -> Iterator[Any]: ...


@dataclass(frozen=True)
class Here:
    """The caller's own process, one part after another."""

    together: int = 1

    def map(self, compute: Compute, shared: Any, parts: Iterable[Any]) -> Iterator[Any]:
        """Compute every part when its result is asked for."""
        return (compute(shared, part) for part in parts)


HERE = Here()


@dataclass(frozen=True)
class Observed:
    """Another engine, and somebody who is told of every part that is done.

    Args:
        said: Told the number of parts done, 0 at first, and how many there are; of passes, whose
            parts are known beforehand.
    """

    engine: PartEngine
    said: Callable[[int, int], None] = field(compare=False)

    @property
    def together(self) -> int:
        return self.engine.together

    def map(self, compute: Compute, shared: Any, parts: Iterable[Any]) -> Iterator[Any]:
        """Compute as the other engine does, and tell."""
        every = list(parts)
        self.said(0, len(every))
        for done, result in enumerate(self.engine.map(compute, shared, every), start=1):
            self.said(done, len(every))
            yield result


def engine_called(engine: str | PartEngine, address: str | None = None) -> PartEngine:
    """The engine of this name, "local" or "ray"; one that is none of ours stays as it is.

    Args:
        address: Of a running Ray cluster; None starts one on this machine.

    Raises:
        InvalidInput: there is no such engine, or Ray is not installed.
    """
    if engine == "local" and address is not None:
        raise InvalidInput("address", "is of a Ray cluster; add engine ray")
    if engine == "local":
        return HERE
    if engine == "ray":
        if importlib.util.find_spec("ray") is None:
            raise InvalidInput("engine", "Ray is not installed; pip install 'expunge[ray]'")
        return Cluster(address)
    if isinstance(engine, str):
        raise InvalidInput("engine", f"{engine!r} is none; take 'local' or 'ray'")
    return engine


@contextmanager
def working(engine: str | PartEngine, address: str | None = None) -> Iterator[PartEngine]:
    """The engine of this name; what it started is stopped at the end.

    Raises:
        InvalidInput: as `engine_called`.
    """
    called = engine_called(engine, address)
    try:
        yield called
    finally:
        if isinstance(called, Cluster):
            called.stop()
