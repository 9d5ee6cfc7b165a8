"""Columns as numbers, by rules that never look at a private record.

    number    (x - center) / scale              missing: 0, the center
    category  one column for each known value   missing or unknown: all 0
    words     hashed (`text_columns`)           missing: all 0; all of the row is then sparse
    row       all of it divided by sqrt(columns), so that rows of any table have a norm near 1
    features  what a map fitted on public records makes of that, where there is one (`feature_maps`)

Center and scale are the public records' mean and standard deviation, categories their values in
sorted order; or the user declares them. Fitting them on private records would carry those records
past the certificate (THEORY 2.10).
"""

import base64
import binascii
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from scipy import sparse

from expunge.accounting.json_text import parse_json
from expunge.errors import InvalidInput
from expunge.features.frozen_steps import FrozenSteps
from expunge.features.row_blocks import dense
from expunge.features.saved_steps import steps_from, steps_to_bytes
from expunge.workspace.stored_settings import STRICT, damaged, read_setting
from expunge.workspace.tables import compute, is_text, number_in, refuse_mixed
from expunge.workspace.text_columns import Words

__all__ = ["Category", "Declaration", "Encoding", "Number", "Rule", "declared", "fitted"]

MOST_CATEGORIES = 1000
BLOCK = 65_536
NUMBERS = pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal
LARGEST = 1e30  # anything beyond is a mistake, and would overflow float32 squares


@dataclass(frozen=True)
class Number:
    __pydantic_config__: ClassVar = STRICT

    center: float
    scale: Annotated[float, Field(gt=0)]

    @property
    def width(self) -> int:
        return 1

    def encode(self, column: pa.ChunkedArray) -> np.ndarray:
        values = column.cast(pa.float64()).to_numpy()
        return np.nan_to_num((values - self.center) / self.scale, nan=0.0)[:, None]


@dataclass(frozen=True)
class Category:
    __pydantic_config__: ClassVar = STRICT

    values: Annotated[tuple[str, ...], Field(min_length=1)]

    @property
    def width(self) -> int:
        return len(self.values)

    def encode(self, column: pa.ChunkedArray) -> np.ndarray:
        known = compute.index_in(
            column.cast(pa.string()), value_set=pa.array(self.values, pa.string())
        )
        places = known.combine_chunks().fill_null(-1).to_numpy(zero_copy_only=False)
        return (places[:, None] == np.arange(self.width)).astype(np.float64)


Rule = Number | Category | Words
_Rules = dict[str, Rule]


