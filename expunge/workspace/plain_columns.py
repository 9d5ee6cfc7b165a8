"""Columns in which each value lies in its own row: a row that leaves takes its values along.

A dictionary outlives the rows whose texts it holds, wherever it is nested: in a list, a structure,
a map. Views, and types that other packages register, become the plain type that they stand for.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa

from expunge.errors import InvalidInput

__all__ = ["plain_columns", "plain_type"]


def plain_columns(table: pa.Table, path: Path | str = "records") -> pa.Table:
    """The table with plain columns, and without what a schema tells beside names and types.

    Args:
        path: What the table is from, for a complaint.

    Raises:
        InvalidInput: single rows of a column cannot be taken out; it is named.
    """
    columns = [_plain(path, name, table[name]) for name in table.column_names]
    return pa.table(columns, names=table.column_names)


def _plain(path: Path | str, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    wanted = plain_type(column.type)
    try:
        column = column if wanted == column.type else column.cast(wanted)
        first = column.slice(0, 1)
        first.filter(pa.array([True] * len(first), pa.bool_()))
    except (pa.ArrowException, NotImplementedError) as error:
        raise InvalidInput(
            str(path),
            f"column {name!r} is {column.type}, from which single records cannot be erased: leave "
            "it out of the file",
        ) from error
    return column


def plain_type(kind: Any) -> Any:
    """The type of the same values, each in its own row.

    >>> plain_type(pa.list_(pa.dictionary(pa.int32(), pa.string())))
    ListType(list<item: string>)
    """
    types = pa.types
    if types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return pa.string() if types.is_string_view(kind) else pa.binary()
    if types.is_struct(kind):
        return pa.struct([part.with_type(plain_type(part.type)) for part in kind])
    if types.is_map(kind):
        return pa.map_(plain_type(kind.key_type), plain_type(kind.item_type))
    if types.is_fixed_size_list(kind):
        return pa.list_(_part(kind), kind.list_size)
    if types.is_large_list(kind):
        return pa.large_list(_part(kind))
    return pa.list_(_part(kind)) if types.is_list(kind) else kind


def _part(kind: Any) -> pa.Field:
    return kind.value_field.with_type(plain_type(kind.value_type))
