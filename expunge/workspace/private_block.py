"""A block of a private table, read by rules that are public: ids, values, encoded rows and labels.

`fit` and `add` read with the same rules, so that a record means the same whenever it comes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from expunge.workspace.dates import DateKind, spread_dates
from expunge.workspace.encoding import Encoding
from expunge.workspace.options import Options
from expunge.workspace.plain_columns import plain_columns
from expunge.workspace.private_values import Label, Unread, private_labels, read_numbers
from expunge.workspace.tables import ids_of, is_text

__all__ = ["PrivateBlock", "PrivateRules", "stack_rows"]


@dataclass(frozen=True)
class PrivateBlock:
    """Records of a private table.

    Args:
        table: As they were given, read under public types.
        rows: Encoded, dense or sparse, not yet bounded; those without a label that can be read are
            blank.
    """

    ids: list[str]
    table: pa.Table
    rows: Any
    labels: np.ndarray


@dataclass(frozen=True)
class PrivateRules:
    """How private tables are read.

    Args:
        known: All labels, sorted; None for a regression.
        dates: Columns that are declared dates.
        decimal: The mark in front of a number's fraction, in text.
    """

    encoding: Encoding
    options: Options
    known: np.ndarray | None
    dates: Mapping[str, DateKind] = field(default_factory=dict)
    decimal: str = "."

    def read(self, path: Path, table: pa.Table, unread: Unread, row: int = 1) -> PrivateBlock:
        """Read a block.

        Args:
            unread: Counts what cannot be read.
            row: The number of its first row, in the whole table.

        Raises:
            InvalidInput: a column is missing or of a type that cannot be read, or an id cannot be
                one; it is named.
        """
        table = plain_columns(table, path)
        ids = ids_of(path, table, self.options.id, row)
        if is_text(table[self.options.id].type):  # stored in the form in which ids are compared
            place = table.column_names.index(self.options.id)
            table = table.set_column(place, self.options.id, pa.array(ids))
        table = spread_dates(path, table, self.dates, tally=unread)
        table = read_numbers(path, table, self.encoding, unread, self.decimal)
        rows = self.encoding.encode(path, table)
        known: list[Label] | None = None if self.known is None else self.known.tolist()
        labels, blank = private_labels(path, table, self.options, known, unread, self.decimal)
        return PrivateBlock(ids, table, _blanked(rows, blank), labels)


def stack_rows(parts: Sequence[Any]) -> Any:
    """Encoded rows of several blocks, dense or sparse, one after another."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def _blanked(rows: Any, blank: np.ndarray) -> Any:
    """Encoded rows, of which these are zero."""
    if sparse.issparse(rows):
        return rows.multiply(~blank[:, None]).tocsr()
    rows[blank] = 0
    return rows
