"""Learning from tables that are understood, and what a workspace keeps of it beside the model."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np

from expunge.core.part_engine import PartEngine
from expunge.core.whole_file import sync, write_whole
from expunge.errors import InvalidInput, NoCertificate, NotConverged
from expunge.ledger import Ledger
from expunge.store import Generation
from expunge.store.writing import Writer
from expunge.unlearning.linear.estimator import CertifiedClassifier, CertifiedRegressor
from expunge.unlearning.linear.estimator_parameters import check_parameters
from expunge.workspace.evaluation import evaluation
from expunge.workspace.fit_rows import FitRows
from expunge.workspace.fit_tables import Blocks, Given
from expunge.workspace.folder import PUBLIC, Folder
from expunge.workspace.options import Options
from expunge.workspace.private_block import PrivateRules
from expunge.workspace.public_records import write_public
from expunge.workspace.rate import watched_passes
from expunge.workspace.spoken_warnings import telling
from expunge.workspace.understood import describe_fit

__all__ = ["Learned", "learn", "rows_of", "write_beside", "write_rows"]

Estimator = CertifiedClassifier | CertifiedRegressor
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Learned:
    """A model that was learned, and the chunks of its rows, which are written.

    Args:
        understood: What was understood of the tables, as a document.
    """

    given: Given
    model: Estimator
    rows: FitRows
    understood: dict[str, Any]

    def generation(self, folder: Folder) -> Generation:
        """What the store is to keep."""
        return replace(self.model.generation(folder.saved), chunks=self.rows.chunks)

    def capacity_curve(self) -> dict[str, Any]:
        """What other capacities would cost, where the noise of learning depends on one."""
        model = self.model
        if not (model.observer == "all" and hasattr(model.fitted_.strategy, "capacity")):
            return {}
        try:
            return {"capacity_curve": model.capacity_curve().document()}
        except InvalidInput:  # too few public records say nothing
            return {}


def rows_of(writer: Writer, ledger: Ledger, given: Given) -> FitRows:
    """What writes the rows; bound and labels are the public records' or the user's.

    Raises:
        InvalidInput: an option that no model has.
    """
    labels = np.empty(0, dtype=object) if given.public_rows is None else given.public_rows[1]
    none = np.empty((0, 0)) if given.public_rows is None else given.public_rows[0]
    with _refused():
        model = _estimator(given.options, 1, given.public_rows)
        check_parameters(model.get_params(deep=False))
        known = None
        if isinstance(model, CertifiedClassifier):
            known = model.label_set(labels[:0], labels)
        bound = model.row_bound_of(none)
    rules = PrivateRules(
        given.encoding, given.options, known, given.dates, given.sources.form.decimal
    )
    return FitRows(writer, ledger, rules, bound)


def write_rows(
    rows: FitRows, given: Given, blocks: Blocks, progress: Progress, notice: Progress
) -> None:
    """Write the rows of the tables, public ones first.

    Raises:
        InvalidInput: what is wrong with a table, or an id that is there twice.
    """
    public = {} if given.public is None else dict.fromkeys(given.public.ids, 0)
    if given.public is not None and given.public_rows is not None:
        rows.write_public(given.public.ids, *given.public_rows)
    rows.write_private(blocks, public, progress)
    rows.unread.tell(given.sources.private, notice)


def learn(
    rows: FitRows,
    given: Given,
    *,
    memory: float,
    engine: PartEngine,
    released_before: bool = False,
    progress: Progress,
    notice: Progress,
) -> Learned:
    """Learn from rows that are written.

    Args:
        memory, engine: As for `fit`.
        released_before: A model of an earlier fit was handed out.

    Raises:
        InvalidInput: what a model objects to.
    """
    progress("learning")
    watched = watched_passes(engine, rows.rows, "learning", progress)
    model = _estimator(given.options, rows.private, given.public_rows)
    encoded = np.empty((0, given.encoding.width), dtype=np.float32), np.empty(0)
    if given.public_rows is not None:
        encoded = given.public_rows[0], rows.targets_of(given.public_rows[1])
    model.choose_on(given.halves)
    with _refused(), telling(notice):
        stored, known = rows.stored(int(memory * 2**30)), rows.rules.known
        model.fit_stored(
            stored, encoded, rows.bound, known, watched, released_before=released_before
        )
    progress("describing")
    return Learned(given, model, rows, _understood(model, given))


def write_beside(
    folder: Folder, learned: Learned, public: str
) -> tuple[dict[str, str], dict[str, Any]]:
    """Write the files of a fit that lie beside the saved model, under names that are not in use.

    Returns the ledger's settings, and what it notes of the model.

    Args:
        public: The name of the file of the public records.
    """
    given, model = learned.given, learned.model
    table = None if given.public is None else given.public.table
    setting = write_public(folder, table, public)
    content = model.model_bytes()
    digest = sha256(content).hexdigest()
    write_whole(folder.model_file(digest), content)
    for kind in ("models", "records"):
        sync(folder.path / kind)
    head, scores = model.fitted_.head, None
    if given.public_rows is not None:
        scores = json.dumps(evaluation(head, *given.public_rows))
    settings = {
        "options": json.dumps(asdict(given.options)),
        "encoding": given.encoding.document(),
        "dates": json.dumps(given.dates),
        "understood": json.dumps(learned.understood),
        "head": head.document(),
        PUBLIC: setting,
    }
    return settings, {"sha256": digest, "evaluation": scores}


def _understood(model: Estimator, given: Given) -> dict[str, Any]:
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


def _estimator(
    options: Options, count: int, public: tuple[np.ndarray, np.ndarray] | None
) -> Estimator:
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
