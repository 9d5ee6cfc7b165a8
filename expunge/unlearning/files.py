"""Estimators on disk: safetensors and JSON, never pickle.

    estimator.json       parameters, labels, ids, history, certificate
    model.safetensors    what may leave the house: theta
    secret.safetensors   what may not: records, un-noised solutions

A folder is written beside its place and renamed, so it is there whole or not at all.
"""

import json
import shutil
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load_file, save_file
from torch import Tensor

from expunge.accounting.calibration import EpsilonDelta
from expunge.accounting.certificate import parse_certificate
from expunge.accounting.document import AccountRequest
from expunge.sampling.batches import keys_of
from expunge.unlearning.choice import Strategy
from expunge.unlearning.estimator import (
    STRATEGIES,
    CertifiedClassifier,
    CertifiedRegressor,
)
from expunge.unlearning.job import Job, Outcome
from expunge.unlearning.langevin import Langevin
from expunge.unlearning.schemes import SCHEMES

__all__ = ["load", "save"]

FORMAT = 1
KINDS = {kind.__name__: kind for kind in (CertifiedClassifier, CertifiedRegressor)}
Estimator = CertifiedClassifier | CertifiedRegressor


def save(estimator: Estimator, folder: str | Path) -> None:
    """Write a fitted estimator; an existing folder is replaced only once the new one is whole."""
    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        job, outcome = estimator._job, estimator._outcome
        (fresh / "estimator.json").write_text(json.dumps(_document(estimator), indent=1) + "\n")
        save_file({"theta": outcome.theta.contiguous()}, fresh / "model.safetensors")
        rows = {"features": job.features, "targets": job.targets, "left": job.left}
        public = {n: v for n, v in (("start", job.start), ("center", job.center)) if v is not None}
        rows |= {f"public.{name}": value for name, value in public.items()}
        secret = {f"secret.{name}": value for name, value in outcome.secret.items()}
        save_file(
            {n: v.contiguous() for n, v in (rows | secret).items()}, fresh / "secret.safetensors"
        )
        _swap(fresh, folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _swap(fresh: Path, folder: Path) -> None:
    if not folder.exists():
        fresh.replace(folder)
        return
    old = fresh.with_name(f"{fresh.name}.old")
    folder.replace(old)
    fresh.replace(folder)
    shutil.rmtree(old)


def load(folder: str | Path) -> Estimator:
    """A fitted estimator as `save` wrote it.

    Raises:
        ValueError: not such a folder, or of another format.
    """
    folder = Path(folder)
    try:
        document = json.loads((folder / "estimator.json").read_text())
    except (OSError, json.JSONDecodeError) as error:
        raise ValueError(f"{folder}: not a saved estimator ({error})") from error
    if document.get("format") != FORMAT:
        raise ValueError(
            f"{folder}: format {document.get('format')!r}, this version reads {FORMAT}"
        )
    kind = KINDS[document["kind"]]
    parameters = document["parameters"]
    parameters["strategy"] = _strategy(parameters["strategy"])
    estimator = kind(**parameters)
    secret = load_file(folder / "secret.safetensors")
    theta = load_file(folder / "model.safetensors")["theta"]
    _restore(estimator, document, secret, theta)
    return estimator


def _document(estimator: Estimator) -> dict[str, Any]:
    parameters = estimator.get_params(deep=False)
    parameters["strategy"] = _described(parameters["strategy"])
    if parameters.get("classes") is not None:
        parameters["classes"] = np.asarray(parameters["classes"]).tolist()
    certificate = estimator._certificate
    labels = getattr(estimator, "classes_", None)
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "format": FORMAT,
        "kind": type(estimator).__name__,
        "parameters": parameters,
        "chosen": _described(estimator._chosen),
        "labels": None
        if labels is None
        else {"values": labels.tolist(), "dtype": labels.dtype.str},
        "features": estimator._job.features.shape[1] - 1,
        "feature_names": None if names is None else names.tolist(),
        "row_norm": estimator._loss.row_norm,
        "public": estimator._job.public,
        "private": estimator._job.private,
        "ids": list(estimator._ids),
        "rounds": list(estimator._outcome.rounds),
        "declared": list(estimator._outcome.declared),
        "account": _account(estimator._outcome),
        "certificate": None if certificate is None else certificate.canonical(),
    }


def _restore(
    estimator: Any, document: dict[str, Any], secret: dict[str, Tensor], theta: Tensor
) -> None:
    estimator.n_features_in_ = document["features"]
    if document["feature_names"] is not None:
        estimator.feature_names_in_ = np.asarray(document["feature_names"], dtype=object)
    if document["labels"] is not None:
        estimator.classes_ = np.asarray(
            document["labels"]["values"], dtype=np.dtype(document["labels"]["dtype"])
        )
    estimator._loss = estimator._make_loss(document["row_norm"])
    estimator._public_count = document["public"]
    estimator._ids = {one: document["public"] + i for i, one in enumerate(document["ids"])}
    estimator._job = Job(
        loss=estimator._loss,
        features=secret["features"],
        targets=secret["targets"],
        keep=secret["left"] == 0,
        left=secret["left"],
        keys=keys_of([*(("public", i) for i in range(document["public"])), *document["ids"]]),
        public=document["public"],
        private=document["private"],
        target=EpsilonDelta(estimator.epsilon, estimator.delta),
        observer=estimator.observer,
        seed=estimator.random_state,
        start=secret.get("public.start"),
        center=secret.get("public.center"),
    )
    estimator._chosen = _strategy(document["chosen"])
    account = document["account"]
    assumptions, history = (None, None) if account is None else _records(account)
    estimator._outcome = Outcome(
        theta,
        assumptions,
        history,
        tuple(document["declared"]),
        tuple(document["rounds"]),
        {n.removeprefix("secret."): v for n, v in secret.items() if n.startswith("secret.")},
    )
    text = document["certificate"]
    estimator._certificate = None if text is None else parse_certificate(text)
    estimator._fingerprint = estimator._digest()


def _described(strategy: str | Strategy) -> Any:
    if isinstance(strategy, str):
        return strategy
    described = {"name": strategy.name, **asdict(strategy)}
    if isinstance(strategy, Langevin):
        described["scheme"] = {"kind": type(strategy.scheme).__name__, **described["scheme"]}
    return described


def _strategy(described: Any) -> Any:
    if isinstance(described, str):
        return described
    settings = {key: value for key, value in described.items() if key != "name"}
    if "scheme" in settings:
        scheme = dict(settings["scheme"])
        settings["scheme"] = SCHEMES[scheme.pop("kind")](**scheme)
    return replace(STRATEGIES[described["name"]], **settings)


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
        "delta": 0.5,
    }


def _records(account: dict[str, Any]) -> Any:
    return AccountRequest.model_validate(account).records()
