"""Estimators on disk: safetensors and JSON, never pickle.

    estimator.json          parameters, labels, ids, history, certificate, names of the other two
    model-N.safetensors     what may be handed out: theta
    secret-N.safetensors    what may not: records, un-noised solutions, Gram matrices

Tensors are written under fresh names, then estimator.json is replaced in one step: a reader finds
the old estimator or the new one, whole. The files of the old one are deleted last.
"""

import errno
import hashlib
import json
import secrets
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_bytes
from safetensors.torch import load_file, save_file
from torch import Tensor

from expunge.accounting.certificate import parse_certificate
from expunge.accounting.document import AccountRequest
from expunge.accounting.target import EpsilonDelta
from expunge.accounting.verification import file_differences
from expunge.core.whole_file import sync, write_whole
from expunge.losses import Declared
from expunge.unlearning.ids import id_rows
from expunge.unlearning.linear.estimator import CertifiedClassifier, CertifiedRegressor
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.model_file import salt_in
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.roster import Roster
from expunge.unlearning.row_store import RowStore
from expunge.unlearning.settings import describe, rebuild

__all__ = ["load", "save"]

FORMAT = 3
INDEX = "estimator.json"
KINDS = {kind.__name__: kind for kind in (CertifiedClassifier, CertifiedRegressor)}
Estimator = CertifiedClassifier | CertifiedRegressor


def save(estimator: Estimator, folder: str | Path) -> None:
    """Write a fitted estimator into a folder, replacing the one that is there.

    Raises:
        ValueError: the folder holds something else, or the estimator has a loss of the user's.
    """
    fitted = estimator.fitted_
    fitted.check_unchanged()
    estimator._state = replace(fitted, copied=True)  # even if interrupted: it may be there
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()) and not (folder / INDEX).exists():
        raise ValueError(f"{folder}: holds something that is no saved estimator; not touched")
    if isinstance(fitted.job.loss, Declared):
        raise ValueError("loss: a function cannot be saved; save the data and fit again")
    fresh = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(4)
    try:
        _write(estimator, folder, token)
    except BaseException:
        for litter in folder.glob(f"*{token}*"):
            litter.unlink()
        if fresh:
            folder.rmdir()
        raise
    for stale in folder.glob("*.safetensors"):
        if token not in stale.name:
            stale.unlink()


def _write(estimator: Estimator, folder: Path, token: str) -> None:
    names = {kind: f"{kind}-{token}.safetensors" for kind in ("model", "secret")}
    write_whole(folder / names["model"], estimator.model_bytes())
    try:
        save_file(_secret(estimator.fitted_), folder / names["secret"])
    except SafetensorError as error:  # a full disk, most likely
        raise OSError(errno.EIO, str(error), str(folder / names["secret"])) from error
    sync(folder / names["secret"])
    document = json.dumps(_document(estimator) | {"files": names}, indent=1)
    write_whole(folder / INDEX, f"{document}\n".encode())
    sync(folder)


def load(folder: str | Path) -> Estimator:
    """A fitted estimator as `save` wrote it.

    Raises:
        ValueError: not such a folder, of another format, or changed since.
    """
    folder = Path(folder)
    try:
        document = json.loads((folder / INDEX).read_text())
        if document.get("format") != FORMAT:
            raise ValueError(f"format {document.get('format')!r}, this version reads {FORMAT}")
        secret = load_file(folder / document["files"]["secret"])
        model = (folder / document["files"]["model"]).read_bytes()
        return _restored(document, secret, model)
    except (OSError, KeyError, TypeError, AttributeError, ValueError, SafetensorError) as error:
        raise ValueError(f"{folder}: not a saved estimator ({error})") from error


def _secret(fitted: LinearFitted) -> dict[str, Tensor]:
    job = fitted.job
    tensors = {
        "features": job.features,
        "targets": job.targets,
        "left": job.roster.left,
        "fingerprint": torch.tensor(list(fitted.fingerprint or b""), dtype=torch.uint8),
        **{f"secret.{name}": value for name, value in fitted.outcome.secret.items()},
    }
    tensors |= {n: v for n, v in (("start", job.start), ("center", job.center)) if v is not None}
    return {name: value.contiguous().cpu().clone() for name, value in tensors.items()}


