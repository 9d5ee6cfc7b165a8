"""How tables of a workspace's kind are read, and the head that answers for their rows.

`predict`, `evaluate` and `add` begin with it. No private record is opened.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pyarrow as pa

from expunge.ledger import Model
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.workspace.csv_tables import CsvForm
from expunge.workspace.current_model import head_of
from expunge.workspace.dates import DateKind, read_dates, spread_dates
from expunge.workspace.encoding import Encoding
from expunge.workspace.folder import Folder
from expunge.workspace.options import Options
from expunge.workspace.table_limits import TableLimits
from expunge.workspace.tables import read_table

__all__ = ["TableReader"]


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
