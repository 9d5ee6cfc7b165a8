"""`report`: the workspace as one HTML file, for whoever has to answer for it."""

import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from expunge.accounting.certificate import parse_certificate
from expunge.accounting.issue import now
from expunge.accounting.trade_offs import trade_offs
from expunge.core.whole_file import check_writable, write_whole
from expunge.errors import Altered, MissingPackage
from expunge.ledger import Addition, Fit, Model, Request
from expunge.report.page import page
from expunge.report.words import longest_weights
from expunge.unlearning.linear.langevin import Langevin, setting_of
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.workspace.audit_record import AUDIT, read_audit
from expunge.workspace.current_model import loaded
from expunge.workspace.encoding import Encoding
from expunge.workspace.evaluation import read_evaluation
from expunge.workspace.feature_maps import describe_features
from expunge.workspace.folder import PUBLIC, Folder
from expunge.workspace.held_out import evaluate_held_out
from expunge.workspace.options import Options
from expunge.workspace.public_records import evaluate_on_public
from expunge.workspace.verify import verify

__all__ = ["checked_sentence", "longest_of", "report", "retraining_sentence"]

LEARNED_FROM = "public records, which every model learned from: flattering"


def report(
    workspace: Path, output: Path, *, operator: str | None = None, test: Path | None = None
) -> dict[str, Any]:
    """Write the report; returns where it is.

    Args:
        operator: Who answers for the workspace.
        test: Labelled rows that the model has never seen, to show its accuracy on.

    Raises:
        Altered: the workspace is not as it was written; there is no report of that.
    """
    check_writable(output)
    folder = Folder.opened(workspace)
    document = folder.steady(
        lambda entries, model: _Stated(
            model,
            entries.models(),
            entries.requests(),
            entries.batches(),
            entries.additions(),
            entries.counts(),
            entries.setting("options"),
            entries.setting("encoding"),
            entries.setting(PUBLIC),
            entries.certificate_of(model),
            entries.fits(),
            entries.left_at(),
            len(entries.certificates()),
        ),
        lambda said: _document(folder, said, operator, test),
    )
    folder.ledger.close()
    write_whole(output, page(document).encode())
    return {"output": str(output), "records": document["records"], "checked": document["checked"]}


class _Stated(NamedTuple):
    """What the ledger says."""

    model: Model
    models: list[Model]
    requests: list[Request]
    batches: dict[int, tuple[list[int], bool]]
    additions: list[Addition]
    records: dict[str, int]
    options: str
    encoding: str
    public: str
    certificate: str | None
    fits: list[Fit]
    left_at: Mapping[int, int]
    certificates: int

    @property
    def fitted(self) -> Model:
        """The model as it was fitted, the last time."""
        first = self.fits[-1].model if self.fits else 1
        return self.models[first - 1]


def _document(
    folder: Folder, said: _Stated, operator: str | None, test: Path | None
) -> dict[str, Any]:
    """What the page is drawn from."""
    model, records, text = said.model, said.records, said.certificate
    checked = checked_sentence(folder.path)
    estimator, options = loaded(folder, model), Options.of(said.options)
    certificate = None if text is None else parse_certificate(text).model_dump(mode="json")
    forget = max(1, records["forgotten"])
    prices = [
        vars(price) for price in estimator.plan(min(forget, estimator.fitted_.job.roster.private))
    ]
    taken = None if certificate is None else certificate["strategy"]
    evaluations = _evaluations(folder, said, estimator.fitted_.head)
    if test is not None:
        evaluations.append({"name": "now", **evaluate_held_out(folder, test)})
    return {
        "title": f"{folder.path.resolve().name}: what was forgotten, and how surely",
        "data": _data(options, Encoding.of(said.encoding)),
        "operator": operator,
        "written": now(),
        "model": {"number": model.number, "created": model.created},
        "requests": _requests(said, options.publish_names),
        "joined": [each.document() for each in said.additions],
        "fits": [each.document() for each in said.fits],
        "names_published": options.publish_names,
        "records": records,
        "certificate": certificate,
        "checked": checked,
        "commands": _commands(folder.path, None if text is None else said.certificates),
        "strategies": prices,
        "longest": longest_of(estimator),
        "retraining": retraining_sentence(prices, taken),
        "evaluations": evaluations,
        "trade_offs": _trade_offs(estimator, forget),
        "audit": read_audit(folder.path / AUDIT, model),
    }


