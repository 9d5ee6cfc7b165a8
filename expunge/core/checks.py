"""Parameters, checked where they enter: each rule returns the value as a plain number, or refuses.

    check_fields(self, tolerance=positive, learn_steps=count(2), sigma=optional(positive))

A refusal is one line that names the parameter. NumPy's scalars are numbers; booleans, texts and
tensors are not. Numbers lie where products of a few of them neither overflow nor vanish.
"""

import math
import os
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch

from expunge.errors import InvalidInput

__all__ = [
    "Rule",
    "array",
    "as_float",
    "check_fields",
    "check_values",
    "choice",
    "count",
    "device",
    "either",
    "flag",
    "function",
    "instance",
    "integer",
    "not_negative",
    "number",
    "open_share",
    "optional",
    "path_like",
    "positive",
    "positive_or_infinite",
    "share",
    "whole_numbers",
]

Rule = Callable[[str, Any], Any]
SMALLEST, LARGEST = 1e-300, 1e100
MOST = 2**53  # every count must be exact as a float


def check_fields(record: object, **rules: Rule) -> None:
    """Check the named fields of a frozen record, and replace each by what its rule returns."""
    for name, rule in rules.items():
        object.__setattr__(record, name, rule(name, getattr(record, name)))


def check_values(values: Mapping[str, Any], **rules: Rule) -> dict[str, Any]:
    """Check the named values, and return what their rules make of them."""
    return {name: rule(name, values[name]) for name, rule in rules.items()}


def number(name: str, value: Any) -> float | int:
    """Accept any finite number; an int stays an int."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise InvalidInput(name, f"must be a number, not {_describe(value)}")
    plain = int(value) if isinstance(value, Integral) else float(value)
    if isinstance(plain, float) and not math.isfinite(plain):
        raise InvalidInput(name, f"{plain} must be finite")
    if plain and not SMALLEST <= abs(plain) <= LARGEST:
        raise InvalidInput(name, f"{_describe(plain)} must be within {SMALLEST:g} to {LARGEST:g}")
    return plain


def as_float(rule: Rule) -> Rule:
    """A rule that returns what the other rule returns, as a float: torch has no large integers."""
    return lambda name, value: float(rule(name, value))


def positive(name: str, value: Any) -> float | int:
    plain = number(name, value)
    if not plain > 0:
        raise InvalidInput(name, f"{plain} must be positive")
    return plain


def not_negative(name: str, value: Any) -> float | int:
    plain = number(name, value)
    if plain < 0:
        raise InvalidInput(name, f"{plain} must not be negative")
    return plain


def positive_or_infinite(name: str, value: Any) -> float | int:
    """Accept a positive number, or infinity where there is no bound."""
    if isinstance(value, Real) and float_of(value) == math.inf:
        return math.inf
    return positive(name, value)


def share(name: str, value: Any) -> float | int:
    """Accept a number in (0, 1]."""
    plain = number(name, value)
    if not 0 < plain <= 1:
        raise InvalidInput(name, f"{plain} must be in (0, 1]")
    return plain


def open_share(name: str, value: Any) -> float | int:
    """Accept a number in (0, 1)."""
    plain = number(name, value)
    if not 0 < plain < 1:
        raise InvalidInput(name, f"{plain} must be in (0, 1)")
    return plain


def integer(name: str, value: Any) -> int:
    """Accept a whole number of any sign, such as a seed."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise InvalidInput(name, f"must be an integer, not {_describe(value)}")
    return int(value)


def count(least: int = 0) -> Rule:
    """A rule that accepts whole numbers from `least` on."""

    def rule(name: str, value: Any) -> int:
        plain = integer(name, value)
        if not least <= plain <= MOST:
            raise InvalidInput(name, f"{_describe(plain)} must be at least {least}, at most 2**53")
        return plain

    return rule


def whole_numbers(least: int = 0) -> Rule:
    """A rule that accepts a sequence of counts."""

    def rule(name: str, value: Any) -> tuple[int, ...]:
        if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
            raise InvalidInput(name, f"must be a list of integers, not {_describe(value)}")
        return tuple(count(least)(name, each) for each in value)

    return rule


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(name, f"must be True or False, not {_describe(value)}")
    return bool(value)


def choice(*words: str) -> Rule:
    """A rule that accepts these words and no others."""

    def rule(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            listed = ", ".join(repr(word) for word in words[:-1])
            listed = f"{listed} or {words[-1]!r}" if listed else repr(words[-1])
            raise InvalidInput(name, f"{_describe(value)} must be {listed}")
        return value

    return rule


def either(word: str, rule: Rule) -> Rule:
    """A rule that accepts this word, and whatever the other rule accepts."""

    def check(name: str, value: Any) -> Any:
        if isinstance(value, str):
            if value == word:
                return value
            raise InvalidInput(name, f"{_describe(value)} must be {word!r} or a number")
        return rule(name, value)

    return check


def optional(rule: Rule) -> Rule:
    """A rule that accepts None, and whatever the other rule accepts."""
    return lambda name, value: None if value is None else rule(name, value)


def instance(kind: type, words: str) -> Rule:
    """A rule that accepts objects of this kind; `words` says in a refusal what was expected."""

    def rule(name: str, value: Any) -> Any:
        if not isinstance(value, kind) or isinstance(value, type):
            raise InvalidInput(name, f"must be {words}, not {_describe(value)}")
        return value

    return rule


def function(name: str, value: Any) -> Any:
    """Accept anything that can be called."""
    if not callable(value):
        raise InvalidInput(name, f"must be a function, not {_describe(value)}")
    return value


def path_like(name: str, value: Any) -> Any:
    """Accept a path, as text or as Python's own."""
    if not isinstance(value, str | os.PathLike):
        raise ValueError(f"{name}: must be a path, not {_describe(value)}")
    return value


def array(name: str, value: Any) -> np.ndarray:
    """Accept numbers as a float64 array; the caller checks whether they are finite."""
    problem = f"{name}: must be an array of numbers, not {_describe(value)}"
    if value is None:  # NumPy would make it a NaN
        raise ValueError(problem)
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(problem) from error


def device(name: str, value: Any) -> Any:
    """Accept a CPU or CUDA device that exists here, as text or as torch's own."""
    if not isinstance(value, str | torch.device):
        raise InvalidInput(name, f"must be 'cpu' or 'cuda', not {_describe(value)}")
    try:
        place = torch.device(value)
    except (RuntimeError, ValueError):
        place = None
    if place is None or place.type not in ("cpu", "cuda"):
        raise InvalidInput(name, f"{_describe(value)} must be 'cpu' or 'cuda'")
    there = place.type == "cpu" or (
        torch.cuda.is_available() and (place.index or 0) < torch.cuda.device_count()
    )
    if not there:
        raise InvalidInput(name, f"{_describe(value)} is not available; use 'cpu'")
    return value


def float_of(value: Any) -> float:
    """The number as a float; an integer too large for one is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _describe(value: Any) -> str:
    """The value in one short line."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # an integer of too many digits to be written
        return type(value).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."
