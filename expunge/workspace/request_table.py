"""A table of requests: a column `request` with the name of each, and a column with its ids.

    request,id
    ticket 7,00003
    ticket 7,00140
    ticket 8,00021

Rows of one request need not stand together; requests come in the order in which they begin.
"""

from pathlib import Path

import pyarrow as pa

from expunge.errors import InvalidInput
from expunge.workspace.folder import Folder
from expunge.workspace.options import Options
from expunge.workspace.tables import list_columns, read_table

__all__ = ["NAME", "read_requests"]

NAME = "request"


def read_requests(workspace: Path, file: Path) -> dict[str, list[str]]:
    """The ids of each request, by its name; surrounding spaces do not count.

    The column of ids is called as in the tables of the workspace, or `id`.

    Raises:
        InvalidInput: not such a table, or a row without a name or an id; it is named.
    """
    folder = Folder.opened(workspace)
    known = Options.of(folder.look(lambda entries, _: entries.setting("options"))).id
    folder.ledger.close()
    table = read_table(file, None)
    column = known if known in table.column_names else "id"
    for name in (NAME, column):
        if name not in table.column_names:
            raise InvalidInput(str(file), f"no column {name!r}; there are {list_columns(table)}")
    texts = (_texts_of(file, table, name) for name in (NAME, column))
    requests: dict[str, list[str]] = {}
    for row, (name, record) in enumerate(zip(*texts, strict=True), start=1):
        for what, given in (("name of a request", name), ("id", record)):
            if given is None or not given.strip():
                raise InvalidInput(str(file), f"row {row} has no {what}")
        requests.setdefault(name.strip(), []).append(record.strip())
    return requests


def _texts_of(file: Path, table: pa.Table, name: str) -> list[str | None]:
    """The cells of a column as texts.

    Raises:
        InvalidInput: cells of this type are none.
    """
    try:
        return table[name].cast("string").to_pylist()
    except pa.ArrowException:
        kind = table[name].type
        problem = f"column {name!r} holds {kind}: give names and ids as texts or whole numbers"
        raise InvalidInput(str(file), problem) from None
