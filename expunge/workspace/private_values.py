"""Private values under types that are public: no record decides whether there is a model.

    number      its value                           cannot be read, or beyond all scales: missing
    text        as it is written                    not among the known values: all 0 (`encoding`)
    label       one of the public or named labels   anything else: a blank row of the first label
    target      its value                           anything else: a blank row of target 0

Each value is read by a rule that looks at it and at public records or declarations only. A refusal
that one private record can cause would tell of that record (THEORY 5.1 d, 2.10). How many values
could not be read is for the operator alone; a column of many (`FEWEST`) in which none can be read
is the operator's mistake, and refused.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from expunge.errors import InvalidInput
from expunge.workspace.encoding import LARGEST, NUMBERS, Encoding, Number
from expunge.workspace.options import Options
from expunge.workspace.table_limits import FEWEST
from expunge.workspace.tables import is_text, number_in, numbers_in

__all__ = ["Label", "Unread", "private_labels", "read_numbers"]

Notice = Callable[[str], None]
Label = str | int


class Unread:
    """Counts private values that cannot be read, over all blocks of a table."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], list[int]] = {}

    def count(self, what: str, kind: str, unread: int, absent: np.ndarray) -> None:
        """Count a block's values of a column.

        Args:
            unread: How many of them cannot be read.
            absent: Which of them have no value for the model, whatever the reason.
        """
        known = self._seen.setdefault((what, kind), [0, 0, 0])
        for place, more in enumerate((unread, int(absent.sum()), len(absent))):
            known[place] += more

    def tell(self, path: Path, notice: Notice) -> None:
        """Tell the operator how many values of each column could not be read.

        Raises:
            InvalidInput: nothing in a column can be read, and it is not a matter of few records.
        """
        for (what, kind), (unread, absent, count) in self._seen.items():
            if unread >= FEWEST and absent == count:
                raise InvalidInput(str(path), f"{what}: no value can be read {kind}")
            if unread:
                notice(f"{path}: {what}: {unread:,} of {count:,} cannot be read {kind}")


def read_numbers(
    path: Path, table: pa.Table, encoding: Encoding, tally: Unread, decimal: str = "."
) -> pa.Table:
    """Read the number columns of a table as numbers; what cannot be read is missing."""
    for name, rule in encoding.rules.items():
        if isinstance(rule, Number) and name in table.column_names:
            values, unread = _numbers(_check_castable(path, name, table[name]), rule, decimal)
            tally.count(f"column {name!r}", "as a number", unread, np.isnan(values))
            place = table.column_names.index(name)
            table = table.set_column(place, name, pa.array(values, from_pandas=True))
    return table


def private_labels(
    path: Path,
    table: pa.Table,
    options: Options,
    known: Sequence[Label] | None,
    tally: Unread,
    decimal: str = ".",
) -> tuple[np.ndarray, np.ndarray]:
    """Read the labels, and tell which rows have none that can be read, so that they are blanked.

    Args:
        known: All labels, of the public records or named by the user; None for a regression.

    Raises:
        InvalidInput: the column is not there.
    """
    name = options.label
    if name not in table.column_names:
        raise InvalidInput(str(path), f"no column {name!r}")
    if known is None:
        column = _check_castable(path, name, table[name])
        values, _ = _numbers(column, Number(0.0, 1.0), decimal)
        blank = np.isnan(values)
        labels, kind = np.where(blank, 0.0, values), "as a number"
    else:
        places = _places(_check_castable(path, name, table[name]), known)
        blank = places < 0
        labels = np.asarray(known)[np.maximum(places, 0)]
        kind = "as one of the labels; name all labels with --classes"
    tally.count(f"labels in {name!r}", kind, int(blank.sum()), blank)
    return labels, blank


def _check_castable(path: Path, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column after checking that its type can be read as numbers or text.

    Raises:
        InvalidInput: by the file's own schema the column holds neither numbers nor text.
    """
    kind = column.type
    if is_text(kind) or pa.types.is_null(kind) or any(is_kind(kind) for is_kind in NUMBERS):
        return column
    raise InvalidInput(str(path), f"column {name!r} is {kind}, neither numbers nor text")


def _numbers(column: pa.ChunkedArray, rule: Number, decimal: str = ".") -> tuple[np.ndarray, int]:
    """Values as float64, NaN where there is none, and how many of these are not just missing."""
    if is_text(column.type):
        values, unread = numbers_in(column, decimal)
        absent = np.isnan(values) & ~unread
    else:
        values = column.cast(pa.float64(), safe=False).to_numpy()
        absent = np.isnan(values)
    with np.errstate(over="ignore", invalid="ignore"):
        beyond = np.abs((values - rule.center) / rule.scale) >= LARGEST
    values = np.where(beyond, math.nan, values)
    return values, int((np.isnan(values) & ~absent).sum())


def _places(column: pa.ChunkedArray, known: Sequence[Label]) -> np.ndarray:
    """Which of the known labels each value is; -1 for none."""
    at = {str(label): place for place, label in enumerate(known)}

    def place(text: str | None) -> int:
        if text is None or text in at:
            return -1 if text is None else at[text]
        value = number_in(text)
        whole = value is not None and math.isfinite(value) and value == int(value)
        written = [
            text.strip().lower(),
            *([str(int(value))] if whole and value is not None else []),
        ]
        return next((at[spelling] for spelling in written if spelling in at), -1)

    texts = column.cast(pa.string()).combine_chunks().dictionary_encode()
    each = np.array([*(place(text) for text in texts.dictionary.to_pylist()), -1])
    return each[texts.indices.fill_null(len(each) - 1).to_numpy(zero_copy_only=False)]
