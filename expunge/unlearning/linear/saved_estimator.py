"""A fitted linear model on disk, and back: safetensors and JSON in a store, never pickle.

document    parameters, terms, labels, ids, history
state       what the next request starts from: un-noised solutions, Gram matrices
rows        features and targets, in chunks; a request rewrites those that hold its records
steps       preprocessing, where there is any: one chunk, written at the first save
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of
from safetensors.torch import save as tensor_bytes
from torch import Tensor

from expunge.errors import Altered, InvalidInput
from expunge.features.frozen_steps import FrozenSteps
from expunge.features.saved_steps import steps_from, steps_to_bytes
from expunge.losses import Declared
from expunge.store import (
    Chunk,
    Generation,
    NewChunk,
    Saved,
    erase_rows,
    read,
    read_steadily,
    split,
    unpack,
    write,
)
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.linear.public_ridge import PublicRidge
from expunge.unlearning.model_file import salt_in
from expunge.unlearning.row_store import RowStore
from expunge.unlearning.saved_checks import check_certificate
from expunge.unlearning.saved_state import (
    ids_document,
    lineage_of,
    outcome_document,
    restore_outcome,
    restore_roster,
    restore_terms,
    secret_tensors,
    terms_document,
)
from expunge.unlearning.settings import describe, rebuild

__all__ = ["read_fitted", "write_fitted"]

Made = TypeVar("Made")
ROWS = "rows"  # the table of features and targets
STEPS = "steps"  # the table of preprocessing, of one row
POINTS = ("start", "center")


def write_fitted(
    fitted: LinearFitted, folder: str | Path, kind: str, parameters: Mapping[str, Any]
) -> None:
    """Save a fitted model into a folder, in place of the state before.

    Args:
        kind: Which estimator it belongs to.
        parameters: What JSON is to bring back for the estimator.

    Raises:
        ValueError: the folder holds something else, a later request or another fit's, or the
            model has a loss of the user's.
        NoCertificate: the stored records changed.
    """
    fitted.check_unchanged()
    if isinstance(fitted.job.loss, Declared):
        raise InvalidInput("loss", "a function cannot be saved; save the data and fit again")
    generation = Generation(
        kind,
        lineage_of(fitted),
        _document(fitted) | {"parameters": dict(parameters)},
        tensor_bytes(_state(fitted)),
        fitted.model_bytes,
        fitted.certificate,
        _chunks(fitted, Path(folder)),
    )
    write(folder, generation)


def read_fitted(
    folder: str | Path,
    kinds: Collection[str],
    make: Callable[[LinearFitted, str, dict[str, Any]], Made],
) -> Made:
    """What the caller makes of a saved fitted model, its estimator's kind and parameters.

    Args:
        kinds: Of estimators that the caller can make.
        make: Makes the estimator; what it finds wrong with the parameters is refused here.

    Raises:
        ValueError: not such a folder, of an earlier version, or changed since.
    """
    return read_steadily(folder, partial(_whole, kinds, make))


def _whole(
    kinds: Collection[str],
    make: Callable[[LinearFitted, str, dict[str, Any]], Made],
    saved: Saved,
) -> Made:
    if saved.index.kind not in kinds:
        raise InvalidInput(
            str(saved.folder), f"holds a {saved.index.kind}, not one of {', '.join(kinds)}"
        )
    try:
        return make(_restored(saved), saved.index.kind, dict(saved.document["parameters"]))
    except Altered:
        raise
    except (LookupError, TypeError, AttributeError, AssertionError, ValueError, RuntimeError,
            ArithmeticError, SafetensorError) as error:  # fmt: skip
        why = " ".join(str(error).split())
        raise InvalidInput(str(saved.folder), f"not a saved estimator ({why})") from error


def _document(fitted: LinearFitted) -> dict[str, Any]:
    roster = fitted.job.roster
    return {
        "terms": terms_document(fitted),
        "strategy": describe(fitted.strategy, "strategy"),
        "outcome": outcome_document(fitted.outcome),
        "device": str(fitted.job.features.device),
        "labels": fitted.labels,
        "ridge": None if fitted.ridge is None else fitted.ridge.document(),
        "head": fitted.head.document(),
        "public": roster.public,
        "private": roster.private,
        "ids": ids_document(roster),
        "sizes": list(roster.sizes) if roster.joined else None,
    }


def _state(fitted: LinearFitted) -> dict[str, Tensor]:
    points = {name: getattr(fitted.job, name) for name in POINTS}
    tensors = {
        "left": fitted.job.roster.left,
        "fingerprint": torch.tensor(list(fitted.fingerprint or b""), dtype=torch.uint8),
        **secret_tensors(fitted.outcome),
        **{name: point for name, point in points.items() if point is not None},
    }
    return {name: value.contiguous().cpu().clone() for name, value in tensors.items()}


def _chunks(fitted: LinearFitted, folder: Path) -> Iterator[Chunk | NewChunk]:
    """The rows; of those that the folder holds, only chunks with rows that left since.

    What stays is not read: the index keeps its digest, against which every reader holds it. Rows
    that joined since follow in chunks of their own.
    """
    before, roster, there = _state_before(fitted, folder), fitted.job.roster, 0
    if before is not None:
        there = roster.sizes[len(before.index.lineage.issued)]
        gone = roster.departures[len(before.index.lineage.issued) :]
        left = [int(row) for rows in gone for row in rows if row < there]
        yield from erase_rows(before, ROWS, left)
        yield from before.chunks(STEPS)
    elif fitted.preprocessing is not None:
        yield NewChunk(STEPS, 0, 1, steps_to_bytes(fitted.preprocessing), "skops")
    if there < roster.records:
        columns = {"features": fitted.job.features, "targets": fitted.job.targets}
        arrays = {name: column[there:].cpu().numpy() for name, column in columns.items()}
        yield from split(ROWS, arrays, offset=there)


def _state_before(fitted: LinearFitted, folder: Path) -> Saved | None:
    """An earlier state of the same fit, if the folder holds one with all its chunks."""
    try:
        before = read(folder)
        if before.index.lineage.fit != fitted.lineage:
            return None
        if not all(before.has(chunk) for chunk in before.index.chunks):
            return None  # all of them are written anew from memory
    except InvalidInput:
        return None  # nothing is there, or the writer will say what is wrong with it
    return before


def _rows(saved: Saved, chunk: Chunk, head: LinearHead) -> dict[str, np.ndarray]:
    """The rows of a chunk, held against the constants that their certificates rest on.

    Raises:
        Altered: rows above the bound, or targets that the loss does not know; the file is named.
    """
    rows = unpack(saved.rows(chunk))
    norms = np.linalg.norm(rows["features"].astype(np.float64), axis=1)
    targets, problem = rows["targets"], None
    if not (norms <= head.loss.row_norm).all():
        problem = f"holds rows of norm above {head.loss.row_norm:g}, the bound that is certified"
    elif not np.isfinite(targets).all():
        problem = "holds targets that are not finite"
    elif head.classes is not None and not np.isin(targets, np.arange(len(head.classes))).all():
        problem = f"holds labels other than the {len(head.classes)} that are known"
    if problem is not None:
        raise Altered(str(saved.path_of(chunk)), problem)
    return rows


def _steps(saved: Saved) -> FrozenSteps | None:
    """The preprocessing of a folder; None if it has none."""
    chunks = saved.chunks(STEPS)
    return steps_from(saved.rows(chunks[0])) if chunks else None


def _restored(saved: Saved) -> LinearFitted:
    """The fitted model of a folder.

    Raises:
        ValueError: its parts do not belong together.
    """
    document, tensors, model = saved.document, tensors_of(saved.state()), saved.model()
    for_job, for_fitted = restore_terms(document["terms"])
    outcome = restore_outcome(document["outcome"], tensors_of(model), tensors)
    head = LinearHead.of(outcome.theta, document["head"])
    counts = document["private"], document["public"]
    roster = restore_roster(document["ids"], *counts, tensors["left"], document.get("sizes"))
    parts = [_rows(saved, chunk, head) for chunk in saved.chunks(ROWS)]
    features, targets = (
        torch.from_numpy(np.concatenate([part[name] for part in parts])).to(document["device"])
        for name in ("features", "targets")
    )
    points = {name: tensors.get(name) for name in POINTS}
    job = LinearJob(
        loss=head.loss,
        features=features,
        targets=targets,
        roster=roster,
        intercept=True,
        **points,
        **for_job,
    )
    fitted = LinearFitted(
        job=job,
        rows=RowStore((features, targets), erasures=roster.request),
        strategy=rebuild(document["strategy"]),
        outcome=outcome,
        classes=head.classes,
        labels=document["labels"],
        ridge=PublicRidge.of(document.get("ridge")),
        preprocessing=_steps(saved),
        lineage=saved.index.lineage.fit,
        issued=saved.index.lineage.issued,
        copied=True,
        certificate=saved.certificate(),
        **for_fitted,
    )
    if salt_in(model) != outcome.salt:
        raise ValueError("the model's file and the secret state have different salts")
    check_certificate(fitted, saved.index.model.sha256)
    if fitted.fingerprint != bytes(tensors["fingerprint"].tolist()):
        raise ValueError("the stored records changed")
    return fitted