@dataclass(frozen=True)
class Encoding:
    """The rules by which the columns of a table become numbers.

    Args:
        rules: One for each feature column, in the model's order.
        steps: What becomes of encoded rows before the model sees them; None for nothing.
    """

    rules: Mapping[str, Rule] = field(default_factory=dict)
    steps: FrozenSteps | None = None

    @property
    def widths(self) -> dict[str, int]:
        """How many numbers each column becomes."""
        return {name: rule.width for name, rule in self.rules.items()}

    @property
    def dense_widths(self) -> dict[str, int]:
        """The same of columns whose zeros cost as much as other numbers."""
        return {n: rule.width for n, rule in self.rules.items() if not isinstance(rule, Words)}

    @property
    def width(self) -> int:
        """How many numbers the model sees of a row."""
        if self.steps is not None:
            return len(self.steps.feature_names())
        return sum(self.widths.values())

    @property
    def categories(self) -> list[str]:
        """Columns that must be read as text."""
        return [name for name, rule in self.rules.items() if not isinstance(rule, Number)]

    @property
    def _categories(self) -> dict[str, Category]:
        return {name: rule for name, rule in self.rules.items() if isinstance(rule, Category)}

    @property
    def sparse(self) -> bool:
        """Whether encoded rows are sparse ones."""
        return any(isinstance(rule, Words) for rule in self.rules.values())

    def encode(self, path: Path, table: pa.Table) -> Any:
        """Encode a table as numbers: (rows, width) float32; CSR where a column is words.

        Raises:
            InvalidInput: a column that is missing or of another kind, or an infinite number.
        """
        rows = self._columns(path, table)
        return rows if self.steps is None else dense(self.steps.transform(rows))

    def _columns(self, path: Path, table: pa.Table) -> Any:
        """The columns as numbers, before any further step."""
        for name in self.rules:
            if name not in table.column_names:
                raise InvalidInput(str(path), f"no column {name!r}, which the model needs")
        width = sum(self.widths.values())
        starts = range(0, table.num_rows, BLOCK)
        if self.sparse:
            parts = [self._parts(path, table.slice(start, BLOCK), start) for start in starts]
            blocks = [sparse.hstack([each for _, each in part], format="csr") for part in parts]
            empty = sparse.csr_array((0, width), dtype=np.float32)
            return sparse.vstack([empty, *blocks], format="csr", dtype=np.float32)
        encoded = np.empty((table.num_rows, width), dtype=np.float32)
        for start in starts:
            first = 0
            for wide, values in self._parts(path, table.slice(start, BLOCK), start):
                encoded[start : start + BLOCK, first : first + wide] = values
                first += wide
        return encoded

    def _parts(self, path: Path, block: pa.Table, start: int) -> Iterator[tuple[int, Any]]:
        """What each column of a block becomes, and how wide it is.

        Args:
            start: The place of the block's first row in the table.
        """
        for name, rule in self.rules.items():
            try:
                values = rule.encode(block[name]) / math.sqrt(len(self.rules))
            except pa.ArrowException as error:
                row = start + 1 + _first_unread(block[name])
                problem = f"row {row} holds no number in column {name!r}: correct it, or "
                remedy = "leave the cell empty"
                raise InvalidInput(str(path), problem + remedy) from error
            if not isinstance(rule, Words) and not (np.abs(values) < LARGEST).all():
                problem = f"column {name!r} holds a number of {LARGEST:g} scales or more"
                raise InvalidInput(str(path), problem)
            yield rule.width, values if not self.sparse else sparse.csr_array(values)

    def unseen(self, table: pa.Table) -> dict[str, int]:
        """How many texts of each category column are none of its values; 0 is left out."""
        counts = {}
        for name, rule in self._categories.items():
            texts = table[name].cast(pa.string())
            given = compute.fill_null(compute.not_equal(texts, ""), False)
            known = pa.array(rule.values, pa.string())
            strange = compute.invert(compute.is_in(texts, value_set=known))
            counts[name] = compute.sum(compute.and_(given, strange)).as_py() or 0
        return {name: count for name, count in counts.items() if count}

    def document(self) -> str:
        """JSON of the rules, for the ledger; with the steps behind them a pair, never a pickle."""
        rules = {name: asdict(rule) for name, rule in self.rules.items()}
        if self.steps is None:
            return json.dumps(rules)
        return json.dumps([rules, base64.b64encode(steps_to_bytes(self.steps)).decode("ascii")])

    @classmethod
    def of(cls, document: str) -> "Encoding":
        """Read the encoding from the ledger.

        Raises:
            InvalidInput: it is not as `fit` wrote it; the column is named.
        """
        known = read_setting(_Rules | list[_Rules | str], "encoding", document)
        if isinstance(known, dict):
            return cls(known)
        if [type(part) for part in known] != [dict, str]:
            raise damaged("encoding", "neither rules nor a pair of rules and steps")
        try:
            return cls(known[0], steps_from(base64.b64decode(known[1], validate=True)))
        except (binascii.Error, InvalidInput) as error:
            raise damaged("encoding", str(error)) from error


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    center: float = 0.0
    scale: float | None = Field(default=None, gt=0)
    values: list[str] | None = Field(default=None, min_length=1)
    date: Literal["days", "parts"] | None = None


