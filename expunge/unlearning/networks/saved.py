"""An unlearner as a JSON document and tensors, and back: what the next request starts from.

The document says what was done (settings, ids, history, certificates), the tensors hold what the
next request needs: which records are gone, secret state, what training moved. Records are not
among them: they are given again and checked, one commitment for each. Neither are frozen layers:
the model is given again as it came to `fit`, and each of its tensors has a hash. Code has none:
model and loss are tried on 8 records, and must give what they gave.
"""

import copy
import hashlib
import re
import secrets
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from expunge.accounting.account import account
from expunge.accounting.assumptions import Assumptions
from expunge.accounting.certificate import Certificate, parse_certificate
from expunge.accounting.document import AccountRequest
from expunge.accounting.history import History
from expunge.accounting.target import EpsilonDelta
from expunge.accounting.verification import differences, file_differences
from expunge.errors import InvalidInput
from expunge.unlearning.ids import RowNumbers, id_rows
from expunge.unlearning.networks.commitments import (
    commitments,
    describe_loss,
    form_of,
    tensor_sha256,
)
from expunge.unlearning.networks.comparison import Arm, Comparison
from expunge.unlearning.networks.inputs import Columns, Inputs, mapped, taking_columns, tensors_in
from expunge.unlearning.networks.module_checks import refuse_uncallable
from expunge.unlearning.networks.network_fitted import NetworkFitted
from expunge.unlearning.networks.network_job import NetworkJob, NetworkLoss
from expunge.unlearning.networks.network_strategy import NetworkStrategy
from expunge.unlearning.networks.records import refuse_other_form, tensors_of
from expunge.unlearning.networks.weights import load_into, network_bytes, state_of, with_state
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.roster import Roster
from expunge.unlearning.row_store import RowStore
from expunge.unlearning.settings import describe

__all__ = ["Again", "document_of", "restored", "tensors_to_save"]

PROBED = 8  # records on which the model and the loss given again are tried
ALIKE = 1e-3  # of the outputs' scale: beyond what another machine's arithmetic explains
SAME = 1e-5  # of the loss of the same outputs
LONE = re.compile("[\ud800-\udfff]")  # halves of characters, which no file holds
TEMPLATE = "give the model as it came to fit"


class Again(NamedTuple):
    """What the user gives again when a saved unlearner is loaded."""

    model: nn.Module
    loss: NetworkLoss
    private: Any
    public: Any
    ids: Any
    evaluate: Any
    certificate: Certificate | None


def document_of(fitted: NetworkFitted, model: bytes) -> dict[str, Any]:
    """What was done, as it was at fit; the unlearner's own attributes may have changed since.

    Raises:
        InvalidInput: something that JSON does not bring back; it is named.
    """
    job, outcome, certificate = fitted.job, fitted.outcome, fitted.certificate
    settings = {
        "head": job.head,
        "epsilon": job.target.level,
        "delta": job.target.delta,
        "strategy": describe(fitted.strategy, "strategy"),
        "observer": job.observer,
        "retraining": describe(fitted.retraining, "retraining"),
        "released": fitted.released,
        "random_state": job.seed,
        "device": job.device,
        "adaptive_requests": job.adaptive_requests,
    }
    return {
        "settings": settings,
        "loss": describe_loss(job.loss),
        "module": _described_module(job.module),
        "ids": _saved_ids(fitted),
        "private": job.roster.private,
        "form": form_of(job.inputs, job.targets),
        "public": _public_sha256(job.public_inputs, job.public_targets),
        "outcome": {
            "account": _account_document(outcome.assumptions, outcome.history),
            "flops": outcome.flops,
            "declared": list(outcome.declared),
            "retained": list(outcome.retained),
            "rounds": list(outcome.rounds),
            "capacity": outcome.capacity,
            "noise_free": outcome.noise_free,
        },
        "earlier": {
            "account": _account_document(fitted.earlier["assumptions"], fitted.earlier["history"]),
            "rounds": list(fitted.earlier["rounds"]),
        },
        "released_before": fitted.released_before,
        "certificate": None if certificate is None else certificate.canonical(),
        "comparison": None if fitted.comparison is None else asdict(fitted.comparison),
        "lineage": fitted.lineage,
        "issued": list(fitted.issued),
        "model": hashlib.sha256(model).hexdigest(),
    }


