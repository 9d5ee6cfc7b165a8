"""How tables of a workspace's kind are read, and the head that answers for their rows.

`predict`, `evaluate` and `add` begin with it. No private record is opened.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pyarrow as pa

from expunge.errors import InvalidInput
from expunge.ledger import Model
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.workspace.csv_tables import CsvForm
from expunge.workspace.current_model import head_of
from expunge.workspace.dates import DateKind, read_dates, spread_dates
from expunge.workspace.encoding import Encoding, Number
from expunge.workspace.folder import Folder
from expunge.workspace.options import Options
from expunge.workspace.table_blocks import table_blocks
from expunge.workspace.table_limits import TableLimits
from expunge.workspace.tables import ids_of, is_text, numbers_in, read_table

__all__ = ["ReadBlock", "TableReader"]


@dataclass(frozen=True)
class TableReader:
    """What `fit` settled of tables, and the current model."""

    options: Options
    encoding: Encoding
    dates: Mapping[str, DateKind]
    model: Model
    head: LinearHead

    @classmethod
    def of(cls, folder: Folder) -> Self:
        """Read it from a workspace.

        Raises:
            InvalidInput: a setting or the model's file is damaged.
        """
        options, encoding, dates = folder.look(
            lambda entries, _: (
                entries.setting("options"),
                entries.setting("encoding"),
                entries.find_setting("dates"),
            )
        )
        model, head = folder.steady(
            lambda entries, model: (model, entries.setting("head")),
            lambda said: (said[0], head_of(folder, *said)),
        )
        return cls(Options.of(options), Encoding.of(encoding), read_dates(dates), model, head)

    def read(self, path: Path, limits: TableLimits, form: CsvForm) -> pa.Table:
        """Read a table whose rows are to be encoded.

        Raises:
            InvalidInput: it cannot be read, or lacks a column that is declared a date.
        """
        table = read_table(path, [self.options.id, *self.encoding.categories], limits, form=form)
        return spread_dates(path, table, self.dates)

    def blocks(
        self, path: Path, limits: TableLimits, form: CsvForm, rows: int, *, labels: bool
    ) -> Iterator["ReadBlock"]:
        """Read a table, one file or many, so many rows at a time.

        Nothing of a CSV is guessed: what the model takes for numbers is read as `fit` reads it.

        Args:
            labels: The labels are needed, so those of a regression are read too. Whoever predicts
                looks at no label, and a column of that name may hold anything.

        Raises:
            InvalidInput: as `read`, or a cell holds no number where the model needs one; the row is
                named.
        """
        first, numbers = 1, self._number_columns(labels)
        for file, table in table_blocks(path, limits, rows, form=form, private=False):
            spread = spread_dates(file, table, self.dates, first=first)
            read = _with_numbers(file, spread, first, form.decimal, numbers)
            yield ReadBlock(file, read, first)
            first += table.num_rows

    def _number_columns(self, labels: bool) -> list[str]:
        names = [name for name, rule in self.encoding.rules.items() if isinstance(rule, Number)]
        return (
            [*names, self.options.label] if labels and self.options.task == "regression" else names
        )


@dataclass(frozen=True)
class ReadBlock:
    """Some rows of a table, ready to be encoded.

    Args:
        path: The file that they are from.
        first: The number of the first of them in the whole table, from 1.
    """

    path: Path
    table: pa.Table
    first: int

    def ids(self, column: str) -> list[str]:
        """The ids of these rows.

        Raises:
            InvalidInput: as `tables.ids_of`.
        """
        return ids_of(self.path, self.table, column, self.first)


def _with_numbers(
    path: Path, table: pa.Table, first: int, decimal: str, names: Iterable[str]
) -> pa.Table:
    """The table with texts as numbers, in these of its columns.

    Raises:
        InvalidInput: a text is none; its row is named.
    """
    for name in names:
        if name in table.column_names and is_text(table[name].type):
            values, unread = numbers_in(table[name], decimal)
            if unread.any():
                row = first + int(unread.argmax())
                problem = f"row {row} holds no number in column {name!r}: correct it, or leave "
                raise InvalidInput(str(path), f"{problem}the cell empty")
            place = table.column_names.index(name)
            table = table.set_column(place, name, pa.array(values, from_pandas=True))
    return table
