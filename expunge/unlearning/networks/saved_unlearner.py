"""A fitted unlearner as a generation of the store (`docs/store.md`), and back.

The document says what was done (terms, settings, ids, history), the state holds what the next
request starts from: who left, secret tensors, what training moved. Records are not among them: they
are given again and checked, one commitment for each. Neither are frozen layers: the model is given
again as it came to `fit`, and each of its tensors has a hash. Code has none: model and loss are
tried on 8 records, and must give what they gave.

The certificate lies in the document too: what is on top may be given away, and be missing here.
Whoever loads a state twice and honours different requests cannot save both into the folder, but
both models exist. Load a state once; every certificate from then on says that this is your word.
"""

import copy
import os
import secrets
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of_file
from safetensors.torch import save as tensor_bytes
from torch import Tensor, nn

from expunge.accounting.certificate import Certificate, parse_certificate
from expunge.core.checks import instance, optional, path_like
from expunge.core.inputs import Columns, Inputs, mapped, taking_columns, tensors_in
from expunge.core.module_state import load_into, state_of, with_state
from expunge.core.records import refuse_other_form, tensors_of
from expunge.errors import InvalidInput
from expunge.features.module_checks import refuse_uncallable
from expunge.store import Generation, Saved, read_steadily, settle, write
from expunge.store.layout import SECRET
from expunge.unlearning.ids import id_rows
from expunge.unlearning.networks.commitments import (
    commitments,
    describe_loss,
    form_of,
    tensor_sha256,
)
from expunge.unlearning.networks.comparison import Arm, Comparison
from expunge.unlearning.networks.network_fitted import NetworkFitted
from expunge.unlearning.networks.network_job import NetworkJob, NetworkLoss
from expunge.unlearning.networks.network_strategy import NetworkStrategy
from expunge.unlearning.networks.unlearner_parameters import check_unlearner
from expunge.unlearning.roster import Roster
from expunge.unlearning.row_store import RowStore
from expunge.unlearning.saved_state import (
    check_certificate,
    ids_document,
    lineage_of,
    named_part,
    outcome_document,
    restore_outcome,
    restore_roster,
    restore_terms,
    secret_tensors,
    terms_document,
)
from expunge.unlearning.settings import describe, rebuild

__all__ = ["GivenAgain", "resume", "save"]

KIND = "TorchUnlearner"
PROBED = 8  # records on which the model and the loss given again are tried
ALIKE = 1e-3  # of the outputs' scale: beyond what another machine's arithmetic explains
SAME = 1e-5  # of the loss of the same outputs
TEMPLATE = "give the model as it came to fit"
# What a document or a state that we did not write may lead to.
FOREIGN = (LookupError, TypeError, AttributeError, RuntimeError, ValueError, SafetensorError)


class GivenAgain(NamedTuple):
    """What the user gives again when a saved unlearner is loaded.

    Args:
        certificate: One that the unlearner has issued, kept elsewhere; None for none.
        device: Where the module runs; None where it ran before.
    """

    model: nn.Module
    loss: NetworkLoss
    private: Any
    public: Any
    ids: Any
    evaluate: Any
    certificate: Certificate | None
    device: str | None


def save(fitted: NetworkFitted, folder: str | Path) -> None:
    """Write a fitted state into a folder, in place of the one that it follows.

    Raises:
        InvalidInput: something cannot be saved, or the folder holds something else, a request that
            this state has not honoured, or requests of another fit.
        NoCertificate: the state was changed, or is not the last one.
        Locked: another process is writing there.
    """
    fitted.check_unchanged()
    generation = Generation(
        kind=KIND,
        lineage=lineage_of(fitted),
        document=_document(fitted),
        state=tensor_bytes(_tensors(fitted)),
        model=fitted.model_bytes,
        certificate=fitted.certificate,
    )
    write(folder, generation)


