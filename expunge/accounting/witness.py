"""A witness: where the taut string touches, in whole numbers, so that anybody can prove its bound.

Any shifts a_k with z_k >= 0 and z_N = 0 prove an upper bound, the best ones or not (THEORY 7).
For each stretch between releases a witness says

    start   the step after which z is the projection's diameter; None: from the beginning
    lines   which line of its modulus each step uses, as (steps, line): 0 clipped, 1 smooth;
            empty where the modulus has one line only
    edges   n: the next n steps are one edge, and z = 0 after it;
            (k, (n, ...)): these edges k times, within equal steps or in whole epochs of a cycle

Phases before the two chains part, and noiseless phases on equal data at the end of a stretch, are
not counted. Slopes and shifts are not stored: they follow.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from expunge.accounting.number_checks import MOST_STEPS

__all__ = ["Edge", "Stretch", "Witness"]

Edge = int | tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Stretch:
    """The witness of the steps between two releases."""

    start: int | None = None
    lines: tuple[tuple[int, int], ...] = ()
    edges: tuple[Edge, ...] = ()

    def document(self) -> dict[str, Any]:
        """The stretch as a certificate stores it."""
        edges = [e if isinstance(e, int) else [e[0], list(e[1])] for e in self.edges]
        return {"start": self.start, "lines": [list(line) for line in self.lines], "edges": edges}

    @property
    def whole_numbers(self) -> list[int]:
        """Every number in it."""
        flat = [n for line in self.lines for n in line]
        for edge in self.edges:
            flat += [edge] if isinstance(edge, int) else [edge[0], *edge[1]]
        return flat if self.start is None else [self.start, *flat]


@dataclass(frozen=True)
class Witness:
    """One stretch after another."""

    stretches: tuple[Stretch, ...]

    def document(self) -> dict[str, Any]:
        """The witness as a certificate stores it."""
        return {"stretches": [stretch.document() for stretch in self.stretches]}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "Witness":
        """The witness of a document whose structure has been checked."""
        return cls(
            tuple(
                Stretch(
                    stretch["start"],
                    tuple((n, line) for n, line in stretch["lines"]),
                    tuple(
                        e if isinstance(e, int) else (e[0], tuple(e[1])) for e in stretch["edges"]
                    ),
                )
                for stretch in document["stretches"]
            )
        )

    @property
    def storable(self) -> bool:
        """Whether every number is one that JSON readers of all languages keep exactly."""
        return all(n < MOST_STEPS for stretch in self.stretches for n in stretch.whole_numbers)
