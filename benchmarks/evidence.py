"""Estimators against their limits: Hotelling, and the paper's discriminator.

python -m benchmarks.evidence --json      on the GPU, or on the CPU without one

On CUDA the paper's size: 30,000 + 30,000 samples of 9,216 dimensions; on one core 6,000 + 6,000 of
768. Limits are seconds, and for the discriminator milliseconds a step of five restarts.
"""

import json
import statistics
import sys
import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from benchmarks.ensembles import processor, seconds
from expunge.divergence.critics import Critics, Discriminator
from expunge.divergence.hotelling import hotelling, moments
from expunge.divergence.variational import convex_conjugate, polysoftplus

__all__ = ["document", "measure"]

Row = dict[str, object]
STEP_LIMITS = {64: 0.45, 256: 1.1}  # milliseconds, by width


def measure() -> list[Row]:
    """Measure the estimators on the GPU, or on one core without one."""
    return on_cuda() if torch.cuda.is_available() else [hotelling_row(6000, 768, 0.5)]


def document() -> dict[str, object]:
    """What is measured, and on which machine."""
    cuda = torch.cuda.is_available()
    return {
        "device": torch.cuda.get_device_name() if cuda else processor(),
        "torch": torch.__version__,
        "rows": measure(),
    }


def hotelling_row(count: int, d: int, limit: float) -> Row:
    """Measure Hotelling on Gaussian samples of this size."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        torch.set_num_threads(1)
    generator = torch.Generator(device).manual_seed(0)
    p, q = torch.randn(2, count, d, device=device, generator=generator)

    def work() -> None:
        hotelling(moments(p, q), order=2.0)

    work()
    taken = statistics.median(seconds(work) for _ in range(5))
    return {
        "name": f"Hotelling, {count:,} + {count:,} samples of {d:,} dimensions, seconds",
        "ratio": taken,
        "limit": limit,
    }


def on_cuda() -> list[Row]:
    """Measure both estimators at the paper's size."""
    generator = torch.Generator("cuda").manual_seed(0)
    p, q = torch.randn(2, 22_500, 9216, device="cuda", generator=generator)
    rows = [hotelling_row(30_000, 9216, 0.3)]
    return rows + [critic_row(p, q, width, limit) for width, limit in STEP_LIMITS.items()]


def critic_row(p: Tensor, q: Tensor, width: int, limit: float) -> Row:
    """Measure a step of five stacked restarts, and of five modules one after the other."""
    generator = torch.Generator("cuda").manual_seed(0)
    critics = Critics(p.shape[1], Discriminator(width=width), generator)

    def training(steps: int) -> Callable[[], None]:
        def work() -> None:
            critics.settings = Discriminator(width=width, steps=steps)
            critics.train(p.bfloat16(), q.bfloat16(), order=2.0, generator=generator)

        return work

    training(10)()
    short, long = (min(seconds(training(n)) for _ in range(2)) for n in (1000, 5000))
    ours, apart = (long - short) / 4, modules_milliseconds(p, q, width)
    return {
        "name": f"discriminator, width {width}, milliseconds a step of five restarts",
        "ratio": ours,
        "limit": limit,
        "modules_in_turn_milliseconds": apart,
        "times_modules_in_turn": apart / ours,
    }


def modules_milliseconds(p: Tensor, q: Tensor, width: int, steps: int = 20) -> float:
    """Milliseconds of a step of five modules, each with its own optimiser and batches."""
    trained = []
    for _ in range(5):
        layers = spectral_norm(nn.Linear(p.shape[1], width)), spectral_norm(nn.Linear(width, 1))
        module = nn.Sequential(layers[0], nn.LeakyReLU(), layers[1]).cuda()
        trained.append((module, torch.optim.Adam(module.parameters(), lr=1e-4)))

    def work() -> None:
        for _ in range(steps):
            for module, optimiser in trained:
                picked = [x[torch.randint(0, len(x), (6000,), device="cuda")] for x in (p, q)]
                values = [polysoftplus(module(x))[:, 0] for x in picked]
                loss = -convex_conjugate(values[0], values[1], 2.0)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()

    work()
    return 1e3 * seconds(work) / steps


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if "--json" not in sys.argv[1:]:
        sys.exit("python -m benchmarks.evidence --json")
    print(json.dumps(document(), indent=1))