def resume(folder: str | Path, again: GivenAgain) -> NetworkFitted:
    """The state that a folder holds, on the records and the model that are given again.

    What an interrupted writer left in the folder is erased first, where one may write; a file that
    cannot be deleted is named by a warning, and keeps nobody from reading.

    Raises:
        InvalidInput: not such a folder, changed since, older than the certificate, or not the
            model, loss or records that were fitted; the first that differs is named.
        Locked: another process is writing there.
    """
    path_like("folder", folder)
    optional(instance(Certificate, "a Certificate"))("certificate", again.certificate)
    if os.access(Path(folder) / SECRET, os.W_OK):
        try:
            settle(folder)
        except OSError as error:
            warnings.warn(str(error), stacklevel=4)
    saved, state = read_steadily(folder, lambda saved: (saved, saved.state()))
    if saved.index.kind != KIND:
        raise InvalidInput(str(folder), f"not a saved unlearner, but a {saved.index.kind}")
    if again.certificate is not None:
        saved.index.lineage.check_issued(again.certificate, str(folder))
    device = again.device or saved.document.get("device", "cpu")
    check_unlearner(model=again.model, loss=again.loss, device=device)
    try:
        return _restored(saved, tensors_of_file(state), again)
    except InvalidInput:
        raise
    except FOREIGN as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(str(folder), f"not a saved unlearner ({reason})") from error


def _document(fitted: NetworkFitted) -> dict[str, Any]:
    """What was done, as it was at fit; the unlearner's own attributes may have changed since.

    Raises:
        InvalidInput: something that JSON does not bring back; it is named.
    """
    job, certificate = fitted.job, fitted.certificate
    return terms_document(fitted) | {
        "head": job.head,
        "device": str(job.device),  # torch's own kind is taken too
        "strategy": describe(fitted.strategy, "strategy"),
        "retraining": describe(fitted.retraining, "retraining"),
        "loss": describe_loss(job.loss),
        "module": _described_module(job.module),
        "ids": ids_document(job.roster),
        "private": job.roster.private,
        "form": form_of(job.inputs, job.targets),
        "public": _public_sha256(job.public_inputs, job.public_targets),
        "outcome": outcome_document(fitted.outcome),
        "certificate": None if certificate is None else certificate.canonical(),
        "comparison": None if fitted.comparison is None else asdict(fitted.comparison),
    }


def _tensors(fitted: NetworkFitted) -> dict[str, Tensor]:
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
        **secret_tensors(outcome),
    }
    tensors |= {f"tried.{n}": v for n, v in _tried(fitted.strategy, job) if v is not None}
    return {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}


def _restored(saved: Saved, tensors: dict[str, Tensor], again: GivenAgain) -> NetworkFitted:
    """What was saved, on the records and the model that are given again.

    Raises:
        InvalidInput: they are not those that came to `fit`; the first that differs is named.
        ValueError: the folder contradicts itself, or its own certificate.
    """
    document = saved.document
    if document["observer"] == "all" and saved.index.lineage.issued and again.certificate is None:
        raise InvalidInput(
            "certificate", "give the last one: observer 'all' holds models of every request so far"
        )
    for_job, for_fitted = restore_terms(saved, document)
    job = _job(document, tensors, again, for_fitted["strategy"], for_job)
    weights = job.start | named_part(tensors, "state.")
    held_out = None if again.evaluate is None else tensors_of(again.evaluate, "evaluate")
    if held_out is not None:
        refuse_other_form(held_out[0], job.inputs, "evaluate")
    text, comparison = document["certificate"], document["comparison"]
    fitted = NetworkFitted(
        job=job,
        rows=RowStore((job.inputs, job.targets), job.roster.public, erasures=job.roster.request),
        retraining=rebuild(document["retraining"]),
        outcome=restore_outcome(document["outcome"], weights, tensors),
        held_out=held_out,
        certificate=None if text is None else parse_certificate(text),
        comparison=None if comparison is None else _comparison(comparison),
        **for_fitted,
    )
    check_certificate(fitted, saved.index.model.sha256)
    return fitted


def _job(
    document: dict[str, Any],
    tensors: dict[str, Tensor],
    again: GivenAgain,
    strategy: NetworkStrategy,
    terms: dict[str, Any],
) -> NetworkJob:
    """The learning problem, once everything given again is what came to `fit`."""
    if describe_loss(again.loss) != document["loss"]:
        raise InvalidInput("loss", f"not the one that was fitted, {document['loss']}")
    frozen = _frozen_names(strategy, document["head"], list(document["module"]))
    template = _template(again.model, document["module"], named_part(tensors, "start."), frozen)
    public_count = (document["public"] or [0])[0]
    roster = restore_roster(document["ids"], document["private"], public_count, tensors["left"])
    inputs, targets = _private(document, tensors, again, roster)
    public = (None, None) if again.public is None else tensors_of(again.public, "public")
    if _public_sha256(*public) != document["public"]:
        raise InvalidInput("public", "not the records that came to fit, in their order")
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
        device=again.device or document["device"],
        head=document["head"],
        start=state_of(template),
        **terms,
    )
    _check_tried(strategy, job, named_part(tensors, "tried."))
    return job


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
    given = _described_module(template)
    for name in stated | given:
        if name not in given or name not in stated:
            there = "is missing" if name in stated else "was not there at fit"
            raise InvalidInput("model", f"{name!r} {there}; {TEMPLATE}")
        if given[name][:3] != stated[name][:3]:
            shape, dtype, trained, _ = stated[name]
            raise InvalidInput(
                "model",
                f"{name!r} was {tuple(shape)} {dtype}, {'' if trained else 'not '}trained, at "
                f"fit; {TEMPLATE}",
            )
        if name in frozen and given[name] != stated[name]:
            raise InvalidInput("model", f"the frozen {name!r} has changed since fit; {TEMPLATE}")
    load_into(template, start)
    if _described_module(template) != stated:
        raise ValueError("the saved start is not the one that the document names")
    return template