def tensors_to_save(fitted: NetworkFitted) -> dict[str, Tensor]:
    """What the next request starts from, records excepted."""
    job, outcome, key = fitted.job, fitted.outcome, secrets.token_bytes(32)
    frozen, start = _frozen_names(fitted.strategy, job.head, list(job.start)), job.start
    moved = {
        name: value
        for name, value in outcome.state.items()
        if value.dtype != start[name].dtype or tensor_sha256(value) != tensor_sha256(start[name])
    }
    tensors = {
        "left": job.roster.left,
        "key": torch.frombuffer(bytearray(key), dtype=torch.uint8),
        "commitments": commitments(job.inputs, job.targets, _private_there(job.roster), key),
        **{f"start.{name}": value for name, value in start.items() if name not in frozen},
        **{f"state.{name}": value for name, value in moved.items()},
        **{f"secret.{name}": value for name, value in outcome.secret.items()},
    }
    tensors |= {f"tried.{n}": v for n, v in _tried(fitted.strategy, job) if v is not None}
    return {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}


def restored(
    document: dict[str, Any], saved: dict[str, Tensor], again: Again, settings: dict[str, Any]
) -> NetworkFitted:
    """What was saved, on the records and the model that are given again.

    Args:
        settings: The document's own, records of strategies rebuilt.

    Raises:
        InvalidInput: they are not those that came to `fit`; the first that differs is named.
        ValueError: the document contradicts itself, or its own certificate.
    """
    if describe_loss(again.loss) != document["loss"]:
        raise InvalidInput("loss", f"not the one that was fitted, {document['loss']}")
    strategy = settings["strategy"]
    if settings["observer"] == "all" and document["issued"] and again.certificate is None:
        raise InvalidInput(
            "certificate", "give the last one: observer 'all' holds models of every request so far"
        )
    frozen = _frozen_names(strategy, settings["head"], list(document["module"]))
    template = _template(again.model, document["module"], _part(saved, "start"), frozen)
    roster = _roster(document, saved["left"])
    inputs, targets = _private(document, saved, again, roster)
    public = (None, None) if again.public is None else tensors_of(again.public, "public")
    if _public_sha256(*public) != document["public"]:
        raise InvalidInput("public", "not the records that came to fit, in their order")
    held_out = None if again.evaluate is None else tensors_of(again.evaluate, "evaluate")
    if held_out is not None:
        refuse_other_form(held_out[0], inputs, "evaluate")
    if isinstance(inputs, Columns):
        refuse_uncallable(template, inputs, "private")
        taking_columns(template)
    job = NetworkJob(
        module=template,
        loss=copy.deepcopy(again.loss),
        inputs=inputs,
        targets=targets,
        roster=roster,
        public_inputs=public[0],
        public_targets=public[1],
        target=EpsilonDelta(settings["epsilon"], settings["delta"]),
        observer=settings["observer"],
        seed=settings["random_state"],
        device=settings["device"],
        head=settings["head"],
        start=state_of(template),
        adaptive_requests=settings["adaptive_requests"],
    )
    _check_tried(strategy, job, _part(saved, "tried"))
    outcome = _outcome(document["outcome"], job, saved)
    text, comparison = document["certificate"], document["comparison"]
    made = NetworkFitted(
        job=job,
        rows=RowStore((inputs, targets), roster.public, erasures=roster.request),
        strategy=strategy,
        retraining=settings["retraining"],
        outcome=outcome,
        earlier=_records(document["earlier"]),
        held_out=held_out,
        released=settings["released"],
        released_before=document["released_before"],
        copied=True,
        certificate=None if text is None else parse_certificate(text),
        comparison=None if comparison is None else _comparison(comparison),
        lineage=document["lineage"],
        issued=tuple(document["issued"]),
    )
    _check_certificate(made, document["model"])
    return made


def _frozen_names(strategy: NetworkStrategy, head: str | None, names: list[str]) -> set[str]:
    """What private records never move, in no request: all but the head."""
    if not strategy.keeps_backbone:
        return set()
    return {name for name in names if not name.startswith(f"{head}.")}


def _described_module(module: nn.Module) -> dict[str, list[Any]]:
    """Shape, type, whether it is trained, and hash of every parameter and buffer."""
    trained = {name for name, value in module.named_parameters() if value.requires_grad}
    return {
        name: [list(value.shape), str(value.dtype), name in trained, tensor_sha256(value)]
        for name, value in state_of(module).items()
    }


def _template(
    model: nn.Module, stated: dict[str, list[Any]], start: dict[str, Tensor], frozen: set[str]
) -> nn.Module:
    """The module as it came to `fit`: frozen layers as given, the others as they were saved."""
    template = copy.deepcopy(model).cpu().eval()
    found = _described_module(template)
    for name in [*stated, *(name for name in found if name not in stated)]:
        if name not in found or name not in stated:
            there = "is missing" if name in stated else "was not there at fit"
            raise InvalidInput("model", f"{name!r} {there}; {TEMPLATE}")
        if found[name][:3] != stated[name][:3]:
            shape, dtype, trained, _ = stated[name]
            raise InvalidInput(
                "model",
                f"{name!r} was {tuple(shape)} {dtype}, {'' if trained else 'not '}trained, at "
                f"fit; {TEMPLATE}",
            )
        if name in frozen and found[name] != stated[name]:
            raise InvalidInput("model", f"the frozen {name!r} has changed since fit; {TEMPLATE}")
    load_into(template, start)
    if _described_module(template) != stated:
        raise ValueError("the saved start is not the one that the document names")
    return template


