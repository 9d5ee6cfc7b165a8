"""A released network on disk: its weights in safetensors and its certificate, nothing secret.

    model.safetensors    the module's state_dict
    certificate.json     absent before the first deletion

Where the certificate names a hash it is this file's: sha256sum model.safetensors.
"""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors import SafetensorError
from safetensors.torch import load as tensors
from torch import nn

from expunge.accounting.certificate import Certificate, parse_certificate
from expunge.core.whole_file import sync, write_whole
from expunge.unlearning.networks.weights import network_bytes

if TYPE_CHECKING:
    from expunge.unlearning.networks.unlearner import TorchUnlearner

__all__ = ["load", "save"]

MODEL, CERTIFICATE = "model.safetensors", "certificate.json"


def save(unlearner: "TorchUnlearner", folder: str | Path) -> None:
    """Raises: ValueError: the folder holds something else, or the model changed since."""
    folder = Path(folder)
    certificate = unlearner.certificate
    model = network_bytes(unlearner.model)
    if model != unlearner.model_bytes():
        raise ValueError("the model is not the one that its certificate is about")
    if folder.exists() and not {p.name for p in folder.iterdir()} <= {MODEL, CERTIFICATE}:
        raise ValueError(f"{folder}: holds something that is no saved network; not touched")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CERTIFICATE).unlink(missing_ok=True)  # never beside another model's weights
    write_whole(folder / MODEL, model)
    if certificate is not None:
        write_whole(folder / CERTIFICATE, f"{certificate.canonical()}\n".encode())
    sync(folder)


def load(model: nn.Module, folder: str | Path) -> Certificate | None:
    """Write saved weights into a module of the same kind; returns their certificate.

    Raises:
        ValueError: not such a folder, another architecture, or not the certificate's model.
    """
    folder = Path(folder)
    try:
        content = (folder / MODEL).read_bytes()
        path = folder / CERTIFICATE
        certificate = parse_certificate(path.read_text()) if path.exists() else None
        _check(content, certificate)
        model.load_state_dict(tensors(content))
    except (OSError, RuntimeError, SafetensorError, json.JSONDecodeError) as error:
        raise ValueError(f"{folder}: not a saved network of this kind ({error})") from error
    return certificate


def _check(model: bytes, certificate: Certificate | None) -> None:
    stated = None if certificate is None else certificate.model_sha256
    if stated not in (None, hashlib.sha256(model).hexdigest()):
        raise ValueError("the model is not the one that its certificate is about")
