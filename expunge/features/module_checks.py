"""What a module must be for a certified phase: refused by the layer's name, never guessed.

A certificate counts records one by one, so a layer that lets one record's numbers into another
record's output has no place where private records act on what is certified. A backbone frozen in
eval mode is harmless, unless it mixes even there.
"""

import copy
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from expunge.core.inputs import Columns, Inputs
from expunge.errors import InvalidInput

__all__ = [
    "SOME",
    "check_rows_apart",
    "last_linear",
    "refuse_half_precision",
    "refuse_hidden_state",
    "refuse_mixing",
    "refuse_mixing_when_frozen",
    "refuse_remembering",
    "refuse_tied_head",
    "refuse_uncallable",
]

# One record's statistics enter the others' outputs, or buffers, while training.
MIXING = (nn.modules.batchnorm._BatchNorm,)
TRACKING = (nn.modules.instancenorm._InstanceNorm,)  # only where running statistics are kept
SOME = 16  # records that are sent through in two orders
APART = 1e-3  # of the features' scale: beyond what another summation order explains


def refuse_mixing(module: nn.Module) -> None:
    """Refuse a model that mixes records where private ones move certified parameters.

    Raises:
        InvalidInput: a layer mixes the records of a batch; it is named.
    """
    for name, layer in module.named_modules():
        if isinstance(layer, MIXING) or (isinstance(layer, TRACKING) and layer.track_running_stats):
            raise InvalidInput(
                "model",
                f"layer {name or 'itself'!r} ({type(layer).__name__}) mixes the records of a "
                "batch, so no record's share can be bounded; use GroupNorm or LayerNorm, or "
                "strategy='head' with this layer frozen",
            )


def refuse_mixing_when_frozen(module: nn.Module) -> None:
    """Refuse a backbone that mixes records even when frozen in eval mode.

    Raises:
        InvalidInput: a normalisation without running statistics, which mixes even there.
    """
    for name, layer in module.named_modules():
        if isinstance(layer, MIXING) and layer.running_mean is None:
            raise InvalidInput(
                "model",
                f"layer {name!r} ({type(layer).__name__}) keeps no running statistics, so it "
                "mixes the records of a batch even when frozen; use track_running_stats=True",
            )


def check_rows_apart(function: Callable[[Inputs], Tensor], inputs: Inputs) -> None:
    """Does a record's output change when the others in its batch do? Tried, not proven.

    Raises:
        InvalidInput: it does.
    """
    if len(inputs) < 2:
        return
    alone = inputs.clone()
    first: Any = inputs[:1]
    alone[1:] = first
    together, repeated = function(inputs)[0], function(alone)[0]
    if float((together - repeated).abs().max()) > APART * (1 + float(repeated.abs().max())):
        raise InvalidInput(
            "model", "a record's features depend on the other records in its batch; keep them apart"
        )


def refuse_remembering(module: nn.Module, inputs: Inputs) -> None:
    """Refuse a module in eval mode that records change, tried on some in either order.

    Raises:
        InvalidInput: it keeps something of what went through it; a buffer is named.
    """
    some = inputs[:SOME].to(next(module.parameters()).device)
    seen = []
    for order in (range(len(some)), reversed(range(len(some)))):
        tried = copy.deepcopy(module)
        before = {name: value.clone() for name, value in tried.named_buffers()}
        with torch.no_grad():
            seen.append({i: tried(some[i : i + 1]) for i in order})
        for name, value in tried.named_buffers():
            if name not in before or not same(value, before[name]):
                raise InvalidInput(
                    "model",
                    f"buffer {name!r} changes in eval mode: it remembers the records that went "
                    "through; freeze it (observers and the like off) or take the layer out",
                )
    first, second = seen
    if not all(same(first[i], second[i]) for i in first):
        raise InvalidInput(
            "model",
            "gives the same records other outputs in another order: it remembers what went "
            "through it, or draws at random, even in eval mode",
        )


def same(first: Any, other: Any) -> bool:
    """Bit for bit, NaN included; what is no tensor is not looked at."""
    if not (isinstance(first, Tensor) and isinstance(other, Tensor)):
        return True
    return first.shape == other.shape and torch.allclose(
        first, other, rtol=0, atol=0, equal_nan=True
    )


def refuse_half_precision(module: nn.Module, phase: str) -> None:
    """Refuse a model that has a parameter in half precision.

    Raises:
        InvalidInput: a parameter in half precision, named.
    """
    for name, parameter in module.named_parameters():
        if parameter.is_floating_point() and parameter.element_size() < 4:
            raise InvalidInput(
                "model",
                f"parameter {name!r} is {str(parameter.dtype).removeprefix('torch.')}; {phase} "
                "needs float32 or float64: pass model.float()",
            )


def refuse_hidden_state(before: nn.Module, after: nn.Module) -> None:
    """Refuse a model whose training changes state that its file does not hold.

    Raises:
        InvalidInput: training moved a buffer that the model's file does not hold.
    """
    kept, old = after.state_dict(), dict(before.named_buffers())
    for name, value in after.named_buffers():
        if name not in kept and not same(value.cpu(), old[name].cpu()):
            raise InvalidInput(
                "model",
                f"buffer {name!r} moves in training and is in no state_dict, so that no file "
                "holds the model; register it with persistent=True",
            )


def last_linear(module: nn.Module, name: str | None) -> nn.Linear:
    """The layer of this name.

    Raises:
        InvalidInput: there is none, or it is no plain linear layer.
    """
    layers = dict(module.named_modules())
    linear = [name for name, layer in layers.items() if type(layer) is nn.Linear]
    if name is None or name not in layers:
        there = f"the model's linear layers are {', '.join(linear)}" if linear else "it has none"
        problem = "name the last linear layer" if name is None else f"no layer {name!r}"
        raise InvalidInput("head", f"{problem}; {there}")
    layer = layers[name]
    if type(layer) is not nn.Linear:
        raise InvalidInput("head", f"layer {name!r} is {type(layer).__name__}, not nn.Linear")
    return layer


def refuse_tied_head(module: nn.Module, head: str) -> None:
    """Refuse a head whose parameters another layer uses too.

    Raises:
        InvalidInput: the head's parameters are also another layer's.
    """
    own = {id(p) for p in module.get_submodule(head).parameters(recurse=False)}
    prefix = f"{head}."
    for name, parameter in module.named_parameters(remove_duplicate=False):
        if id(parameter) in own and not name.startswith(prefix):
            raise InvalidInput(
                "head",
                f"layer {head!r} shares its parameters with {name!r}, which must stay frozen; "
                "untie them: model.{0}.weight = nn.Parameter(model.{0}.weight.clone())".format(
                    head
                ),
            )


def refuse_uncallable(module: nn.Module, inputs: Inputs, what: str) -> None:
    """Refuse inputs that the model's forward does not take.

    Raises:
        InvalidInput: the model's forward does not take these inputs; one is named.
    """
    if not isinstance(inputs, Columns):
        return
    placed, named = inputs.arguments
    try:
        inspect.signature(module.forward).bind(*placed, **named)
    except TypeError as error:
        raise InvalidInput(
            what,
            f"the model cannot be called with the inputs {', '.join(inputs.columns)}: {error}",
        ) from error