def _roster(document: dict[str, Any], left: Tensor) -> Roster:
    """Who was there, and who left.

    Raises:
        ValueError: the state has another number of records than the document.
    """
    public, count = (document["public"] or [0])[0], document["private"]
    if len(left) != public + count:
        raise ValueError(f"{len(left)} records in the state, {public + count} in the document")
    return Roster.of(id_rows(document["ids"], count, public), public, left)


def _private_there(roster: Roster) -> Tensor:
    """(private records,) which are still there."""
    return roster.present[roster.public :]


def _private(
    document: dict[str, Any], saved: dict[str, Tensor], again: Again, roster: Roster
) -> tuple[Inputs, Tensor]:
    """The records in the order they had at `fit`; those of forgotten ones zero, never read."""
    given, labels = tensors_of(again.private, "private")
    form = form_of(given, labels)
    for name, stated in document["form"].items():
        if form.get(name) != stated:
            raise InvalidInput("private", f"{name}: {form.get(name)}, at fit {stated}")
    if form.keys() != document["form"].keys():
        raise InvalidInput("private", f"{', '.join(form)}; at fit {', '.join(document['form'])}")
    count, known = roster.private, {id_: row - roster.public for id_, row in roster.ids.items()}
    if again.ids is None and (document["ids"] is not None or len(labels) != count):
        raise InvalidInput("ids", "give the ids of these records, as at fit")
    try:
        rows = id_rows(again.ids, len(labels), 0)
    except (TypeError, ValueError) as error:
        raise InvalidInput("ids", str(error).removeprefix("ids: ")) from error
    keep = _private_there(roster)
    for one in rows:
        if one not in known:
            raise InvalidInput("private", f"id {one!r} was not there at fit")
    missing = [one for one, row in known.items() if keep[row] and one not in rows]
    if missing:
        raise InvalidInput(
            "private",
            f"no record {missing[0]!r}, which this state has not forgotten: give it, or load the "
            "state that has",
        )
    order = [(known[one], row) for one, row in rows.items() if keep[known[one]]]
    here, there = (torch.tensor([pair[i] for pair in order], dtype=torch.int64) for i in (0, 1))
    inputs = mapped(lambda column: column.new_zeros(count, *column.shape[1:]), given)
    targets = labels.new_zeros(count, *labels.shape[1:])
    chosen: Any = given[there]
    inputs[here] = chosen
    targets[here] = labels[there]
    found = commitments(inputs, targets, keep, saved["key"].numpy().tobytes())
    for one, row in known.items():
        if not torch.equal(found[row], saved["commitments"][row]):
            raise InvalidInput("private", f"record {one!r} is not what it was at fit")
    return inputs, targets


def _saved_ids(fitted: NetworkFitted) -> list[Any] | None:
    ids = fitted.job.roster.ids
    if isinstance(ids, RowNumbers):
        return None
    for one in ids:
        if type(one) not in (str, int) or LONE.search(str(one)):
            raise InvalidInput("ids", f"{one!r} cannot be saved; texts and whole numbers can")
    return list(ids)


def _public_sha256(inputs: Inputs | None, targets: Tensor | None) -> list[Any] | None:
    if inputs is None or targets is None:
        return None
    tensors = [part for _, part in tensors_in(inputs)]
    return [len(targets), form_of(inputs, targets), tensor_sha256(*tensors, targets)]


def _tried(
    strategy: NetworkStrategy, job: NetworkJob, earlier: Tensor | None = None
) -> Iterator[tuple[str, Tensor | None]]:
    """What the start makes of a few records, then the loss of that, or of what it made earlier.

    A loss of which `Head` reads the kind alone is not tried.

    None where that is no tensor, not finite, or differs each time.
    """
    inputs, targets = job.batch(job.present[:PROBED])
    module = with_state(job.module, {}, job.device).eval()
    with torch.no_grad():
        outputs = module(inputs)
        yield "outputs", _steady(outputs, module(inputs))
        if strategy.runs_the_loss:
            outputs = outputs if earlier is None else earlier.to(job.device)
            losses = [copy.deepcopy(job.loss)(outputs, targets) for _ in range(2)]
            yield "loss", _steady(*losses)


