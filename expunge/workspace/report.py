"""`report`: the workspace as one HTML file."""

from pathlib import Path
from typing import Any, NamedTuple

from expunge.accounting.certificate import parse_certificate
from expunge.accounting.trade_offs import trade_offs
from expunge.core.whole_file import check_writable, write_whole
from expunge.ledger import Model
from expunge.report.page import page
from expunge.unlearning.linear.langevin import Langevin, setting_of
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.workspace.audit_record import AUDIT, read_audit
from expunge.workspace.current_model import loaded
from expunge.workspace.encoding import Encoding
from expunge.workspace.evaluation import evaluation, read_evaluation
from expunge.workspace.folder import PUBLIC_RECORDS, Folder
from expunge.workspace.labels import labels_of
from expunge.workspace.options import Options
from expunge.workspace.public_records import PUBLIC, public_records

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
            entries.setting("encoding"),
            entries.setting(PUBLIC),
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
    encoding: str
    public: str
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
        "evaluations": _evaluations(folder, said, estimator.fitted_.head),
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


def _evaluations(folder: Folder, said: _Stated, head: LinearHead) -> list[dict[str, Any]]:
    """Evaluations of the fitted model, where it is still there, and of the current one."""
    evaluations, first = [], said.models[0].evaluation
    if first is not None:
        evaluations.append({"name": "fitted", **read_evaluation(first)})
    table = public_records(folder, said.public) if len(said.models) > 1 else None
    if table is not None:
        path, options = folder.records_file(PUBLIC_RECORDS), Options.of(said.options)
        rows = Encoding.of(said.encoding).encode(path, table)
        labels = labels_of(path, table, options)
        evaluations.append({"name": "after", **evaluation(head, rows, labels)})
    return evaluations


def _trade_offs(estimator: Any, forget: int) -> dict[str, Any] | None:
    """Curves for noisy descent on these records; None where it has no constants."""
    job = estimator.fitted_.job
    try:
        setting = setting_of(job, Langevin().learn_steps, min(forget, job.roster.private - 1))
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
