"""What is known of the loss and the initial law, each constant with its mark.

    enforced   true by construction, e.g. rows scaled to norm at most B
    public     computed from public records alone
    assumed    declared by the user

Constants are never measured on private records: that would leak (THEORY 2.10).
`strong_convexity` and `smoothness` describe the full objective, ridge included.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Literal, get_args

from expunge.accounting.number_checks import check_number, check_positive
from expunge.errors import InvalidInput

__all__ = ["Assumptions", "Mark", "Regime"]

Mark = Literal["enforced", "public", "assumed"]
Regime = Literal["strongly convex", "convex", "nonconvex", "clipped"]


@dataclass(frozen=True)
class Assumptions:
    """Constants of the loss and of the initial law; `None` means not assumed.

    They must hold for the objective of every phase, with and without the forgotten records.
    Under the fixed normaliser a deletion takes the data's curvature away, so that strong
    convexity may only come from the ridge there (THEORY 2.6).

    Args:
        strong_convexity: m. Positive: strongly convex. 0: convex. None: no convexity.
        smoothness: L. None only together with `clip`.
        lipschitz: M, a bound on every record's gradient, ridge excluded.
        radius: R of the ball that every step projects onto.
        clip: C, the norm to which every record's gradient is clipped.
        weight_decay: lambda, the ridge added after clipping and averaging.
        initial_distance: z_0, how far apart the two processes may start.
        initial_log_sobolev: C_0 of the initial law; None takes 2 sigma^2/m for
            strongly convex losses and 0, a point mass, otherwise.
        marks: How each constant is known; `assumed` where nothing is said.
    """

    strong_convexity: float | None = None
    smoothness: float | None = None
    lipschitz: float | None = None
    radius: float | None = None
    clip: float | None = None
    weight_decay: float = 0.0
    initial_distance: float = 0.0
    initial_log_sobolev: float | None = None
    marks: Mapping[str, Mark] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.constants():
            object.__setattr__(self, name, _check_constant(name, getattr(self, name)))
        if not isinstance(self.marks, Mapping):
            raise InvalidInput("assumptions.marks", "must be a mapping from constants to marks")
        for name, mark in self.marks.items():
            if name not in self.constants():
                raise InvalidInput(f"assumptions.{name}", "unknown constant")
            if mark not in get_args(Mark):
                raise InvalidInput(f"assumptions.{name}.mark", f"must be one of {get_args(Mark)}")
        known = {name: mark for name, mark in self.marks.items() if getattr(self, name) is not None}
        object.__setattr__(self, "marks", MappingProxyType(known))
        self._check_together()

    def __reduce__(self) -> tuple[object, ...]:
        """How to copy or pickle the record; the mapping proxy of `marks` cannot be pickled."""
        values = [getattr(self, name) for name in self.constants()]
        return type(self), (*values, dict(self.marks))

    def _check_together(self) -> None:
        if self.clip is None and self.smoothness is None:
            raise InvalidInput("assumptions.smoothness", "required unless gradients are clipped")
        if self.clip is None and self.lipschitz is None:
            raise InvalidInput("assumptions.lipschitz", "required unless gradients are clipped")
        if self.smoothness is None:
            return
        if self.weight_decay > self.smoothness:
            raise InvalidInput(
                "assumptions.weight_decay", "larger than smoothness, which includes the ridge"
            )
        convex = self.clip is None and self.strong_convexity is not None
        if convex and (self.strong_convexity or 0.0) > self.smoothness:
            raise InvalidInput("assumptions.strong_convexity", "larger than smoothness")

    @classmethod
    def constants(cls) -> tuple[str, ...]:
        """The names of all constants."""
        return tuple(f.name for f in fields(cls) if f.name != "marks")

    @property
    def regime(self) -> Regime:
        """Which bounds apply: by clipping, then by strong convexity."""
        if self.clip is not None:
            return "clipped"
        if self.strong_convexity is None:
            return "nonconvex"
        return "strongly convex" if self.strong_convexity > 0 else "convex"

    @property
    def diameter(self) -> float:
        """2 R, infinite without a projection."""
        return math.inf if self.radius is None else 2 * self.radius

    def mark(self, name: str) -> Mark:
        """How a constant is known; `assumed` if nothing is said."""
        return self.marks.get(name, "assumed")


def _check_constant(name: str, value: object) -> float | int | None:
    """The constant as a plain number; None where nothing is assumed."""
    if value is None and name not in ("weight_decay", "initial_distance"):
        return None
    check = check_positive if name in ("lipschitz", "radius", "clip") else check_number
    return check(f"assumptions.{name}", value)
