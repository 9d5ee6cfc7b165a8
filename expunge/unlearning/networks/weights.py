"""A module's parameters and buffers by name, and the file whose hash certificates name.

sha256sum model.safetensors
"""

import copy
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of_file
from torch import Tensor, nn

from expunge.accounting.certificate import Certificate
from expunge.errors import InvalidInput
from expunge.store import read_handed_out
from expunge.unlearning.model_file import file_bytes

__all__ = ["copy_into", "load", "load_into", "network_bytes", "state_of", "with_state"]


def state_of(module: nn.Module) -> dict[str, Tensor]:
    """Parameters (tied ones once) and buffers, as copies on the CPU."""
    named = [*module.named_parameters(), *module.named_buffers()]
    return {name: value.detach().cpu().clone() for name, value in named}


def load_into(module: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Write into a module in place, in its own precision; names that are not given stay."""
    with torch.no_grad():
        for name, value in (*module.named_parameters(), *module.named_buffers()):
            if name in state:
                value.copy_(state[name])


def copy_into(module: nn.Module, source: nn.Module) -> None:
    """Write every parameter and buffer of `source`, names of shared ones included."""
    module.load_state_dict(source.state_dict())
    buffers = dict(source.named_buffers())
    with torch.no_grad():
        for name, value in module.named_buffers():
            value.copy_(buffers[name])  # those that no state_dict has


def with_state(module: nn.Module, state: Mapping[str, Tensor], device: str = "cpu") -> nn.Module:
    """A copy of the module with these parameters."""
    made = copy.deepcopy(module).to(device)
    load_into(made, state)
    return made


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
