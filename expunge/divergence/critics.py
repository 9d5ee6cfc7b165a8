"""The critics of the paper's discriminator: all restarts as one stack, trained by Adam.

Two-layer MLPs with spectral normalisation, LeakyReLU and polysoftplus output. Gradients are written
out because torch's modules, one after the other, take several times as long on a GPU
(`benchmarks/evidence.py`). Paper: [app:disc_details].
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu, normalize

from expunge.divergence.variational import convex_conjugate, polysoftplus

__all__ = ["Critics", "Discriminator"]

SHUFFLED_AFTER = 10  # passes: a shuffle costs as much as a pass


@dataclass(frozen=True)
class Discriminator:
    """The published settings; `width` and standardisation are not in the paper."""

    width: int = 64
    restarts: int = 5
    steps: int = 30_000
    batch: int = 6000
    learning_rate: float = 1e-4


class Critics:
    """A stack of critics, one for each restart, with their gradients written out.

    Layers are (inputs, restarts, width) and (restarts, width), so that the first layer of all
    restarts is a single product, in the samples' precision, and a row of samples is read once.
    """

    def __init__(self, dimension: int, settings: Discriminator, generator: torch.Generator) -> None:
        self.settings = settings
        stack = settings.restarts, settings.width
        self.first = _uniform((dimension, *stack), dimension, generator)
        self.bias = _uniform(stack, dimension, generator)
        self.last = _uniform(stack, settings.width, generator)
        self.shift = _uniform((settings.restarts,), settings.width, generator)
        start = torch.randn(stack, device=generator.device, generator=generator)
        self.direction = normalize(start, dim=1)  # of the first layer's largest singular value
        for _ in range(20):
            self.direction = _singular(self.first, self.direction)[2]

    @property
    def parameters(self) -> list[Tensor]:
        """The tensors that are trained."""
        return [self.first, self.bias, self.last, self.shift]

    def __call__(self, samples: Tensor) -> Tensor:
        """Values of g at the samples: (restarts, N)."""
        norm, _, _ = _singular(self.first, self.direction)
        first = _normalise(self.first, norm, samples.dtype)
        blocks = [
            _hidden(block @ first, self.bias, self.last)[1] + self.shift
            for block in samples.split(8192)
        ]
        return polysoftplus(torch.cat(blocks)).T

    def train(
        self, of: Tensor, against: Tensor, *, order: float, generator: torch.Generator
    ) -> None:
        """Train by Adam on batches of both sides, windows of a copy that is reshuffled at times."""
        settings, cuda = self.settings, of.is_cuda
        adam = torch.optim.Adam(
            self.parameters, lr=settings.learning_rate, fused=True, capturable=cuda
        )
        size = min(settings.batch, len(of), len(against))
        windows = of.new_empty(min(len(of), len(against)) // size, 2, size, of.shape[1])

        def shuffle() -> None:
            for side, samples in enumerate((of, against)):
                mixed = torch.randperm(len(samples), device=of.device, generator=generator)
                rows = mixed[: len(windows) * size].view(len(windows), size)
                for window, chosen in zip(windows, rows, strict=True):
                    torch.index_select(samples, 0, chosen, out=window[side])

        def step(window: Tensor) -> None:
            gradients = self.gradients(window.flatten(0, 1), order)
            for parameter, gradient in zip(self.parameters, gradients, strict=True):
                parameter.grad = gradient
            adam.step()

        shuffle()
        steps = [partial(step, window) for window in windows]
        repeats = [_capture_graph(each) for each in steps] if cuda else steps
        for number in range(settings.steps):
            if number and number % (SHUFFLED_AFTER * len(windows)) == 0:
                shuffle()
            repeats[number % len(windows)]()

    def gradients(self, samples: Tensor, order: float) -> list[Tensor]:
        """Gradients of minus the sum of all readings; the first half of the samples are `of`.

        W = w/|w| in both layers, |w| the largest singular value, and the first layer's gradient is
        (d/dW - <d/dW, W> u v')/|w|, as torch's spectral_norm has it. Turns `direction` by one power
        iteration.
        """
        right = self.direction.clone()
        norm, left, turned = _fast(_singular, samples)(self.first, right)
        self.direction.copy_(turned)  # in place: a CUDA graph reads it again
        products = samples @ _fast(_normalise, samples)(self.first, norm, samples.dtype)
        hidden, output = _fast(_hidden, samples)(products, self.bias, self.last)
        of_output = _fast(_of_output, samples)(output, self.shift, order)  # (N, restarts)
        of_products = _fast(_of_products, samples)(hidden, of_output, self.last).flatten(1)
        of_bias = _sums(of_products).view_as(self.bias)
        weighed = of_output.to(hidden.dtype).T[:, None]  # (restarts, 1, N)
        of_last = (weighed @ hidden.movedim(1, 0))[:, 0].to(self.last.dtype)
        if samples.dtype == torch.bfloat16:
            of_first = torch.mm(samples.T, of_products, out_dtype=torch.float32)
        else:
            of_first = samples.T @ of_products
        # leaky_relu(x) = slope x: <of_products, products + bias> = <of_output, output>
        along = (of_output * output).sum(0) - (of_bias * self.bias).sum(1)
        parts = of_first.view_as(self.first), along, norm, left, right
        first = _fast(_of_first, samples)(*parts)
        return [first, of_bias, _of_last(of_last, self.last), of_output.sum(0)]


def _singular(first: Tensor, direction: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Largest singular value of each restart, its left direction, the right one turned once."""
    image = (first * direction).sum(2)  # (inputs, restarts)
    turned = normalize((first * image[..., None]).sum(0), dim=1)
    return image.norm(dim=0), normalize(image, dim=0), turned


def _normalise(first: Tensor, norm: Tensor, dtype: torch.dtype) -> Tensor:
    return (first / norm[:, None]).to(dtype).flatten(1)


def _hidden(products: Tensor, bias: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
    """(N, restarts, width) in the products' precision, and (N, restarts) before the shift."""
    hidden = leaky_relu(products.to(bias.dtype).unflatten(1, bias.shape) + bias)
    return hidden.to(products.dtype), (hidden * normalize(last, dim=1)).sum(2)


def _of_output(output: Tensor, shift: Tensor, order: float) -> Tensor:
    """The gradient of minus the sum of all readings with respect to the outputs."""

    def loss(output: Tensor) -> Tensor:
        of, against = polysoftplus(output + shift).T.chunk(2, dim=-1)
        return -convex_conjugate(of, against, order).sum()

    return torch.func.grad(loss)(output)


def _of_products(hidden: Tensor, of_output: Tensor, last: Tensor) -> Tensor:
    slope = torch.where(hidden > 0, 1.0, 0.01)  # of leaky_relu, which keeps signs
    return (of_output[..., None] * normalize(last, dim=1) * slope).to(hidden.dtype)


def _of_first(
    of_normalised: Tensor, along: Tensor, norm: Tensor, left: Tensor, right: Tensor
) -> Tensor:
    """The first layer's gradient (d/dW - <d/dW, W> u v')/|w| of each restart.

    Args:
        along: <d/dW, W>.
        left, right: u and v.
    """
    return (of_normalised - along[:, None] * left[..., None] * right) / norm[:, None]


def _of_last(of_normalised: Tensor, last: Tensor) -> Tensor:
    """The last layer's gradient; with one output its singular value is its norm."""
    norm = last.norm(dim=1, keepdim=True)
    unit = last / norm
    return (of_normalised - (of_normalised * unit).sum(1, keepdim=True) * unit) / norm


def _sums(rows: Tensor) -> Tensor:
    """Sums over rows, as a product, which reads them once."""
    if rows.dtype == torch.bfloat16:
        return torch.mm(rows.new_ones(1, len(rows)), rows, out_dtype=torch.float32)
    return rows.sum(0)


def _uniform(shape: tuple[int, ...], fan_in: int, generator: torch.Generator) -> Tensor:
    """Draw from torch's own initial law of a layer."""
    drawn = torch.rand(shape, device=generator.device, generator=generator)
    return (2 * drawn - 1) * fan_in**-0.5


def _fast(function: Callable[..., Any], samples: Tensor) -> Callable[..., Any]:
    """The function, compiled on CUDA where Triton is installed."""
    return _compile(function) if samples.is_cuda and find_spec("triton") else function


@cache
def _compile(function: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(function, dynamic=False)  # a kernel for each width


def _capture_graph(step: Callable[[], None]) -> Callable[[], None]:
    """Capture the step as one CUDA graph: one launch instead of sixty. Three steps warm it up."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay
