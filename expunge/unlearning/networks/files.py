"""An unlearner on disk: safetensors and JSON, never pickle. What may be handed out is on top.

    model.safetensors             the module's state_dict
    certificate.json              absent before the first deletion
    secret/unlearner.json         settings, ids, history, hashes
    secret/state-N.safetensors    what the next request starts from: un-noised solutions, features,
                                  Gram matrices
    secret/.lock                  while a process saves or loads

Where the certificate names a hash it is this file's: sha256sum model.safetensors. Records are not
written, and neither are frozen layers. Only the owner may read secret/.

One at a time saves or loads (flock, where there is one: it ends with its process). State is
written under a fresh name, what is on top taken away, then unlearner.json replaced in one step,
then the new model and certificate written: whoever is interrupted leaves the old state or the new
one, whole, and never one's certificate beside the other's model. What a killed one left behind is
deleted by whoever saves or loads next.

What loading refuses: a file that is not the one whose hash unlearner.json names, a document that
was edited, a certificate that its own history does not support or that is about another state, and
files on top that belong to another state. These hashes protect against accidents. Against somebody
who rewrites all of secret/ consistently, or puts back a whole folder from before a later request,
nothing inside the folder helps: keep certificates elsewhere (`load(..., certificate=the last)`) and
the folder where only you can write. Of two processes that load one state and honour different
requests the second cannot save into the folder, but both models exist: load a state once, and
every certificate from then on says that this is the operator's word. A folder with honoured
requests of another fit is not overwritten: those requests would be forgotten.
"""

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from safetensors.torch import load as tensors
from safetensors.torch import save as tensor_bytes
from torch import Tensor, nn

from expunge.accounting.canonical import sha256
from expunge.accounting.certificate import Certificate, parse_certificate
from expunge.accounting.document import parse_json
from expunge.accounting.verification import differences, file_differences
from expunge.core.whole_file import sync, write_whole
from expunge.errors import InvalidInput
from expunge.unlearning.networks import saved
from expunge.unlearning.networks.network_fitted import NetworkFitted
from expunge.unlearning.networks.weights import network_bytes
from expunge.unlearning.settings import rebuild

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None

if TYPE_CHECKING:
    from expunge.unlearning.networks.unlearner import TorchUnlearner

__all__ = ["load", "read", "resumed", "save", "settings_of"]

FORMAT = 4
MODEL, CERTIFICATE, SECRET, INDEX, LOCK = (
    "model.safetensors",
    "certificate.json",
    "secret",
    "unlearner.json",
    ".lock",
)
STATE = re.compile(r"state-[0-9a-f]{8}\.safetensors")
UNFINISHED = re.compile(r"\.(model|certificate|unlearner|state-[0-9a-f]{8})\.(json|safetensors)\.")
OTHER_MODEL = "the model is not the one that its certificate is about"


def save(unlearner: "TorchUnlearner", folder: str | Path) -> None:
    """Write an unlearner's model, certificate and secret state into a folder.

    Raises:
        ValueError: the folder is busy, or holds something else or a later state; or the model
            changed.
    """
    folder = Path(folder)
    fitted = unlearner.fitted_
    model = network_bytes(unlearner.model, fitted.outcome.salt)
    if model != unlearner.model_bytes():
        raise ValueError(OTHER_MODEL)
    fitted.check_unchanged()
    _check_ours(folder)
    document = saved.document_of(fitted, unlearner.model_bytes())
    state = tensor_bytes(saved.tensors_to_save(fitted))
    name = f"state-{secrets.token_hex(4)}.safetensors"
    files = {"state": {"name": name, "sha256": hashlib.sha256(state).hexdigest()}}
    document |= {"format": FORMAT, "files": files}
    document["sha256"] = _seal(document)
    with _alone(folder):
        _check_not_later(folder, fitted)
        (folder / SECRET).chmod(0o700)
        try:
            _write_secret(folder / SECRET / name, state)
            for on_top in (CERTIFICATE, MODEL):
                (folder / on_top).unlink(missing_ok=True)
            _write_secret(folder / SECRET / INDEX, f"{json.dumps(document, indent=1)}\n".encode())
            sync(folder / SECRET)
            write_whole(folder / MODEL, model)
            if fitted.certificate is not None:
                write_whole(folder / CERTIFICATE, f"{fitted.certificate.readable()}\n".encode())
            sync(folder)
        finally:
            _sweep(folder)


