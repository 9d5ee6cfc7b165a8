"""`report`: the workspace as one HTML file."""

import json
from pathlib import Path
from typing import Any

from expunge.accounting.certificate import parse_certificate
from expunge.accounting.trade_offs import trade_offs
from expunge.core.whole_file import write_whole
from expunge.ledger import Model
from expunge.report.page import page
from expunge.unlearning.files import load
from expunge.unlearning.langevin import Langevin, setting_of
from expunge.workspace.folder import Folder
from expunge.workspace.status import status

__all__ = ["report", "retraining_sentence"]


def report(workspace: Path, output: Path) -> dict[str, Any]:
    """Write the report; returns where it is."""
    summary = status(workspace)
    folder = Folder.opened(workspace)
    with folder.reading() as (entries, model):
        models, document = entries.models(), entries.certificate_of(model)
    folder.ledger.close()
    estimator = load(folder.secret_folder(model.secret))
    records = summary["records"]
    certificate = None if document is None else parse_certificate(document)
    forget = max(1, records["forgotten"])
    prices = [vars(price) for price in estimator.plan(min(forget, estimator._job.private))]
    write_whole(
        output,
        page(
            {
                "title": f"{workspace.resolve().name}: what was forgotten, and how surely",
                "data": f"Column {summary['options']['label']!r}, "
                f"{summary['options']['task']}, model {model.number}.",
                "records": records,
                "certificate": None if certificate is None else certificate.model_dump(mode="json"),
                "strategies": prices,
                "retraining": retraining_sentence(
                    prices, None if certificate is None else certificate.strategy
                ),
                "evaluations": _evaluations(models),
                "evaluated_on": "On the public records, which every model was trained on.",
                "trade_offs": _trade_offs(estimator, forget),
            }
        ).encode(),
    )
    return {"output": str(output), "model": summary["model"], "records": records}


def retraining_sentence(prices: list[dict[str, Any]], taken: str | None) -> str:
    """Cost of retraining beside what was done, in passes; typical, not measured, for solvers."""
    steps = {price["name"]: price["steps"] for price in prices}
    retrain = steps.get("retrain")
    if retrain is None:
        return "Not known for this loss."
    sentence = f"About {retrain:,} passes over the remaining records, from scratch."
    if taken in steps and taken != "retrain" and steps[taken] is not None:
        share = steps[taken] / retrain
        sentence += f" This deletion: about {steps[taken]:,} ({share:.0%})."
    return sentence


def _evaluations(models: list[Model]) -> list[dict[str, Any]]:
    """Before the last deletion and after it, where both are still there."""
    known = [model for model in models[-2:] if model.evaluation is not None]
    names = ["after"] if len(models) > 1 else ["fitted"]
    if len(known) == 2:
        names = ["before", "after"]
    return [
        {"name": name, **json.loads(model.evaluation or "{}")}
        for name, model in zip(names, known, strict=True)
    ]


def _trade_offs(estimator: Any, forget: int) -> dict[str, Any] | None:
    """Curves for noisy descent on these records; None where it has no constants."""
    job = estimator._job
    try:
        setting = setting_of(job, Langevin().learn_steps, min(forget, job.private - 1))
    except ValueError:
        return None
    steps = max(1, setting.learn_steps // 10)
    return trade_offs(
        setting,
        job.target,
        unlearn_steps=steps,
        sigma=2.0,
        public_counts=(0, max(job.public, job.private), 10 * max(job.public, job.private)),
    )
