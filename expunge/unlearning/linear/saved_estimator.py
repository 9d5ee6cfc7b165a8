"""A fitted linear model on disk, and back: safetensors and JSON in a store, never pickle.

document    parameters, terms, labels, ids, history
state       what the next request starts from: un-noised solutions, Gram matrices
rows        features and targets, in chunks (`saved_rows`)
steps       preprocessing, where there is any: one chunk, written at the first save
"""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of
from safetensors.torch import save as tensor_bytes
from torch import Tensor

from expunge.core.checks import flag, instance, optional, path_like
from expunge.core.part_engine import HERE, PartEngine
from expunge.errors import Altered, InvalidInput
from expunge.losses import Declared
from expunge.store import Generation, Saved, read_steadily
from expunge.unlearning.joined_ids import restore_ids
from expunge.unlearning.linear.growing_rows import GrowingRows
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.linear.public_ridge import PublicRidge
from expunge.unlearning.linear.saved_rows import columns_of, kept_chunks, saved_steps
from expunge.unlearning.model_file import salt_in
from expunge.unlearning.roster import Roster
from expunge.unlearning.saved_state import (
    check_certificate,
    ids_document,
    lineage_of,
    outcome_document,
    restore_outcome,
    restore_terms,
    secret_tensors,
    terms_document,
)
from expunge.unlearning.settings import describe

__all__ = ["generation_of", "read_fitted"]

Made = TypeVar("Made")
POINTS = ("start", "center")


def generation_of(
    fitted: LinearFitted, folder: str | Path, kind: str, parameters: Mapping[str, Any]
) -> Generation:
    """A fitted model as the next generation of a folder, which keeps chunks that do not change.

    Args:
        kind: Which estimator it belongs to.
        parameters: What JSON is to bring back for the estimator.

    Raises:
        ValueError: the model has a loss of the user's.
        NoCertificate: the stored records changed.
    """
    fitted.check_unchanged()
    if isinstance(fitted.job.loss, Declared):
        raise InvalidInput("loss", "a function cannot be saved; save the data and fit again")
    return Generation(
        kind,
        lineage_of(fitted),
        _document(fitted) | {"parameters": dict(parameters)},
        tensor_bytes(_state(fitted)),
        fitted.model_bytes,
        fitted.certificate,
        kept_chunks(fitted, Path(folder)),
    )


def read_fitted(
    folder: str | Path,
    kinds: Collection[str],
    make: Callable[[LinearFitted, str, dict[str, Any]], Made],
    *,
    seal: str | None = None,
    on_disk: bool = False,
    engine: PartEngine = HERE,
) -> Made:
    """What the caller makes of a saved fitted model, its estimator's kind and parameters.

    Args:
        kinds: Of estimators that the caller can make.
        make: Makes the estimator; what it finds wrong with the parameters is refused here.
        seal: Of the generation to read, which may wait to become current; None for the current.
        on_disk: Leave the rows there, and read those that are asked for; none is checked before.
        engine: Computes the parts of passes.

    Raises:
        ValueError: not such a folder, of an earlier version, or changed since.
    """
    path_like("folder", folder)
    on_disk = flag("on_disk", on_disk)
    seal = optional(instance(str, "the seal of a generation"))("seal", seal)

    def made(saved: Saved) -> Made:
        kind, where = saved.index.kind, str(saved.folder)
        if kind not in kinds:
            raise InvalidInput(where, f"holds a {kind}, not one of {', '.join(kinds)}")
        try:
            return make(_restored(saved, on_disk, engine), kind, dict(saved.document["parameters"]))
        except Altered:
            raise
        except (LookupError, TypeError, AttributeError, AssertionError, ValueError, RuntimeError,
                ArithmeticError, SafetensorError) as error:  # fmt: skip
            why = " ".join(str(error).split())
            raise InvalidInput(where, f"not a saved estimator ({why})") from error

    return read_steadily(folder, made, seal=seal)


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
    departures = fitted.job.roster.departures
    tensors = {
        "departed": torch.tensor([len(rows) for rows in departures], dtype=torch.int64),
        "departures": torch.from_numpy(np.concatenate([*departures, np.empty(0, np.int64)])),
        "checksum": torch.tensor(list(fitted.checksum), dtype=torch.uint8),
        **secret_tensors(fitted.outcome),
        **{name: point for name, point in points.items() if point is not None},
    }
    return {name: value.contiguous().cpu().clone() for name, value in tensors.items()}


def _restored(saved: Saved, on_disk: bool, engine: PartEngine) -> LinearFitted:
    """The fitted model of a folder.

    Raises:
        ValueError: its parts do not belong together.
    """
    document, tensors, model = saved.document, tensors_of(saved.state()), saved.model()
    for_job, for_fitted = restore_terms(saved, document["terms"])
    outcome = restore_outcome(document["outcome"], tensors_of(model), tensors)
    head = LinearHead.of(outcome.theta, document["head"])
    private, public = document["private"], document["public"]
    features, targets = columns_of(
        saved, head, private + public, device=document["device"], on_disk=on_disk
    )
    departures = tensors["departures"].split(tensors["departed"].tolist())
    sizes = document.get("sizes")
    ids = restore_ids(document["ids"], private, public, sizes)
    roster = Roster.after(ids, public, [rows.tolist() for rows in departures], sizes)
    points = {name: tensors.get(name) for name in POINTS}
    job = LinearJob(
        loss=head.loss,
        features=features,
        targets=targets,
        roster=roster,
        intercept=True,
        engine=engine,
        **points,
        **for_job,
    )
    fitted = LinearFitted(
        job=job,
        rows=GrowingRows((features, targets), erasures=roster.request),
        outcome=outcome,
        classes=head.classes,
        labels=document["labels"],
        ridge=PublicRidge.of(document.get("ridge")),
        preprocessing=saved_steps(saved),
        certificate=saved.certificate(),
        **for_fitted,
    )
    if salt_in(model) != outcome.salt:
        raise ValueError("the model's file and the secret state have different salts")
    check_certificate(fitted, saved.index.model.sha256)
    if fitted.checksum != bytes(tensors["checksum"].tolist()):
        raise ValueError("model and secret state are not of the same save")
    return fitted
