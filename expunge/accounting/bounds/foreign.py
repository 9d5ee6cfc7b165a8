"""Bounds that other packages offer, under the entry point group `expunge.bounds`.

    [project.entry-points."expunge.bounds"]
    composition = "expunge_example.composition:bound"

is listed as `expunge-example:composition`: the package's name belongs to the bound's, so that no
package can take the place of one of ours or of another's. Nobody here has checked their theorems:
they are listed beside ours and never `best` unless they are asked for, and whatever they do wrong
is a refusal of that one bound.
"""

import functools
import math
import numbers
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from types import MappingProxyType
from typing import Any

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.bounds import BOUNDS
from expunge.accounting.bounds.guarantee import GDP, Guarantee
from expunge.accounting.history import History
from expunge.errors import InvalidInput, MissingPackage, Refused

__all__ = ["GROUP", "NAME", "ForeignBound", "find_bound", "installed", "is_foreign"]

GROUP = "expunge.bounds"
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*:[A-Za-z0-9][A-Za-z0-9._-]*"  # package:bound


@dataclass(frozen=True)
class ForeignBound:
    """A bound of another package, loaded when it is first asked."""

    package: str
    entry: metadata.EntryPoint

    @property
    def name(self) -> str:
        """The name under which it is listed: `package:bound`."""
        return f"{self.package}:{self.entry.name}"

    def guarantee(self, assumptions: Assumptions, history: History) -> Guarantee:
        """The guarantee that the package's function returns, with every answer checked.

        Raises:
            Refused: it does not load, refuses, fails or answers nonsense; the reason says which.
        """
        if not re.fullmatch(NAME, self.name):
            raise Refused("its name may have letters, digits, dots, hyphens and underscores only")
        if self.entry.name in BOUNDS:
            raise Refused(f"{self.entry.name!r} is a bound of expunge: it cannot be overridden")
        given = _ask(lambda: self.entry.load()(assumptions, history))
        if type(given) is GDP:
            return GDP(_sensible("mu", given.mu))
        if not callable(getattr(given, "epsilon", None)):
            raise Refused(f"answers nonsense: {type(given).__name__} is no guarantee")
        return Watched(given)


@dataclass(frozen=True)
class Watched:
    """A guarantee of another package whose every answer is checked."""

    given: Any

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon at this delta, checked."""
        return _sensible("epsilon", _ask(lambda: self.given.epsilon(delta)))

    def renyi(self, order: float) -> float | None:
        """D_alpha at this order, checked; None if the bound has none."""
        value = _ask(lambda: self.given.renyi(order))
        return None if value is None else _sensible("renyi", value)


@functools.cache
def installed() -> MappingProxyType[str, ForeignBound]:
    """Every bound that installed packages offer, by name; looked up once in a process."""
    offered = [
        ForeignBound(entry.dist.name, entry)
        for entry in metadata.entry_points(group=GROUP)
        if entry.dist is not None
    ]
    return MappingProxyType(
        {bound.name: bound for bound in sorted(offered, key=lambda bound: bound.name)}
    )


def is_foreign(name: str | None) -> bool:
    """Whether a bound of this name is another package's."""
    return name is not None and ":" in name


def find_bound(name: str) -> ForeignBound:
    """Find the bound called `package:name`, or `name` alone if only one package offers it.

    Raises:
        MissingPackage: the package that the name begins with is not installed or has no such bound.
        InvalidInput: no package, several packages, or expunge itself has a bound of this name.
    """
    offered = installed()
    if not isinstance(name, str):
        raise InvalidInput("bound", f"must be the name of a bound, not {name!r}")
    if name in offered:
        return offered[name]
    if is_foreign(name):
        package = name.split(":")[0]
        why = f"{name} needs the package {package}, which is not installed or has no such bound"
        raise MissingPackage("bound", why)
    if name in BOUNDS:
        raise InvalidInput(
            "bound", f"{name} is one of expunge's own, of which the smallest is taken"
        )
    named = [bound for bound in offered.values() if bound.entry.name == name]
    if len(named) == 1:
        return named[0]
    known = ", ".join(bound.name for bound in named or offered.values()) or "none is installed"
    problem = "is offered by several packages" if named else "is not offered by any package"
    raise InvalidInput("bound", f"{name!r} {problem}: {known}")


def _ask(question: Callable[[], Any]) -> Any:
    """Call foreign code and return its answer; turn every failure into a refusal."""
    try:
        return question()
    except Refused:
        raise
    except (Exception, SystemExit) as error:
        words = " ".join(str(error).split())[:200]
        raise Refused(f"fails with {type(error).__name__}: {words}") from error


def _sensible(what: str, value: object) -> float:
    """Check that an answer is a finite number and not negative.

    Raises:
        Refused: the answer is anything else.
    """
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number) and number >= 0:
            return number
    raise Refused(f"answers nonsense: {what} is {value!r:.60}")
