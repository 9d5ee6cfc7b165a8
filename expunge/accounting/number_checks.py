"""Checks of the numbers of a history; each returns the value as a plain Python number.

NumPy's scalars are numbers; booleans and texts are not. What lies outside `SMALLEST` to `LARGEST`
would overflow or vanish in products of a few, and counts above 2^53 would not be exact as floats.
"""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from expunge.errors import InvalidInput

__all__ = [
    "LARGEST",
    "MOST_STEPS",
    "SMALLEST",
    "check_count",
    "check_flag",
    "check_number",
    "check_positive",
]

MOST_STEPS = 2**53  # every count must be exact as a float
# Products of a few numbers in this range do not overflow; those that vanish are handled.
SMALLEST, LARGEST = 1e-300, 1e100


def check_number(name: str, value: object) -> float | int:
    """Check that a value is a finite number and not negative; an int stays an int."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise InvalidInput(name, f"must be a number, got {_show(value)}")
    plain: float | int = int(value) if isinstance(value, Integral) else float(value)
    if isinstance(plain, float) and not math.isfinite(plain):
        raise InvalidInput(name, "must be finite")
    if plain < 0:
        raise InvalidInput(name, "must not be negative")
    if plain and not SMALLEST <= plain <= LARGEST:
        raise InvalidInput(name, f"must be 0 or in {SMALLEST:g} to {LARGEST:g}")
    return plain


def check_positive(name: str, value: object) -> float | int:
    """Check that a value is a finite number above 0."""
    plain = check_number(name, value)
    if plain == 0:
        raise InvalidInput(name, "must be positive")
    return plain


def check_count(name: str, value: object, least: int = 0) -> int:
    """Check that a value is a whole number from `least` to 2^53."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise InvalidInput(name, f"must be a whole number, got {_show(value)}")
    plain = int(value)
    if plain < least:
        raise InvalidInput(name, f"must be at least {least}, got {_show(plain)}")
    if plain > MOST_STEPS:
        raise InvalidInput(name, f"must be at most 2**53, got {_show(plain)}")
    return plain


def check_flag(name: str, value: object) -> bool:
    """Check that a value is true or false."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(name, f"must be true or false, got {_show(value)}")
    return bool(value)


def _show(value: Any) -> str:
    """Show the value in one short line."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # an integer of too many digits to be written
        return type(value).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."