def load(model: nn.Module, folder: str | Path) -> Certificate | None:
    """Write saved weights into a module of the same kind; returns their certificate.

    For those who are given the model: it reads nothing secret. `TorchUnlearner.load` goes on.

    Raises:
        ValueError: not such a folder, another architecture, a certificate that does not recompute,
            or not the certificate's model.
    """
    folder = Path(folder)
    try:
        content = (folder / MODEL).read_bytes()
        path = folder / CERTIFICATE
        certificate = parse_certificate(path.read_text()) if path.exists() else None
        altered = [] if certificate is None else differences(certificate)
        if altered:
            raise ValueError(f"the certificate's {altered[0].field}: {altered[0].problem}")
        if certificate and file_differences(certificate, hashlib.sha256(content).hexdigest()):
            raise ValueError(OTHER_MODEL)
        model.load_state_dict(tensors(content))
    except (OSError, RuntimeError, SafetensorError, json.JSONDecodeError) as error:
        raise ValueError(f"{folder}: not a saved network of this kind ({error})") from error
    return certificate


def read(
    folder: str | Path, certificate: Certificate | None
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The document and the tensors, whole and matching; other states are swept where one may.

    Raises:
        ValueError: not such a folder, busy, changed since, or older than the certificate.
    """
    folder = Path(folder)
    inside = folder / SECRET
    if not ((inside / INDEX).exists() and os.access(inside, os.W_OK)):
        return _read(folder, certificate)
    with _alone(folder):
        found = _read(folder, certificate)
        _sweep(folder)
    return found


def _read(
    folder: Path, certificate: Certificate | None
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    try:
        document = _index(folder)
        named = document["files"]["state"]
        if not STATE.fullmatch(named["name"]):
            raise ValueError(f"{named['name']!r} is no name of a state")
        content = (folder / SECRET / named["name"]).read_bytes()
        if hashlib.sha256(content).hexdigest() != named["sha256"]:
            raise ValueError(f"{named['name']} is not the file that {INDEX} names")
        if certificate is not None and certificate.sha256 not in document["issued"]:
            raise ValueError(
                "it has not issued this certificate: it is from before that request, or another's"
            )
        _check_on_top(folder, document)
        return document, tensors(content)
    except (OSError, KeyError, TypeError, AttributeError, ValueError, SafetensorError) as error:
        raise ValueError(f"{folder}: not a saved unlearner ({error})") from error


def settings_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """What `TorchUnlearner` was made with, but for the model and its loss."""
    settings = dict(document["settings"])
    return settings | {name: rebuild(settings[name]) for name in ("strategy", "retraining")}


def resumed(
    document: dict[str, Any],
    state: dict[str, Tensor],
    again: saved.Again,
    settings: dict[str, Any],
    folder: str | Path,
) -> NetworkFitted:
    """Rebuild the fitted state from what a folder holds and what the user gives again.

    Raises:
        ValueError: the folder contradicts itself.
        InvalidInput: what is given again contradicts the folder.
    """
    try:
        return saved.restored(document, state, again, settings)
    except InvalidInput:
        raise
    except (KeyError, TypeError, AttributeError, RuntimeError, ValueError) as error:
        raise ValueError(f"{folder}: not a saved unlearner ({error})") from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from saving or loading; leave no folder if nothing was written.

    Raises:
        ValueError: another process is saving or loading.
    """
    busy = f"{folder}: another process is saving or loading there; try again when it is done"
    inside = folder / SECRET
    inside.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(inside / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = os.path.samestat(os.fstat(handle), (inside / LOCK).stat())
        except (BlockingIOError, FileNotFoundError) as error:
            raise ValueError(busy) from error
        if not ours:  # the one before took it away, and the next has made another
            raise ValueError(busy)
        try:
            yield
        finally:
            (inside / LOCK).unlink(missing_ok=True)
            for empty in (inside, folder):
                if not any(empty.iterdir()):
                    empty.rmdir()
    finally:
        os.close(handle)


def _write_secret(path: Path, content: bytes) -> None:
    write_whole(path, content)
    path.chmod(0o600)


def _index(folder: Path) -> dict[str, Any]:
    """Read the folder's index, and check that it is as it was written.

    Raises:
        ValueError: no such document, or not as it was written.
    """
    document = parse_json((folder / SECRET / INDEX).read_text())
    if not isinstance(document, dict):
        raise ValueError(f"{INDEX} is no JSON object")
    if document.get("format") != FORMAT:
        raise ValueError(f"format {document.get('format')!r}, this version reads {FORMAT}")
    if document.get("sha256") != _seal(document):
        raise ValueError(f"{INDEX} was edited")
    return document


def _seal(document: Mapping[str, Any]) -> str:
    body = {name: value for name, value in document.items() if name != "sha256"}
    return sha256(body)


def _sweep(folder: Path) -> None:
    """Delete states, and unfinished files, that are not the one that unlearner.json names."""
    inside = folder / SECRET
    current = _index(folder)["files"]["state"]["name"] if (inside / INDEX).exists() else None
    for path in (*folder.iterdir(), *inside.iterdir()):
        stale = path.parent == inside and STATE.fullmatch(path.name) and path.name != current
        if stale or UNFINISHED.match(path.name):
            path.unlink()


def _check_ours(folder: Path) -> None:
    """Check that the folder holds nothing but a saved network.

    Raises:
        ValueError: it holds something that we did not write.
    """
    if not folder.exists():
        return
    here = {path.name for path in folder.iterdir()} - {MODEL, CERTIFICATE, SECRET}
    inside = folder / SECRET
    if inside.is_dir():
        here |= {p.name for p in inside.iterdir() if not STATE.fullmatch(p.name)}
        here -= {INDEX, LOCK}
    if any(not UNFINISHED.match(name) for name in here):
        raise ValueError(f"{folder}: holds something that is no saved network; not touched")


def _check_not_later(folder: Path, fitted: NetworkFitted) -> None:
    """Check that the folder holds no request that this unlearner does not know of.

    Raises:
        ValueError: the folder holds requests that this unlearner does not know of.
    """
    lineage, there, on_top = fitted.lineage, [], None
    try:
        if (folder / SECRET / INDEX).exists():
            document = _index(folder)
            lineage, there = document["lineage"], list(document["issued"])
        if (folder / CERTIFICATE).exists():
            on_top = parse_certificate((folder / CERTIFICATE).read_text()).sha256
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{folder}: holds something unreadable; not touched ({error})") from error
    if lineage == fitted.lineage and there != list(fitted.issued[: len(there)]):
        raise ValueError(
            f"{folder}: holds a request that this unlearner has not honoured; load it from there"
        )
    if (lineage != fitted.lineage and there) or on_top not in (None, *fitted.issued):
        raise ValueError(f"{folder}: holds requests of another fit; choose another folder")


def _check_on_top(folder: Path, document: Mapping[str, Any]) -> None:
    """Check that the model and the certificate on top belong to the saved state.

    Raises:
        ValueError: model or certificate belong to another state; missing ones are fine.
    """
    remedy = f"put back {SECRET}/ of the same save, or delete what is on top"
    model, certificate = folder / MODEL, folder / CERTIFICATE
    if model.exists() and hashlib.sha256(model.read_bytes()).hexdigest() != document["model"]:
        raise ValueError(f"{MODEL} is of another state: {remedy}")
    if certificate.exists() and not _is_written(certificate.read_text(), document["certificate"]):
        raise ValueError(f"{CERTIFICATE} is of another state: {remedy}")


def _is_written(text: str, canonical: str | None) -> bool:
    """Whether this is the readable form of that certificate, to the last character."""
    return canonical is not None and text == f"{parse_certificate(canonical).readable()}\n"