def _steady(first: Any, second: Any) -> Tensor | None:
    if not isinstance(first, Tensor) or not torch.equal(first, second):
        return None
    return first.cpu() if bool(first.isfinite().all()) else None


def _check_tried(strategy: NetworkStrategy, job: NetworkJob, saved: dict[str, Tensor]) -> None:
    """Check that model and loss give on a few records what they gave at fit.

    Raises:
        InvalidInput: other code than at fit, with the same parameters and names.
    """
    earlier = saved.get("outputs")
    for name, found in _tried(strategy, job, earlier):
        field, remedy = {"outputs": ("model", TEMPLATE), "loss": ("loss", "give that of fit")}[name]
        alike = ALIKE if name == "outputs" or earlier is None else SAME
        if name not in saved:
            continue
        if found is None or found.shape != saved[name].shape:
            raise InvalidInput(field, f"gives {name} of another form than at fit; {remedy}")
        scale = 1 + float(saved[name].abs().max())
        if not float((found - saved[name]).abs().max()) <= alike * scale:
            raise InvalidInput(field, f"gives other {name} than at fit; {remedy}")


def _outcome(document: dict[str, Any], job: NetworkJob, saved: dict[str, Tensor]) -> Outcome:
    records, secret = _records(document), _part(saved, "secret")
    return Outcome(
        job.start | _part(saved, "state"),
        records["assumptions"],
        records["history"],
        flops=document["flops"],
        declared=tuple(document["declared"]),
        retained=tuple(document["retained"]),
        rounds=records["rounds"],
        capacity=document["capacity"],
        noise_free=document["noise_free"],
        secret=secret,
    )


def _check_certificate(fitted: NetworkFitted, model: str) -> None:
    """Check that state, document and certificate belong together.

    Raises:
        ValueError: they do not.
    """
    job, certificate = fitted.job, fitted.certificate
    whole = network_bytes(with_state(job.module, fitted.outcome.state), fitted.outcome.salt)
    if hashlib.sha256(whole).hexdigest() != model:
        raise ValueError("the weights are not those that the document names")
    if len(fitted.issued) != job.roster.request or (certificate is None) != (not fitted.issued):
        raise ValueError(f"{len(fitted.issued)} certificates for {job.roster.request} requests")
    if certificate is None:
        return
    if certificate.sha256 != fitted.issued[-1]:
        raise ValueError("the certificate is not the last one issued")
    altered = differences(certificate)
    if altered:
        raise ValueError(f"the certificate's {altered[0].field}: {altered[0].problem}")
    if file_differences(certificate, model):
        raise ValueError("the weights are not those that the certificate is about")
    if not _is_about(certificate, fitted.outcome):
        raise ValueError("the certificate is about another history")
    stated = (certificate.forgotten, certificate.strategy, certificate.delta)
    if stated != (job.roster.forgotten, fitted.strategy.name, job.target.delta):
        raise ValueError("the certificate is about another request")


def _is_about(certificate: Certificate, outcome: Outcome) -> bool:
    """Whether it states the outcome's own constants and phases."""
    if outcome.assumptions is None or outcome.history is None:
        return False
    judged = account(outcome.assumptions, outcome.history, delta=certificate.claim.delta)
    stated = {name: one.model_dump() for name, one in certificate.assumptions.items()}
    return judged.assumptions == stated and certificate.records_of_history()[1] == outcome.history


def _part(saved: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    prefix = f"{name}."
    return {n.removeprefix(prefix): v for n, v in saved.items() if n.startswith(prefix)}


def _comparison(document: dict[str, Any]) -> Comparison:
    arms: Any = {name: Arm(**document[name]) for name in ("certified", "placebo", "warm_start")}
    return Comparison(**document | arms)


def _account_document(
    assumptions: Assumptions | None, history: History | None
) -> dict[str, Any] | None:
    """The history in the form that `expunge account` reads."""
    if assumptions is None or history is None:
        return None
    return {
        "assumptions": {
            name: {"value": getattr(assumptions, name), "mark": assumptions.mark(name)}
            for name in assumptions.constants()
        },
        "phases": [asdict(phase) for phase in history.phases],
        "normaliser": history.normaliser,
        "normaliser_count": history.normaliser_count,
        "delta": 0.5,  # not asked for; the account's form has one
    }


def _records(document: dict[str, Any]) -> dict[str, Any]:
    stated = document["account"]
    assumptions, history = (
        (None, None) if stated is None else AccountRequest.model_validate(stated).records()
    )
    rounds = tuple(document["rounds"])
    return {"assumptions": assumptions, "history": history, "rounds": rounds}
