"""`fit`: two tables in, a workspace out. It appears whole, or not at all."""

import hashlib
import json
import logging
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from expunge.core.part_engine import PartEngine, working
from expunge.core.whole_file import sync, write_whole
from expunge.core.whole_folder import check_new_folder, whole_folder
from expunge.errors import InvalidInput, NoCertificate, NotConverged, SettingsWarning
from expunge.store import sole_writer
from expunge.store.writing import Writer
from expunge.unlearning.linear.estimator import CertifiedClassifier, CertifiedRegressor
from expunge.unlearning.linear.estimator_parameters import check_parameters
from expunge.workspace.csv_tables import PLAIN, CsvForm
from expunge.workspace.dates import DateKind, part_rules, spread_dates
from expunge.workspace.declared_schema import Schema, read_schema
from expunge.workspace.encoding import Category, Encoding, declared, fitted
from expunge.workspace.evaluation import evaluation
from expunge.workspace.feature_maps import Halves, describe_features, with_features
from expunge.workspace.fit_rows import FitRows
from expunge.workspace.folder import Folder
from expunge.workspace.labels import labels_of
from expunge.workspace.options import Options, Settled
from expunge.workspace.private_block import PrivateRules
from expunge.workspace.private_values import Unread
from expunge.workspace.public_records import PUBLIC, write_public
from expunge.workspace.rate import watched_passes
from expunge.workspace.status import status
from expunge.workspace.table_blocks import table_blocks
from expunge.workspace.table_limits import USUAL, TableLimits, check_width
from expunge.workspace.tables import (
    ids_of,
    is_text,
    list_columns,
    read_table,
    refuse_mixed,
)
from expunge.workspace.text_columns import text_rules
from expunge.workspace.understood import describe_fit

__all__ = ["fit"]

LOG = logging.getLogger(__name__)
Progress = Callable[[str], None]
MEMORY = 0.5  # GiB of encoded rows in memory, unless told otherwise


@dataclass(frozen=True)
class _Records:
    path: Path
    table: pa.Table
    ids: list[str]


def fit(
    workspace: Path,
    private: Path,
    public: Path | None,
    options: Options,
    *,
    encoding: Path | None = None,
    schema: Path | None = None,
    limits: TableLimits = USUAL,
    form: CsvForm = PLAIN,
    memory: float = MEMORY,
    engine: str | PartEngine = "local",
    address: str | None = None,
    progress: Progress = lambda _: None,
    notice: Progress = lambda _: None,
) -> dict[str, Any]:
    """Learn from the two tables and lay down a workspace; returns its status.

    Types and labels come from the public table or from declarations, never from private records.
    The private table is read block by block; it may be a folder of files, or a pattern of names.

    Args:
        encoding, schema: Files in which columns are declared; a column in one of them only.
        limits: How large the tables may become.
        form: How CSV files are written.
        memory: GiB that may grow with the rows: masks, what passes know of each row, and encoded
            rows; of those beyond it a few chunks at a time are in memory.
        engine, address: Where the parts of passes are computed: "local", or "ray" with the address
            of a cluster, None for one on this machine.
        notice: Told how many private values could not be read, and of settings that public records
            show to be poor: for the operator alone.

    Raises:
        InvalidInput: what is wrong with a file, a column or an option, and the remedy.
    """
    _check_place(workspace, options)
    if not 0 <= memory < math.inf:
        raise InvalidInput("memory", f"{memory} is no number of GiB")
    progress("reading")
    rules, dates = ({}, {}) if encoding is None else declared(encoding)
    known = Schema() if schema is None else read_schema(schema)
    twice = sorted({*rules, *dates} & set(known.rules))
    if twice:
        problem = f"column {twice[0]!r} is declared in {encoding} as well; keep one of them"
        raise InvalidInput(str(schema), problem)
    rules = part_rules(dates) | rules | known.rules
    texts = [name for name, rule in rules.items() if isinstance(rule, Category)]
    texts += _text_columns(options)
    public_records = _public_records(public, options, texts, limits, form)
    if public_records is not None:
        spread = spread_dates(public_records.path, public_records.table, dates)
        public_records = replace(public_records, table=spread)
    blocks = table_blocks(private, limits, form=form, id_column=options.id, notice=notice)
    file, table = next(blocks)
    first = _Records(file, table, ids_of(file, table, options.id))
    if options.label not in table.column_names:
        there = list_columns(table)
        raise InvalidInput(str(file), f"no column {options.label!r}; there are {there}")
    _check_disjoint(first, public_records)
    first = replace(first, table=spread_dates(file, table, dates, tally=Unread()))
    progress("encoding")
    _check_schema(known, public_records or first, options)
    if options.features == "text":
        rules |= _words(public_records or first, options, rules)
    coded = _encoding(first, public_records, options, rules)
    check_width(public or file, coded.dense_widths, limits)
    public_rows = None
    if public_records is not None:
        public_rows = (
            coded.encode(public_records.path, public_records.table),
            _public_labels(public_records, options),
        )
    if public_records is None and options.classes is None and options.task == "classification":
        raise InvalidInput(
            "classes",
            "without public records, name all labels with --classes: taken from private records "
            "they would tell who is among them",
        )
    if options.features != "linear":
        progress("features")
    coded, halves = with_features(coded, public_rows, options, known.ranges)
    if public_records is not None and public_rows is not None and coded.steps is not None:
        rows = coded.encode(public_records.path, public_records.table)
        public_rows = rows, public_rows[1]
    given = _Given(
        public_records, public_rows, halves, options, coded, memory, dates, set(rules), form.decimal
    )
    with whole_folder(workspace, "fit") as building, working(engine, address) as parts:
        every = chain([(file, table)], blocks)
        model = _build(building, private, every, given, parts, progress, notice)
    return status(workspace) | _capacity_curve(model)


