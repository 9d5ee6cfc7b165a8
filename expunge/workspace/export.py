"""`export`: what may leave the house, in a folder of its own that appears whole or not at all.

    model.onnx | model.skops    the predictor from columns to labels, as ONNX or for scikit-learn
    model.safetensors           the weights, whose hash the certificate names; always there
    encoding.json               how columns become numbers, and the bound on rows
    certificate.json            as it was issued, if anything was deleted yet
    MODEL_CARD.md               what it is for, what is certified, and what is not

No record and no id is among it, and no private record is opened.
"""

import json
from pathlib import Path
from typing import Any, Literal, NamedTuple

from expunge.accounting.certificate import parse_certificate
from expunge.core.whole_file import write_whole
from expunge.core.whole_folder import check_new_folder, whole_folder
from expunge.errors import InvalidInput
from expunge.ledger import Model
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.workspace.current_model import head_of
from expunge.workspace.encoding import Encoding
from expunge.workspace.evaluation import read_evaluation
from expunge.workspace.exported_pipeline import onnx_bytes, pipeline_of, skops_bytes
from expunge.workspace.folder import PUBLIC, Folder
from expunge.workspace.model_card import model_card
from expunge.workspace.options import Options
from expunge.workspace.public_records import evaluate_on_public

__all__ = ["Format", "export"]

Format = Literal["onnx", "sklearn", "safetensors"]


class _Stated(NamedTuple):
    """What the ledger says."""

    model: Model
    options: str
    encoding: str
    head: str
    public: str
    certificate: str | None


def export(workspace: Path, to: Path, *, format: Format = "safetensors") -> dict[str, Any]:  # noqa: A002
    """Write the current model into a new folder, to be handed out.

    Raises:
        InvalidInput: there is something in the folder already, it lies in the workspace, or the
            model was declared never to be handed out.
        MissingPackage: the format needs a package that is not installed.
    """
    folder = Folder.opened(workspace)
    check_new_folder(to)
    if folder.path.resolve() in to.resolve().parents:
        raise InvalidInput(str(to), "lies in the workspace; choose another folder")
    said, head, content, scores = folder.steady(
        lambda entries, model: _Stated(
            model,
            entries.setting("options"),
            entries.setting("encoding"),
            entries.setting("head"),
            entries.setting(PUBLIC),
            entries.certificate_of(model),
        ),
        lambda said: (
            said,
            head_of(folder, said.model, said.head),
            folder.model_file(said.model.sha256).read_bytes(),
            _scores(folder, said),
        ),
    )
    folder.ledger.close()
    files = {"model.safetensors": content} | _documents(said, head, scores, format)
    with whole_folder(to, "export") as building:
        for name, written in files.items():
            write_whole(building / name, written)
        building.chmod(0o755)
    return {
        "to": str(to),
        "format": format,
        "files": sorted(files),
        "model": {"number": said.model.number, "sha256": said.model.sha256},
        "certified": said.certificate is not None,
    }


def _scores(folder: Folder, said: _Stated) -> dict[str, Any] | None:
    """How the model does on the public records; None without any."""
    if said.model.evaluation is not None:
        return read_evaluation(said.model.evaluation)
    options, encoding = Options.of(said.options), Encoding.of(said.encoding)
    head = head_of(folder, said.model, said.head)
    return evaluate_on_public(folder, said.public, options, encoding, head)


def _documents(
    said: _Stated,
    head: LinearHead,
    scores: dict[str, Any] | None,
    format: Format,  # noqa: A002
) -> dict[str, bytes]:
    """Everything but the weights.

    Raises:
        InvalidInput: the model was declared never to be handed out, or the format has no place for
            its features.
    """
    options, encoding = Options.of(said.options), Encoding.of(said.encoding)
    if encoding.steps is not None and format != "safetensors":
        raise InvalidInput(
            "format",
            f"{format} cannot hold the trees of --features {options.features}; take --format "
            "safetensors, whose encoding.json has them",
        )
    certificate = None if said.certificate is None else parse_certificate(said.certificate)
    if not options.released and certificate is None:
        raise InvalidInput(
            "export",
            "the workspace was made with --unreleased: the fitted model is never handed out; "
            "there will be one to export after the first deletion",
        )
    known = json.loads(said.head)
    card = model_card(
        options,
        encoding,
        known,
        certificate,
        scores,
        format=format,
    )
    columns, rules = json.loads(said.encoding), {"model": known}
    if encoding.steps is not None:
        columns, rules["features"] = columns
    rules = {"columns": columns, **rules}
    files = {
        "encoding.json": f"{json.dumps(rules, indent=2)}\n".encode(),
        "MODEL_CARD.md": card.encode(),
    }
    if certificate is not None:
        files["certificate.json"] = f"{certificate.readable()}\n".encode()
    if format == "onnx":
        files["model.onnx"] = onnx_bytes(pipeline_of(head, encoding), encoding)
    if format == "sklearn":
        files["model.skops"] = skops_bytes(pipeline_of(head, encoding))
    return files
