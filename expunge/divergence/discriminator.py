"""The paper's discriminator, corrected, for reproduction only. Do not trust its numbers.

Two-layer MLPs with spectral normalisation, LeakyReLU and polysoftplus output maximise the convex
conjugate form of D_a / a by Adam; several restarts, trained as one stack, are averaged.
Paper: [eq:cc_renyi], [app:disc_details], with the logarithm (E17), a times the value (E18), the
samples in their places (E19) and a held-out reading (E20).

A 1-Lipschitz critic on standardised samples cannot express log-density ratios: it saturates far
below the truth in 10 dimensions, and in thousands it reads its own training samples.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from expunge.divergence.hotelling import as_samples
from expunge.divergence.variational import convex_conjugate, polysoftplus

__all__ = ["Discriminator", "Readings", "discriminator_readings"]

WARNING = (
    "the paper's discriminator measures neither large divergences nor high dimensions; it is here "
    "for reproduction, use renyi_estimate"
)


@dataclass(frozen=True)
class Discriminator:
    """The published settings; `width` and standardisation are not in the paper."""

    width: int = 64
    restarts: int = 5
    steps: int = 30_000
    batch: int = 6000
    learning_rate: float = 1e-4
    standardise: bool = True


@dataclass(frozen=True)
class Readings:
    """D_a, each restart: on the samples it was trained on, and on the others."""

    trained: tuple[float, ...]
    held_out: tuple[float, ...]

    @property
    def value(self) -> float:
        """The held-out mean, which is what the method can say."""
        return sum(self.held_out) / len(self.held_out)


def discriminator_readings(
    *,
    of: object,
    against: object,
    order: float = 2.0,
    settings: Discriminator | None = None,
    seed: int = 0,
) -> Readings:
    """Train on three quarters of the samples, read on both parts; warns always."""
    warnings.warn(WARNING, stacklevel=2)
    settings = settings or Discriminator()
    first, second = as_samples(of).float(), as_samples(against).float()
    if settings.standardise:
        pooled = torch.cat([first, second])
        center, scale = pooled.mean(0), pooled.std(0).clamp_min(1e-12)
        first, second = (first - center) / scale, (second - center) / scale
    cuts = [3 * len(samples) // 4 for samples in (first, second)]
    train = first[: cuts[0]], second[: cuts[1]]
    test = first[cuts[0] :], second[cuts[1] :]
    generator = torch.Generator(device=first.device).manual_seed(seed)
    critics = _Critics(first.shape[1], settings, generator)
    critics.train(*train, order=order, generator=generator)
    readings = [
        convex_conjugate(critics(of_part), critics(against_part), order).tolist()
        for of_part, against_part in (train, test)
    ]
    return Readings(tuple(readings[0]), tuple(readings[1]))


class _Critics:
    """All restarts as one stack of weights: (restarts, inputs, outputs)."""

    def __init__(self, dimension: int, settings: Discriminator, generator: torch.Generator) -> None:
        self.settings = settings
        sizes = (dimension, settings.width, 1)
        self.layers: list[tuple[Tensor, Tensor]] = []
        self.directions: list[Tensor] = []
        for inputs, outputs in pairwise(sizes):
            bound = inputs**-0.5
            shape = (settings.restarts, inputs, outputs)
            weight = _uniform(shape, bound, generator)
            bias = _uniform((settings.restarts, 1, outputs), bound, generator)
            self.layers.append((weight.requires_grad_(), bias.requires_grad_()))
            start = torch.randn(
                settings.restarts, outputs, 1, device=generator.device, generator=generator
            )
            self.directions.append(start / start.norm(dim=1, keepdim=True))
        for _ in range(20):
            self._turn()

    @property
    def parameters(self) -> list[Tensor]:
        return [tensor for layer in self.layers for tensor in layer]

    def __call__(self, samples: Tensor) -> Tensor:
        """(restarts, N) values of g."""
        with torch.no_grad():
            blocks = [self._values(block) for block in samples.split(8192)]
        return torch.cat(blocks, dim=-1)

    def train(
        self, of: Tensor, against: Tensor, *, order: float, generator: torch.Generator
    ) -> None:
        settings = self.settings
        optimiser = torch.optim.Adam(
            self.parameters, lr=settings.learning_rate, capturable=of.is_cuda
        )
        size = min(settings.batch, len(of), len(against))

        def step() -> None:
            picked = [_picked(samples, size, generator) for samples in (of, against)]
            self._turn()
            first, second = (self._values(part) for part in picked)
            loss = -convex_conjugate(first, second, order).sum()
            optimiser.zero_grad(set_to_none=False)
            loss.backward()
            optimiser.step()

        for parameter in self.parameters:
            parameter.grad = torch.zeros_like(parameter)
        repeat = _graphed(step, generator) if of.is_cuda else step
        for _ in range(settings.steps):
            repeat()

    def _values(self, samples: Tensor) -> Tensor:
        (first, bias), (last, shift) = self.layers
        hidden = leaky_relu(samples @ self._normal(first, 0) + bias)
        return polysoftplus(hidden @ self._normal(last, 1) + shift)[..., 0]

    def _normal(self, weight: Tensor, layer: int) -> Tensor:
        """The weight over its largest singular value, which gradients pass through."""
        right = self.directions[layer]  # (restarts, outputs, 1), fixed by power iteration
        left = torch.nn.functional.normalize(weight.detach() @ right, dim=1)
        norm = left.transpose(1, 2) @ weight @ right
        return weight / norm

    @torch.no_grad()
    def _turn(self) -> None:
        """One power iteration for each layer."""
        for (weight, _), right in zip(self.layers, self.directions, strict=True):
            moved = weight.transpose(1, 2) @ (weight @ right)
            right.copy_(moved / moved.norm(dim=1, keepdim=True))


def _uniform(shape: tuple[int, ...], bound: float, generator: torch.Generator) -> Tensor:
    drawn = torch.rand(shape, device=generator.device, generator=generator)
    return (2 * drawn - 1) * bound


def _picked(samples: Tensor, size: int, generator: torch.Generator) -> Tensor:
    rows = torch.randint(0, len(samples), (size,), device=samples.device, generator=generator)
    return samples[rows]


def _graphed(step: Callable[[], None], generator: torch.Generator) -> Callable[[], None]:
    """The step as one CUDA graph: a launch instead of sixty."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(generator)
    with torch.cuda.graph(graph):
        step()
    return graph.replay