def _capacity_curve(model: CertifiedClassifier | CertifiedRegressor) -> dict[str, Any]:
    """What other capacities would cost, where the noise of learning depends on one."""
    if not (model.observer == "all" and hasattr(model.fitted_.strategy, "capacity")):
        return {}
    try:
        return {"capacity_curve": model.capacity_curve().document()}
    except InvalidInput:  # too few public records say nothing
        return {}


@contextmanager
def _told(notice: Progress) -> Iterator[None]:
    """Tell the operator of poor settings in lines of their own; other warnings stay as they are."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SettingsWarning)
        yield
    for each in caught:
        if issubclass(each.category, SettingsWarning):
            notice(str(each.message))
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


@dataclass(frozen=True)
class _Given:
    """What is known before the private records are read: nothing of it depends on them."""

    public: _Records | None
    public_rows: tuple[np.ndarray, np.ndarray] | None
    halves: Halves
    options: Options
    encoding: Encoding
    memory: float
    dates: dict[str, DateKind]
    declared: set[str]
    decimal: str


def _settled(model: CertifiedClassifier | CertifiedRegressor, given: _Given) -> Settled:
    """What the model was learned with."""
    options, with_public = given.options, given.public is not None
    strategy = model.fitted_.strategy
    norm_chosen = options.row_norm == "public" or (options.row_norm is None and with_public)
    return Settled(
        strategy=strategy.name,
        l2=model.l2_,
        l2_from="public records" if options.l2 == "public" else "given",
        row_norm=model.row_norm_,
        row_norm_from="public records" if norm_chosen else "given",
        capacity=getattr(strategy, "capacity", None),
        features=describe_features(given.encoding),
    )


def _build(
    path: Path,
    private: Path,
    blocks: Iterable[tuple[Path, pa.Table]],
    given: _Given,
    engine: PartEngine,
    progress: Progress,
    notice: Progress,
) -> CertifiedClassifier | CertifiedRegressor:
    """Learn, and write everything that a workspace holds into a folder that is not in use yet."""
    for kind in ("models", "certificates", "records", "secret"):
        (path / kind).mkdir()
    folder = Folder(path)
    folder.ledger.create()
    with sole_writer(folder.saved) as writer:
        rows = _rows(folder, writer, given)
        public = {} if given.public is None else dict.fromkeys(given.public.ids, 0)
        if given.public is not None and given.public_rows is not None:
            rows.write_public(given.public.ids, *given.public_rows)
        rows.write_private(blocks, public, progress)
        rows.unread.tell(private, notice)
        progress("learning")
        watched = watched_passes(engine, rows.rows, "learning", progress)
        model = _learned(rows, given, watched, notice)
        progress("describing")
        understood = _understood(model, given)
        progress("writing")
        seal = writer.prepare(replace(model.generation(folder.saved), chunks=rows.chunks))
        writer.commit(seal)
    _write(folder, given, model, seal, understood)
    LOG.info("fit: %d private records, strategy %s", rows.private, given.options.strategy)
    return model


def _rows(folder: Folder, writer: Writer, given: _Given) -> FitRows:
    """What writes the rows; bound and labels are the public records' or the user's."""
    labels = np.empty(0, dtype=object) if given.public_rows is None else given.public_rows[1]
    none = np.empty((0, 0)) if given.public_rows is None else given.public_rows[0]
    with _refused():
        model = _estimator(given.options, 1, given.public_rows)
        check_parameters(model.get_params(deep=False))
        known = None
        if isinstance(model, CertifiedClassifier):
            known = model.label_set(labels[:0], labels)
        bound = model.row_bound_of(none)
    rules = PrivateRules(given.encoding, given.options, known, given.dates, given.decimal)
    return FitRows(writer, folder.ledger, rules, bound)


def _learned(
    rows: FitRows, given: _Given, engine: PartEngine, notice: Progress
) -> CertifiedClassifier | CertifiedRegressor:
    """The model of rows that were written."""
    model = _estimator(given.options, rows.private, given.public_rows)
    public = np.empty((0, given.encoding.width), dtype=np.float32), np.empty(0)
    if given.public_rows is not None:
        public = given.public_rows[0], rows.targets_of(given.public_rows[1])
    model.choose_on(given.halves)
    with _refused(), _told(notice):
        stored = rows.stored(int(given.memory * 2**30))
        model.fit_stored(stored, public, rows.bound, rows.rules.known, engine)
    return model


def _understood(model: CertifiedClassifier | CertifiedRegressor, given: _Given) -> dict[str, Any]:
    """What was understood of the tables, as a document."""
    seen = None
    if given.public is not None and given.public_rows is not None:
        seen = (given.public.table, *given.public_rows)
    apart = given.halves[0] if given.halves else None
    return describe_fit(model.fitted_, given.options, given.encoding, given.declared, seen, apart)


@contextmanager
def _refused() -> Iterator[None]:
    """What a model objects to, as a line for the user."""
    try:
        yield
    except (ValueError, ArithmeticError, NoCertificate, NotConverged) as error:
        raise InvalidInput("fit", f"{error}{_class_remedy(error)}") from error


def _write(
    folder: Folder,
    given: _Given,
    model: CertifiedClassifier | CertifiedRegressor,
    seal: str,
    understood: dict[str, Any],
) -> None:
    """Write what the workspace holds beside the saved model."""
    public = write_public(folder, None if given.public is None else given.public.table)
    content = model.model_bytes()
    digest = hashlib.sha256(content).hexdigest()
    write_whole(folder.model_file(digest), content)
    with folder.ledger.writing() as entries:
        entries.set("options", json.dumps(asdict(given.options)))
        entries.set("settled", json.dumps(asdict(_settled(model, given))))
        entries.set("encoding", given.encoding.document())
        entries.set("dates", json.dumps(given.dates))
        entries.set("understood", json.dumps(understood))
        entries.set("head", model.fitted_.head.document())
        entries.set(PUBLIC, public)
        scores = None
        if given.public_rows is not None:
            scores = json.dumps(evaluation(model.fitted_.head, *given.public_rows))
        entries.add_model(sha256=digest, seal=seal, evaluation=scores)
    folder.ledger.close()
    for kind in ("models", "certificates", "records", "secret", "."):
        sync(folder.path / kind)


def _check_place(workspace: Path, options: Options) -> None:
    check_new_folder(workspace)
    if options.id == options.label:
        raise InvalidInput("label", f"{options.label!r} is the id column as well")
    if options.id == "prediction" or options.id.startswith("probability_"):
        raise InvalidInput("id", f"a column {options.id!r} is what predict writes; rename it")


def _public_records(
    path: Path | None,
    options: Options,
    texts: Sequence[str],
    limits: TableLimits,
    form: CsvForm,
) -> _Records | None:
    if path is None:
        return None
    table = read_table(path, [options.id, *texts], limits, form=form)
    if options.id in table.column_names:
        return _records(path, table, options.id)
    return _Records(path, table, [f"public row {row}" for row in range(1, table.num_rows + 1)])


def _records(path: Path, table: pa.Table, column: str) -> _Records:
    """The records of a table, whose ids are stored in the form in which they are compared."""
    ids = ids_of(path, table, column)
    if is_text(table[column].type):
        table = table.set_column(table.column_names.index(column), column, pa.array(ids))
    return _Records(path, table, ids)


def _public_labels(public: _Records, options: Options) -> np.ndarray:
    """Read the public records' labels, which must all be of one kind.

    Raises:
        InvalidInput: a label is missing, or is not what the others are.
    """
    labels = labels_of(public.path, public.table, options)
    if options.classes is None and labels.dtype.kind == "U":
        different = np.unique(labels).tolist()
        refuse_mixed(public.path, options.label, different, "name all labels with --classes")
    return labels


def _check_disjoint(private: _Records, public: _Records | None) -> None:
    if public is None:
        return
    both = set(private.ids) & set(public.ids)
    if both:
        raise InvalidInput(str(private.path), f"id {min(both)!r} is in the public table as well")


def _check_schema(schema: Schema, source: _Records, options: Options) -> None:
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


def _words(source: _Records, options: Options, rules: dict[str, Any]) -> dict[str, Any]:
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
    private: _Records,
    public: _Records | None,
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


def _check_declared(private: _Records, columns: list[str], rules: dict[str, Any]) -> list[str]:
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


def _estimator(
    options: Options, count: int, public: tuple[np.ndarray, np.ndarray] | None
) -> CertifiedClassifier | CertifiedRegressor:
    row_norm = options.row_norm
    if row_norm is None:
        row_norm = 2.0 if public is None else "public"
    shared: dict[str, Any] = {
        "epsilon": options.epsilon,
        "delta": min(1e-5, 0.1 / count) if options.delta is None else options.delta,
        "strategy": options.strategy,
        "observer": options.observer,
        "l2": options.l2,
        "row_norm": row_norm,
        "released": options.released,
        "adaptive_requests": options.adaptive_requests,
        "capacity": options.capacity,
    }
    if options.task == "classification":
        return CertifiedClassifier(**shared, classes=options.classes)
    target_norm = options.target_norm
    if target_norm is None:
        if public is None:
            raise InvalidInput("target_norm", "without public records, give the largest |label|")
        target_norm = float(np.abs(public[1]).max())
    return CertifiedRegressor(**shared, target_norm=target_norm)


def _class_remedy(error: Exception) -> str:
    absent = "not in the public label set" in str(error)
    return "; name all labels with --classes" if absent else ""