def _document(estimator: Estimator) -> dict[str, Any]:
    parameters = estimator.get_params(deep=False)
    parameters.pop("loss", None)
    parameters["strategy"] = describe(parameters["strategy"], "strategy")
    if parameters.get("classes") is not None:
        parameters["classes"] = np.asarray(parameters["classes"]).tolist()
    names = getattr(estimator, "feature_names_in_", None)
    fitted = estimator.fitted_
    job, outcome, certificate = fitted.job, fitted.outcome, fitted.certificate
    return {
        "format": FORMAT,
        "kind": type(estimator).__name__,
        "parameters": parameters,
        "fitted": {
            "epsilon": job.target.level,
            "delta": job.target.delta,
            "observer": job.observer,
            "adaptive_requests": job.adaptive_requests,
            "seed": job.seed,
            "device": str(job.features.device),
            "released": fitted.released,
            "released_before": fitted.released_before,
            "lineage": fitted.lineage,
            "labels": fitted.labels,
        },
        "head": fitted.head.document(),
        "chosen": describe(fitted.strategy, "strategy"),
        "features": job.features.shape[1] - 1,
        "feature_names": None if names is None else names.tolist(),
        "public": job.roster.public,
        "private": job.roster.private,
        "ids": list(job.roster.ids),
        "issued": list(fitted.issued),
        "outcome": {
            "declared": list(outcome.declared),
            "retained": list(outcome.retained),
            "rounds": list(outcome.rounds),
            "capacity": outcome.capacity,
            "noise_free": outcome.noise_free,
            "account": _account(outcome),
        },
        "certificate": None if certificate is None else certificate.canonical(),
    }


def _restored(document: dict[str, Any], secret: dict[str, Tensor], model: bytes) -> Estimator:
    stated = document["fitted"]
    parameters = document["parameters"] | {"strategy": rebuild(document["parameters"]["strategy"])}
    estimator: Any = KINDS[document["kind"]](**parameters)
    estimator.n_features_in_ = document["features"]
    if document["feature_names"] is not None:
        estimator.feature_names_in_ = np.asarray(document["feature_names"], dtype=object)
    outcome = _outcome(document["outcome"], secret, load_bytes(model)["theta"])
    head = LinearHead.of(outcome.theta, document["head"])
    if head.classes is not None:
        estimator.classes_ = head.classes.copy()
    ids = id_rows(document["ids"], document["private"], document["public"])
    roster = Roster.of(ids, document["public"], secret["left"])
    job = LinearJob(
        loss=head.loss,
        features=secret["features"].to(stated["device"]),
        targets=secret["targets"].to(stated["device"]),
        roster=roster,
        target=EpsilonDelta(stated["epsilon"], stated["delta"]),
        observer=stated["observer"],
        seed=stated["seed"],
        start=secret.get("start"),
        center=secret.get("center"),
        adaptive_requests=stated["adaptive_requests"],
    )
    text = document["certificate"]
    certificate = None if text is None else parse_certificate(text)
    fitted = LinearFitted(
        job=job,
        rows=RowStore((job.features, job.targets), erasures=roster.request),
        strategy=rebuild(document["chosen"]),
        outcome=outcome,
        classes=head.classes,
        released=stated["released"],
        released_before=stated["released_before"],
        lineage=stated["lineage"],
        labels=stated["labels"],
        copied=True,
        certificate=certificate,
        issued=tuple(document["issued"]),
    )
    if salt_in(model) != outcome.salt:
        raise ValueError("the model's file and the secret state have different salts")
    if certificate and file_differences(certificate, hashlib.sha256(model).hexdigest()):
        raise ValueError("the model is not the one that its certificate is about")
    if fitted.fingerprint != bytes(secret["fingerprint"].tolist()):
        raise ValueError("the stored records changed")
    estimator._state = fitted
    return estimator


def _outcome(document: dict[str, Any], secret: dict[str, Tensor], theta: Tensor) -> Outcome:
    account = document["account"]
    assumptions, history = (None, None) if account is None else _records(account)
    known = {n.removeprefix("secret."): v for n, v in secret.items() if n.startswith("secret.")}
    return Outcome(
        {"theta": theta},
        assumptions,
        history,
        declared=tuple(document["declared"]),
        retained=tuple(document["retained"]),
        rounds=tuple(document["rounds"]),
        capacity=document["capacity"],
        noise_free=document["noise_free"],
        secret=known,
    )


def _account(outcome: Outcome) -> dict[str, Any] | None:
    """Assumptions and history in the form that `expunge account` reads."""
    if outcome.assumptions is None or outcome.history is None:
        return None
    constants = {
        name: {"value": getattr(outcome.assumptions, name), "mark": outcome.assumptions.mark(name)}
        for name in outcome.assumptions.constants()
    }
    return {
        "assumptions": constants,
        "phases": [asdict(phase) for phase in outcome.history.phases],
        "normaliser": outcome.history.normaliser,
        "normaliser_count": outcome.history.normaliser_count,
        "delta": 0.5,  # not asked for; the account's form has one
    }


def _records(account: dict[str, Any]) -> Any:
    return AccountRequest.model_validate(account).records()
