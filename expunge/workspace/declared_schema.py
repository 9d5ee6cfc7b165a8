"""What the operator declares of the columns, in a file of its own: `fit --schema FILE`.

    {"ranges": {"age": [18, 90]}, "categories": {"town": ["Ulm", "Bonn"]}}        JSON
    ranges = {age = [18, 90]}                                                      TOML (*.toml)
    categories = {town = ["Ulm", "Bonn"]}

A number becomes (x - middle) / (half the range), as `DeclaredColumns` has it, and a category one
column for each value. Ranges also say where trees may cut at random (`--features trees`). It must
come from what is known beforehand, never from private records.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from expunge.accounting.json_text import parse_json
from expunge.errors import InvalidInput
from expunge.features.column_ranges import declared_range
from expunge.workspace.encoding import Category, Number

__all__ = ["Schema", "read_schema"]

EXAMPLE = '{"ranges": {"age": [18, 90]}, "categories": {"town": ["Ulm", "Bonn"]}}'


@dataclass(frozen=True)
class Schema:
    """Ranges of numbers and values of categories, by column."""

    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def rules(self) -> dict[str, Number | Category]:
        """How the columns become numbers."""
        numbers = {
            name: Number((low + high) / 2, (high - low) / 2)
            for name, (low, high) in self.ranges.items()
        }
        return numbers | {name: Category(values) for name, values in self.categories.items()}


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    ranges: dict[str, list[float]] = {}
    categories: dict[str, list[str]] = {}


def read_schema(path: Path) -> Schema:
    """Read a schema from a file of JSON or, if its name says so, of TOML.

    Raises:
        InvalidInput: it is none; the column is named, and what it should be.
    """
    content = _content(path)
    try:
        given = _File.model_validate(content, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        problem = f"{first['msg'].lower()}; a schema is like {EXAMPLE}"
        raise InvalidInput(f"{path}: {where}".rstrip(": "), problem) from error
    both = sorted(set(given.ranges) & set(given.categories))
    if both:
        problem = "has a range and categories; a column is a number or a category, keep one"
        raise InvalidInput(f"{path}: {both[0]!r}", problem)
    ranges = {
        name: declared_range(f"{path}: ranges.{name}", pair) for name, pair in given.ranges.items()
    }
    for name, values in given.categories.items():
        _check_values(f"{path}: categories.{name}", values)
    return Schema(ranges, {name: tuple(values) for name, values in given.categories.items()})


def _content(path: Path) -> Any:
    """What the file holds.

    Raises:
        InvalidInput: it is no text of its kind.
    """
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            return tomllib.loads(text)
        return parse_json(text)
    except UnicodeDecodeError as error:
        raise InvalidInput(str(path), "not UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(str(path), f"not TOML ({error})") from error
    except OSError as error:
        raise InvalidInput(str(path), f"cannot be read ({error.strerror})") from error
    except InvalidInput as error:
        remedy = f"{error}; a schema is like {EXAMPLE}, or TOML in a file named *.toml"
        raise InvalidInput(str(path), remedy) from error


def _check_values(where: str, values: list[str]) -> None:
    if not values:
        raise InvalidInput(where, "no values: name each that may occur, or leave the column out")
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise InvalidInput(where, f"{twice[0]!r} is there twice; name each value once")
