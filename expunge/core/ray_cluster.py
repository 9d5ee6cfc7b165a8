"""Parts of a computation on a Ray cluster (`pip install expunge[ray]`).

Ray runs a part again when its worker dies, as often as it takes: results are pure functions. What
all parts share goes to the cluster once and to each worker once; the process that asks keeps all
that is not shared.
"""

import copy
import functools
import importlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

__all__ = ["Cluster"]

QUIET = "error"  # of what Ray says


@dataclass(frozen=True)
class Cluster:
    """An engine that computes parts on a Ray cluster.

    Args:
        address: The address of a running cluster; None joins the one that this process uses, or
            starts one on this machine.
        threads: torch threads, and cores, of each part; a product's rounding may depend on them.
        gpus: The share of a GPU that each part takes.
        at_most: How many parts may be under way or waiting to be read.
        together: How many stretches of rows are worth one part.
    """

    address: str | None = None
    threads: int = 1
    gpus: float = 0.0
    at_most: int = 64
    together: int = 8
    _held: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Cluster":
        return self

    def map(
        self, compute: Callable[[Any, Any], Any], shared: Any, parts: Iterable[Any]
    ) -> Iterator[Any]:
        """Compute every part on the cluster; results come in the order of the parts.

        Raises:
            Exception: what the computation of a part raised.
        """
        ray = _ray()
        self._join(ray)
        task: Any = _task().options(
            max_retries=-1, num_cpus=self.threads, num_gpus=self.gpus, name="expunge"
        )
        work, known = ray.put(compute), [self._shared(ray, shared)]
        left, waiting = iter(parts), deque[Any]()
        while True:
            for part in islice(left, self.at_most - len(waiting)):
                waiting.append(task.remote(work, known, part, self.threads))
            if not waiting:
                return
            try:
                yield ray.get(waiting.popleft())
            except ray.exceptions.RayTaskError as error:
                cause = error.cause if isinstance(error.cause, Exception) else error
                raise cause from None  # whose trace is a worker's

    def stop(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if self._held.pop("started", False):
            self._held.clear()
            _ray().shutdown()

    def _join(self, ray: Any) -> None:
        if not ray.is_initialized():
            self._held.clear()
            ray.init(
                address=self.address,
                log_to_driver=False,
                include_dashboard=False,
                logging_level=QUIET,
            )
            self._held["started"] = True

    def _shared(self, ray: Any, shared: Any) -> Any:
        """The reference of what is shared; the last one is kept, for the next pass."""
        if self._held.get("shared") is not shared:
            self._held["reference"] = ray.put(copy.copy(shared))
            self._held["shared"] = shared
        return self._held["reference"]


def _ray() -> Any:
    return importlib.import_module("ray")


@functools.cache
def _task() -> Any:
    return _ray().remote(_computed)


_known: dict[str, Any] = {}  # of this worker: what the parts share, by its reference


def _computed(
    compute: Callable[[Any, Any], Any], reference: list[Any], part: Any, threads: int
) -> Any:
    """The result of a part, on a worker; what is shared is read once, and the latest is kept."""
    import torch  # not needed to know that there is such an engine

    torch.set_num_threads(threads)
    name = reference[0].hex()
    if name not in _known:
        _known.clear()
        _known[name] = _ray().get(reference[0])
    return compute(_known[name], part)
