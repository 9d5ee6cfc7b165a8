"""Ids of a table of any length: each is there once, and 8 bytes of each are remembered."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from expunge.errors import InvalidInput

__all__ = ["GivenOnce"]


class GivenOnce:
    """Remembers ids by 8 bytes of their digest, to find one that is there twice."""

    def __init__(self) -> None:
        self._seen: list[np.ndarray] = []

    def add(self, ids: Sequence[str]) -> None:
        """Remember these."""
        self._seen.append(np.frombuffer(b"".join(map(_digest, ids)), dtype=np.uint64))

    def check(self, path: Path, every: Iterable[Sequence[str]]) -> None:
        """Check that each was given once.

        Args:
            every: All of them once more, in blocks; looked at only where two digests are equal.

        Raises:
            InvalidInput: one was given twice; it is named.
        """
        seen = np.concatenate(self._seen) if self._seen else np.empty(0, dtype=np.uint64)
        digests, counts = np.unique(seen, return_counts=True)
        doubtful = {digest.tobytes() for digest in digests[counts > 1]}
        known: set[str] = set()
        for ids in every if doubtful else ():
            for record in ids:
                if _digest(record) in doubtful:
                    if record in known:
                        raise InvalidInput(str(path), f"id {record!r} is there twice")
                    known.add(record)


def _digest(record: str) -> bytes:
    return blake2b(record.encode("utf-8", "surrogatepass"), digest_size=8).digest()
