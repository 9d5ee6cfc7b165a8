"""A module's parameters and buffers by name: read, written, drawn anew, put into a copy."""

import copy
import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from expunge.errors import InvalidInput

__all__ = ["copy_into", "fresh_state", "load_into", "saturated", "state_of", "with_state"]


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


def saturated(values: Tensor, dtype: torch.dtype) -> Tensor:
    """The values, of which those too large for this precision become its largest number.

    An infinity would be no model, and refusing it would tell something of what made it.
    """
    most = torch.finfo(dtype).max
    return values.clamp(-most, most)


def with_state(module: nn.Module, state: Mapping[str, Tensor], device: str = "cpu") -> nn.Module:
    """A copy of the module with these parameters."""
    made = copy.deepcopy(module).to(device)
    load_into(made, state)
    return made


def fresh_state(module: nn.Module) -> tuple[dict[str, Tensor], list[str]]:
    """Initial values as each layer draws them, and the buffers that none does.

    Everything is spoiled first: what a layer leaves as it was would come from the model in hand.

    Raises:
        InvalidInput: a parameter is not drawn anew; its layer is named.
    """
    made = copy.deepcopy(module).cpu()
    with torch.no_grad():
        for value in (*made.parameters(), *made.buffers()):
            value.fill_(_spoilt(value))
    for layer in made.modules():
        for name in ("reset_parameters", "_reset_parameters"):
            if hasattr(layer, name):
                getattr(layer, name)()
                break
    for name, value in made.named_parameters():
        if _is_spoilt(value):
            raise InvalidInput(
                "model",
                f"no layer's reset_parameters() draws {name!r} anew; add it, or start='public'",
            )
    kept = [name for name, value in made.named_buffers() if _is_spoilt(value)]
    given = dict(module.named_buffers())
    return state_of(made) | {name: given[name].detach().cpu().clone() for name in kept}, kept


def _spoilt(value: Tensor) -> float | int:
    if value.is_floating_point() or value.is_complex():
        return math.nan
    return 1 if value.dtype == torch.bool else torch.iinfo(value.dtype).max


def _is_spoilt(value: Tensor) -> bool:
    """Whether some value still has the mark that `_spoilt` gives; booleans always count."""
    if value.is_floating_point() or value.is_complex():
        return bool(value.isnan().any())
    return value.dtype == torch.bool or bool((value == torch.iinfo(value.dtype).max).any())