def _data(options: Options, encoding: Encoding) -> str:
    """What the model is of, in words."""
    sentence = f"A model of column {options.label!r} ({options.task})."
    described = describe_features(encoding)
    return sentence if described is None else f"{sentence} Its features: {described}."


def checked_sentence(workspace: Path) -> str:
    """Check everything as `expunge verify` does, and say what was looked at.

    Raises:
        Altered: something is not as it was written.
    """
    try:
        found = verify(workspace)
    except MissingPackage as error:
        return f"NOT CHECKED: {error}"
    if not found["valid"]:
        first = found["differences"][0]
        raise Altered(
            first["field"], f"{first['problem']}; a report needs a workspace that verifies"
        )
    files, rows = len(found["covered"]["files"]), found["covered"]["ledger_rows"]
    whole = f"{files:,} files and {rows:,} rows of the ledger are as they were written"
    if found["claim"] is None:
        return f"While this page was written: {whole}."
    did = {"proven": "proven from its witness"}.get(found["proof"], "recomputed from its history")
    certificates = found["certificates"]
    one = "the certificate was" if certificates == 1 else f"{certificates:,} certificates were"
    return f"While this page was written: {whole}; {one} recomputed, and the last one {did}."


def _requests(said: _Stated, publish_names: bool) -> list[dict[str, Any]]:
    """The requests without ids of records; with their names only where these are published."""
    made = {
        number: model.created
        for model in said.models
        if model.request is not None
        for number in said.batches.get(model.request, ([model.request], True))[0]
    }
    made |= {number: said.models[model - 1].created for number, model in said.left_at.items()}
    return [
        {
            "number": request.number,
            "name": request.name if publish_names else None,
            "received": request.received,
            "records": len(request.records),
            "state": request.state,
            "made": made.get(request.number),
            "by_fit": request.number in said.left_at,
        }
        for request in said.requests
    ]


def _commands(workspace: Path, certificate: int | None) -> list[str]:
    """What whoever doubts the page can run: with the workspace, or with certificate and model.

    Args:
        certificate: The number of its file; None if there is none.
    """
    name = shlex.quote(workspace.resolve().name)
    commands = [f"expunge verify {name}"]
    if certificate is not None:
        file = f"{name}/certificates/{certificate}.json"
        commands.append(f"expunge verify {file} --model MODEL_FILE")
        commands.append(f"expunge audit {name}")
    return commands


def longest_of(estimator: Any) -> float | None:
    """The norm that no trained model's weights exceed; None where no ridge keeps them short."""
    head, loss = estimator.fitted_.head, estimator.fitted_.job.loss
    if not loss.l2:
        return None
    if head.classes is not None:
        at_zero = loss.largest_weight * math.log(max(2, len(head.classes)))
        return longest_weights(loss.l2, at_zero)
    return longest_weights(loss.l2, loss.target_norm**2 / 2)


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
        if taken == "residual":
            sentence += ", or none where what was kept at the last pass was enough"
    return f"{sentence}. Typical of such solvers, not measured on these records."


def _evaluations(folder: Folder, said: _Stated, head: LinearHead) -> list[dict[str, Any]]:
    """Evaluations of the fitted model, where it is still there, and of the current one."""
    evaluations, first = [], said.fitted.evaluation
    if first is not None:
        evaluations.append({"name": "fitted", "on": LEARNED_FROM, **read_evaluation(first)})
    if said.model.number > said.fitted.number:
        options, encoding = Options.of(said.options), Encoding.of(said.encoding)
        after = evaluate_on_public(folder, said.public, options, encoding, head)
        if after is not None:
            evaluations.append({"name": "after", "on": LEARNED_FROM, **after})
    return evaluations


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
