"""`report`: the workspace as one HTML file."""

from pathlib import Path
from typing import Any, NamedTuple

from expunge.accounting.certificate import parse_certificate
from expunge.accounting.trade_offs import trade_offs
from expunge.core.whole_file import check_writable, write_whole
from expunge.ledger import Model
from expunge.report.page import page
from expunge.unlearning.linear.langevin import Langevin, setting_of
from expunge.workspace.audit_record import AUDIT, read_audit
from expunge.workspace.current_model import loaded
from expunge.workspace.evaluation import read_evaluation
from expunge.workspace.folder import Folder
from expunge.workspace.options import Options

__all__ = ["report", "retraining_sentence"]


def report(workspace: Path, output: Path) -> dict[str, Any]:
    """Write the report; returns where it is."""
    check_writable(output)
    folder = Folder.opened(workspace)
    document = folder.steady(
        lambda entries, model: _Stated(
            model,
            entries.models(),
            entries.counts(),
            entries.setting("options"),
            entries.certificate_of(model),
        ),
        lambda said: _document(folder, said),
    )
    folder.ledger.close()
    write_whole(output, page(document).encode())
    return {"output": str(output), "records": document["records"]}


class _Stated(NamedTuple):
    """What the ledger says."""

    model: Model
    models: list[Model]
    records: dict[str, int]
    options: str
    certificate: str | None


def _document(folder: Folder, said: _Stated) -> dict[str, Any]:
    """What the page is drawn from."""
    model, records, text = said.model, said.records, said.certificate
    estimator, options = loaded(folder, model), Options.of(said.options)
    certificate = None if text is None else parse_certificate(text).model_dump(mode="json")
    forget = max(1, records["forgotten"])
    prices = [
        vars(price) for price in estimator.plan(min(forget, estimator.fitted_.job.roster.private))
    ]
    taken = None if certificate is None else certificate["strategy"]
    return {
        "title": f"{folder.path.resolve().name}: what was forgotten, and how surely",
        "data": f"Column {options.label!r}, {options.task}, model {model.number}.",
        "records": records,
        "certificate": certificate,
        "strategies": prices,
        "retraining": retraining_sentence(prices, taken),
        "evaluations": _evaluations(said.models),
        "evaluated_on": "On the public records, which every model was trained on.",
        "trade_offs": _trade_offs(estimator, forget),
        "audit": read_audit(folder.path / AUDIT, model),
    }


def retraining_sentence(prices: list[dict[str, Any]], taken: str | None) -> str:
    """Cost of retraining beside what was done, in passes.

    Typical ones: what was measured would depend on the records (honesty rule 7).
    """
    steps = {price["name"]: price["steps"] for price in prices}
    retrain = steps.get("retrain")
    if retrain is None:
        return "Not known for this loss."
    sentence = f"About {retrain:,} passes over the remaining records, from scratch"
    if taken in steps and taken != "retrain" and steps[taken] is not None:
        sentence += f"; this deletion about {steps[taken]:,}"
    return f"{sentence}. Typical of such solvers, not measured on these records."


def _evaluations(models: list[Model]) -> list[dict[str, Any]]:
    """Evaluations before the last deletion and after it, where both are still there."""
    names = ["before", "after"] if len(models) > 1 else ["fitted"]
    return [
        {"name": name, **read_evaluation(model.evaluation)}
        for name, model in zip(names, models[-2:], strict=True)
        if model.evaluation is not None
    ]


def _trade_offs(estimator: Any, forget: int) -> dict[str, Any] | None:
    """Curves for noisy descent on these records; None where it has no constants."""
    job = estimator.fitted_.job
    try:
        setting = setting_of(job, Langevin(), min(forget, job.roster.private - 1))
    except ValueError:
        return None
    steps = max(1, setting.learn_steps // 10)
    return trade_offs(
        setting,
        job.target,
        unlearn_steps=steps,
        sigma=2.0,
        public_counts=(
            0,
            max(job.roster.public, job.roster.private),
            10 * max(job.roster.public, job.roster.private),
        ),
    )