def _private_there(roster: Roster) -> Tensor:
    """(private records,) which are still there."""
    return roster.present[roster.public :]


def _private(
    document: dict[str, Any], tensors: dict[str, Tensor], again: GivenAgain, roster: Roster
) -> tuple[Inputs, Tensor]:
    """The records in the order they had at `fit`; those of forgotten ones zero, never read."""
    given, labels = tensors_of(again.private, "private")
    form, stated = form_of(given, labels), document["form"]
    for name in stated | form:
        if form.get(name) != stated.get(name):
            problem = f"{name}: {form.get(name)}, at fit {stated.get(name)}"
            raise InvalidInput("private", problem)
    count, keep = roster.private, _private_there(roster)
    if again.ids is None and (document["ids"] is not None or len(labels) != count):
        raise InvalidInput("ids", "give the ids of these records, as at fit")
    there, here = _places(again.ids, len(labels), roster)
    inputs = mapped(lambda column: column.new_zeros(count, *column.shape[1:]), given)
    targets = labels.new_zeros(count, *labels.shape[1:])
    chosen: Any = given[here]
    inputs[there] = chosen
    targets[there] = labels[here]
    committed = commitments(inputs, targets, keep, tensors["key"].numpy().tobytes())
    same = (committed == tensors["commitments"]).all(1).tolist()
    for id_, row in roster.ids.items():
        if not same[row - roster.public]:
            raise InvalidInput("private", f"record {id_!r} is not what it was at fit")
    return inputs, targets


def _places(ids: Any, count: int, roster: Roster) -> tuple[Tensor, Tensor]:
    """Places of the records that are still there: at `fit`, and among those given again.

    Raises:
        InvalidInput: an id that was not there at fit, or one that is missing.
    """
    try:
        rows = id_rows(ids, count, 0)
    except (TypeError, ValueError) as error:
        raise InvalidInput("ids", str(error).removeprefix("ids: ")) from error
    for id_ in rows:
        if id_ not in roster.ids:
            raise InvalidInput("private", f"id {id_!r} was not there at fit")
    present = roster.present.tolist()
    for id_, row in roster.ids.items():
        if present[row] and id_ not in rows:
            raise InvalidInput(
                "private",
                f"no record {id_!r}, which this state has not forgotten: give it, or load the "
                "state that has",
            )
    places = [(roster.ids[id_], row) for id_, row in rows.items() if present[roster.ids[id_]]]
    there, here = torch.tensor(places, dtype=torch.int64).reshape(-1, 2).unbind(1)
    return there - roster.public, here


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


def _check_tried(strategy: NetworkStrategy, job: NetworkJob, before: dict[str, Tensor]) -> None:
    """Check that model and loss give on a few records what they gave at fit.

    Raises:
        InvalidInput: other code than at fit, with the same parameters and names.
    """
    earlier = before.get("outputs")
    for name, value in _tried(strategy, job, earlier):
        field, remedy = {"outputs": ("model", TEMPLATE), "loss": ("loss", "give that of fit")}[name]
        alike = ALIKE if name == "outputs" or earlier is None else SAME
        if name not in before:
            continue
        if value is None or value.shape != before[name].shape:
            raise InvalidInput(field, f"gives {name} of another form than at fit; {remedy}")
        scale = 1 + float(before[name].abs().max())
        if not float((value - before[name]).abs().max()) <= alike * scale:
            raise InvalidInput(field, f"gives other {name} than at fit; {remedy}")


def _comparison(document: dict[str, Any]) -> Comparison:
    arms: Any = {name: Arm(**document[name]) for name in ("certified", "placebo", "warm_start")}
    return Comparison(**document | arms)