class Declaration(BaseModel):
    """The user's own rules: {"columns": {"age": {"center": 40, "scale": 20},
    "colour": {"values": ["red", "blue"]}, "since": {"date": "days"}}}.
    """

    model_config = ConfigDict(extra="forbid")

    columns: dict[str, _Rule]


def declared(
    path: Path,
) -> tuple[dict[str, Number | Category], dict[str, Literal["days", "parts"]]]:
    """Read the rules that a user declares in a file, and which columns are dates.

    Raises:
        InvalidInput: the file does not hold such rules.
    """
    try:
        text = path.read_text(encoding="utf-8")
        parse_json(text)
        declaration = Declaration.model_validate_json(text)
    except InvalidInput as error:
        raise InvalidInput(str(path), str(error)) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(str(path), "not UTF-8 text") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(f"{path}: {where}".rstrip(": "), first["msg"].lower()) from error
    rules, dates = {}, {}
    for name, rule in declaration.columns.items():
        where = f"{path}: columns.{name}"
        if [rule.scale, rule.values, rule.date].count(None) != 2:
            raise InvalidInput(where, "give either center and scale, or values, or date")
        if rule.date is not None:
            dates[name] = rule.date
            continue
        if rule.values is not None and len(set(rule.values)) < len(rule.values):
            raise InvalidInput(where, "a value is there twice")
        rules[name] = _rule(rule.model_dump())
    return rules, dates


def fitted(
    path: Path,
    table: pa.Table,
    columns: Sequence[str],
    known: Mapping[str, Rule],
) -> Encoding:
    """Fit rules on public records, for columns that the user did not declare.

    Raises:
        InvalidInput: a column that cannot be encoded, with the remedy.
    """
    return Encoding({name: known.get(name) or _fit(path, name, table[name]) for name in columns})


def _fit(path: Path, name: str, column: pa.ChunkedArray) -> Number | Category:
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    remedy = f"leave it out with --drop {json.dumps(name)}, or declare it with --encoding FILE"
    if pa.types.is_null(kind):
        raise InvalidInput(str(path), f"column {name!r} is empty: {remedy}")
    if any(is_kind(kind) for is_kind in NUMBERS):
        values = column.cast(pa.float64()).to_numpy()
        values = values[~np.isnan(values)]
        if not len(values):
            raise InvalidInput(str(path), f"column {name!r} is empty: {remedy}")
        if not (np.abs(values) < LARGEST).all():
            raise InvalidInput(str(path), f"column {name!r} holds a number of {LARGEST:g} or more")
        spread = float(values.std())
        return Number(float(values.mean()), spread if spread > 0 else 1.0)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        example = json.dumps({"columns": {name: {"date": "days"}}})
        remedy += f', as in {example}; or "parts"'
    if not is_text(kind):
        raise InvalidInput(str(path), f"column {name!r} is {kind}: {remedy}")
    values = compute.unique(column.cast(pa.string())).to_pylist()
    refuse_mixed(path, name, values, "declare the column with --encoding FILE", column)
    categories = sorted(value for value in values if value)
    if not categories:
        raise InvalidInput(str(path), f"column {name!r} is empty: {remedy}")
    if len(categories) > MOST_CATEGORIES:
        many = f"column {name!r} has {len(categories):,} different texts"
        raise InvalidInput(str(path), f"{many}, more than {MOST_CATEGORIES:,} categories: {remedy}")
    return Category(tuple(categories))


def _first_unread(column: pa.ChunkedArray) -> int:
    """The place of the first text that is not a number."""
    if not is_text(column.type):
        return 0
    texts = column.cast(pa.string()).to_pylist()
    return next((place for place, text in enumerate(texts) if number_in(text) is None), 0)


def _rule(document: Mapping[str, Any]) -> Number | Category:
    if document.get("values") is not None:
        return Category(tuple(document["values"]))
    return Number(float(document["center"]), float(document["scale"]))
