"""What `fit` knows before it reads private records: the public table, rules of columns, labels.

Types and labels come from the public table or from declarations, never from private records.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from expunge.errors import InvalidInput
from expunge.workspace.csv_tables import PLAIN, CsvForm
from expunge.workspace.dates import DateKind, part_rules, spread_dates
from expunge.workspace.declared_schema import Schema, read_schema
from expunge.workspace.encoding import Category, Encoding, declared, fitted
from expunge.workspace.feature_maps import Halves, with_features
from expunge.workspace.labels import labels_of
from expunge.workspace.options import Options
from expunge.workspace.private_values import Unread
from expunge.workspace.table_blocks import table_blocks
from expunge.workspace.table_limits import USUAL, TableLimits, check_width
from expunge.workspace.tables import ids_of, is_text, list_columns, read_table, refuse_mixed
from expunge.workspace.text_columns import text_rules

__all__ = ["Blocks", "Given", "Sources", "TableRecords", "read_given"]

Progress = Callable[[str], None]
Blocks = Iterator[tuple[Path, pa.Table]]


@dataclass(frozen=True)
class Sources:
    """The files of a fit, and how they are written.

    Args:
        private: A table, a folder of files, or a pattern of names.
        encoding, schema: Files in which columns are declared; a column in one of them only.
        limits: How large the tables may become.
        form: How CSV files are written.
    """

    private: Path
    public: Path | None
    encoding: Path | None = None
    schema: Path | None = None
    limits: TableLimits = USUAL
    form: CsvForm = PLAIN


@dataclass(frozen=True)
class TableRecords:
    """Records of a table, whose ids are in the form in which they are compared."""

    path: Path
    table: pa.Table
    ids: list[str]


@dataclass(frozen=True)
class Given:
    """What is known before the private records are read: nothing of it depends on them.

    Args:
        public_rows: Encoded, with their labels.
        declared: Columns whose rules the user gave.
    """

    public: TableRecords | None
    public_rows: tuple[np.ndarray, np.ndarray] | None
    halves: Halves
    options: Options
    encoding: Encoding
    dates: dict[str, DateKind]
    declared: set[str]
    sources: Sources


def read_given(
    sources: Sources, options: Options, progress: Progress, notice: Progress
) -> tuple[Given, Blocks]:
    """Read everything but the private records, of which the first block's columns are checked.

    Returns what is known, and the private table block by block.

    Raises:
        InvalidInput: what is wrong with a file, a column or an option, and the remedy.
    """
    progress("reading")
    rules, dates, known = _declarations(sources)
    texts = [name for name, rule in rules.items() if isinstance(rule, Category)]
    texts += _text_columns(options)
    public = _public_records(sources, options, texts)
    if public is not None:
        public = replace(public, table=spread_dates(public.path, public.table, dates))
    blocks = table_blocks(
        sources.private,
        sources.limits,
        form=sources.form,
        id_column=options.id,
        notice=notice,
    )
    file, table = next(blocks)
    first = _first_records(file, table, options, dates, public)
    progress("encoding")
    _check_schema(known, public or first, options)
    if options.features == "text":
        rules |= _words(public or first, options, rules)
    coded = _encoding(first, public, options, rules)
    check_width(sources.public or file, coded.dense_widths, sources.limits)
    public_rows = None
    if public is not None:
        public_rows = coded.encode(public.path, public.table), _public_labels(public, options)
    elif options.classes is None and options.task == "classification":
        raise InvalidInput(
            "classes",
            "without public records, name all labels with --classes: taken from private records "
            "they would tell who is among them",
        )
    if options.features != "linear":
        progress("features")
    coded, halves = with_features(coded, public_rows, options, known.ranges)
    if public is not None and public_rows is not None and coded.steps is not None:
        public_rows = coded.encode(public.path, public.table), public_rows[1]
    given = Given(public, public_rows, halves, options, coded, dates, set(rules), sources)
    return given, chain([(file, table)], blocks)


def _declarations(sources: Sources) -> tuple[dict[str, Any], dict[str, DateKind], Schema]:
    """Rules and dates that were declared, and the schema.

    Raises:
        InvalidInput: a column is declared twice.
    """
    rules, dates = ({}, {}) if sources.encoding is None else declared(sources.encoding)
    known = Schema() if sources.schema is None else read_schema(sources.schema)
    twice = sorted({*rules, *dates} & set(known.rules))
    if twice:
        problem = f"column {twice[0]!r} is declared in {sources.encoding} as well; keep one of them"
        raise InvalidInput(str(sources.schema), problem)
    return part_rules(dates) | rules | known.rules, dates, known


def _first_records(
    path: Path,
    table: pa.Table,
    options: Options,
    dates: dict[str, DateKind],
    public: TableRecords | None,
) -> TableRecords:
    """The first block of private records, for its columns.

    Raises:
        InvalidInput: it has no labels, or a public record is among them.
    """
    ids = ids_of(path, table, options.id)
    if options.label not in table.column_names:
        there = list_columns(table)
        raise InvalidInput(str(path), f"no column {options.label!r}; there are {there}")
    both = set(ids) & set(() if public is None else public.ids)
    if both:
        raise InvalidInput(str(path), f"id {min(both)!r} is in the public table as well")
    return TableRecords(path, spread_dates(path, table, dates, tally=Unread()), ids)


def _public_records(
    sources: Sources, options: Options, texts: Sequence[str]
) -> TableRecords | None:
    if sources.public is None:
        return None
    path, form = sources.public, sources.form
    table = read_table(path, [options.id, *texts], sources.limits, form=form)
    if options.id in table.column_names:
        return _records(path, table, options.id)
    return TableRecords(path, table, [f"public row {row}" for row in range(1, table.num_rows + 1)])


def _records(path: Path, table: pa.Table, column: str) -> TableRecords:
    """The records of a table, whose ids are stored in the form in which they are compared."""
    ids = ids_of(path, table, column)
    if is_text(table[column].type):
        table = table.set_column(table.column_names.index(column), column, pa.array(ids))
    return TableRecords(path, table, ids)


def _public_labels(public: TableRecords, options: Options) -> np.ndarray:
    """Read the public records' labels, which must all be of one kind.

    Raises:
        InvalidInput: a label is missing, or is not what the others are.
    """
    labels = labels_of(public.path, public.table, options)
    if options.classes is None and labels.dtype.kind == "U":
        different = np.unique(labels).tolist()
        refuse_mixed(public.path, options.label, different, "name all labels with --classes")
    return labels


def _check_schema(schema: Schema, source: TableRecords, options: Options) -> None:
    """Check that the schema is of columns that the model is to see.

    Raises:
        InvalidInput: it declares another; the column is named.
    """
    apart = {options.id, options.label, *options.drop}
    for name in schema.rules:
        if name in apart or name not in source.table.column_names:
            problem = f"column {name!r} is declared but is no feature of {source.path}"
            raise InvalidInput("schema", f"{problem}: correct its name, or leave it out")


def _text_columns(options: Options) -> list[str]:
    """The columns that are named as texts.

    Raises:
        InvalidInput: nothing would become of them.
    """
    if options.text and options.features != "text":
        raise InvalidInput("text-column", "only --features text takes words of a column")
    return list(options.text)


def _words(source: TableRecords, options: Options, rules: dict[str, Any]) -> dict[str, Any]:
    """The rules of columns whose words count."""
    apart, table = {options.id, options.label, *options.drop}, source.table
    texts = [field.name for field in table.schema if is_text(field.type)]
    return text_rules(
        options.text,
        options.text_width,
        path=source.path,
        texts=[name for name in texts if name not in apart],
        declared=rules,
    )


def _encoding(
    private: TableRecords,
    public: TableRecords | None,
    options: Options,
    rules: dict[str, Any],
) -> Encoding:
    apart = {options.id, options.label, *options.drop}
    source = private if public is None else public
    columns = [name for name in source.table.column_names if name not in apart]
    for name in rules:
        if name not in columns:
            raise InvalidInput("encoding", f"column {name!r} is declared but not in {source.path}")
    for name in options.drop:
        if name not in private.table.column_names and name not in source.table.column_names:
            raise InvalidInput("drop", f"no column {name!r}")
    if public is None:
        columns = _check_declared(private, columns, rules)
    for name in private.table.column_names:
        if name not in columns and name not in apart:
            problem = f"column {name!r} is not in {public.path}" if public else name
            remedy = f"leave it out with --drop {json.dumps(name)}"
            raise InvalidInput(str(private.path), f"{problem}: {remedy}")
    if not columns:
        raise InvalidInput(str(source.path), "no columns beside id and label")
    if public is None:
        return Encoding({name: rules[name] for name in columns})
    return fitted(public.path, public.table, columns, rules)


def _check_declared(private: TableRecords, columns: list[str], rules: dict[str, Any]) -> list[str]:
    """Check that every column is declared, as it must be without public records; return them."""
    missing = [name for name in columns if name not in rules]
    if missing:
        listed = ", ".join(repr(name) for name in missing[:5])
        example = json.dumps({"columns": {missing[0]: {"center": 0, "scale": 1}}})
        raise InvalidInput(
            str(private.path),
            f"no public records to take scales and categories from: give --public FILE, or declare "
            f"{listed} with --schema FILE, or with --encoding FILE, a file like {example}, or "
            "--drop them",
        )
    return columns
