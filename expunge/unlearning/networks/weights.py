"""The file of a network's weights whose hash certificates name.

sha256sum model.safetensors
"""

import copy
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load as tensors_of_file
from torch import nn

from expunge.accounting.certificate import Certificate
from expunge.errors import InvalidInput
from expunge.store import read_handed_out
from expunge.unlearning.model_file import file_bytes

__all__ = ["load", "network_bytes"]


def network_bytes(module: nn.Module, salt: str | None = None) -> bytes:
    """safetensors of the module's `state_dict`, shared tensors written once for each name."""
    state = module.state_dict()
    return file_bytes({n: v.detach().cpu().contiguous().clone() for n, v in state.items()}, salt)


def load(model: nn.Module, folder: str | Path) -> Certificate | None:
    """Write saved weights into a module of the same kind; returns their certificate.

    For those who are given the model: it reads nothing secret. `TorchUnlearner.load` goes on.

    Raises:
        InvalidInput: no saved model, another architecture, a certificate that does not recompute,
            or not the certificate's model; the module is as it was.
    """
    content, certificate = read_handed_out(folder)
    try:
        state = tensors_of_file(content)
        copy.deepcopy(model).load_state_dict(state)  # a refusal would leave half of it written
    except (RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(str(folder), f"not a saved network of this kind ({reason})") from error
    for name, value in state.items():
        if not bool(value.isfinite().all()):
            raise InvalidInput(str(folder), f"{name} holds NaN or infinity; nothing was loaded")
    model.load_state_dict(state)
    return certificate
