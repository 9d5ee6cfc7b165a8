"""Ensembles of small networks: any `nn.Module`, its gradients by torch.func, one model a row.

    gradient of  (1/rows) sum_i loss(module(x_i), y_i)  at each of the stacked parameter vectors

The module is a template: it is never changed. Parameters travel as one flat vector a model, in the
module's own order; `split` gives them their names and shapes back. Buffers are shared and fixed.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

__all__ = ["Network", "call_with"]


@dataclass(frozen=True)
class Network:
    """The loss of small networks of one architecture, with gradients for many of them at once.

    Args:
        module: The template; every parameter is trained.
        function: (outputs, targets) -> the mean loss of the batch, as torch's losses compute it.
        l2: Ridge on every parameter.
    """

    module: nn.Module
    function: Callable[[Tensor, Tensor], Tensor]
    l2: float = 0.0

    @cached_property
    def shapes(self) -> dict[str, torch.Size]:
        """The shape of each parameter, by name."""
        return {name: p.shape for name, p in self.module.named_parameters()}

    @property
    def parameters(self) -> int:
        """How many weights one model has."""
        return sum(shape.numel() for shape in self.shapes.values())

    def split(self, weights: Tensor) -> dict[str, Tensor]:
        """Split (..., parameters) into named tensors (..., *shape)."""
        parts = weights.split([shape.numel() for shape in self.shapes.values()], dim=-1)
        return {
            name: part.unflatten(-1, shape) if shape else part[..., 0]
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def gradient(self, weights: Tensor, features: Tensor, targets: Tensor) -> Tensor:
        """Gradient of the mean loss, at each of (models, parameters)."""

        def objective(flat: Tensor) -> Tensor:
            outputs = call_with(self.module, self.split(flat), features)
            return self.function(outputs, targets)

        return vmap(grad(objective), randomness="error")(weights)

    def default_bounds(self) -> Tensor:
        """1/sqrt(fan-in) of each parameter's layer, as torch draws linear and convolutional ones.

        Raises:
            ValueError: a layer of another kind has parameters.
        """
        bounds = {}
        for prefix, layer in self.module.named_modules():
            own = dict(layer.named_parameters(recurse=False))
            if own and not isinstance(layer, nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d):
                raise ValueError(f"no default law for {type(layer).__name__}: use Gaussian(std)")
            for name in own:
                fan_in = layer.get_parameter("weight")[0].numel()
                bounds[f"{prefix}.{name}".lstrip(".")] = 1 / math.sqrt(fan_in)
        return torch.cat(
            [torch.full((s.numel(),), bounds[name]) for name, s in self.shapes.items()]
        )


def call_with(module: nn.Module, named: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
    """Call a module with these parameters instead of its own, tied ones in all their places.

    Each place is named once: torch restores a layer that is registered twice to the wrong tensor.
    """
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    placed = {
        f"{prefix}.{own}".lstrip("."): named[names[id(parameter)]]
        for prefix, layer in module.named_modules()
        for own, parameter in layer.named_parameters(recurse=False, remove_duplicate=False)
    }
    return functional_call(module, placed, (inputs,), tie_weights=False)
