"""A module's parameters and buffers by name: read, written in place, put into a copy."""

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn

__all__ = ["copy_into", "load_into", "state_of", "with_state"]


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
