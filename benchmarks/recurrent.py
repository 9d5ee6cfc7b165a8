"""LSTMs trained together against one after another with torch's fused nn.LSTM, in the same run.

python -m benchmarks.recurrent --json
python -m benchmarks.recurrent --models 8 --rows 32 --length 20 --words 500 --hidden 32

A step is a mini-batch's gradient, noise on every weight, and the projection, for every model. The
paper names two layers, 75 models, sigma^2 = 0.01 and radius 100; widths, length, batch and step
size are ours: 10,000 words, embedding 64, hidden 128, 200 words a review, batches of 250. Rows have
full length, which is the best case for cuDNN: nothing is packed. Its figure is the faster of tf32
and bfloat16 autocast; ours are by the precision of products. Fewer and shorter on a CPU.
"""

import itertools
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from expunge.core import counters
from expunge.sampling import Problem, SharedBatches
from expunge.sampling.problem import Records
from expunge.sampling.recurrent import LSTMClassifier, Recurrent
from expunge.sampling.updates.plain import Precision, products_in
from expunge.sampling.updates.stacked import Stacked

__all__ = ["Size", "document", "measure"]

ETA, SIGMA, RADIUS = 0.01, 0.1, 100.0
TARGET = 5.0  # times one after another, on one H200
Row = dict[str, object]


class Size(NamedTuple):
    """The sizes of a run; the paper's, where it names them."""

    models: int = 75
    rows: int = 250
    length: int = 200
    words: int = 10_000
    embedding: int = 64
    hidden: int = 128
    layers: int = 2
    steps: int = 5


ON_CPU = Size(4, 32, 40, 1000, 32, 32, 2, 2)


def measure(size: Size | None = None) -> list[Row]:
    """Measure models together in every precision, beside one after another."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    size = size or (Size() if device == "cuda" else ON_CPU)
    records = make_records(size, device)
    theirs = {"float32": measure_alone(size, records, half=False)}
    if device == "cuda":
        theirs["bfloat16"] = measure_alone(size, records, half=True)
    fastest = min(theirs.values())
    precisions: tuple[Precision, ...] = ("float32",)
    if device == "cuda":
        precisions = ("bfloat16", "tf32", "float32")
    return [
        compare_precision(size, records, precision, fastest, theirs) for precision in precisions
    ]


def compare_precision(
    size: Size, records: Records, precision: Precision, fastest: float, theirs: dict[str, float]
) -> Row:
    """Measure models together in one precision, beside one after another."""
    measured = measure_together(size, records, precision)
    taken = measured["seconds"]
    aimed = 1 / TARGET if precision == "bfloat16" else 1.0
    return {
        "name": f"{size.models} LSTMs together ({precision}) over one after another",
        "ratio": taken / fastest,
        "limit": aimed if records.features.is_cuda else 4.0,  # a CPU only has to manage
        "times_one_after_another": fastest / taken,
        "milliseconds": 1e3 * taken,
        "update_milliseconds": 1e3 * measured["update"],
        "one_after_another_milliseconds": {name: 1e3 * t for name, t in theirs.items()},
        "rows_per_second": size.models * size.rows / taken,
        "tflops": operations(size) / taken / 1e12,
        "peak_gib": measured["peak_gib"],
        "gradient_error": error_of(size, records, precision),
        "size": size._asdict(),
    }


def operations(size: Size) -> float:
    """Operations of the recurrent layers' products, forward and twice that back."""
    widths = [size.embedding] + [size.hidden] * (size.layers - 1)
    each = sum(2 * 4 * size.hidden * (width + size.hidden) for width in widths)
    return 3.0 * each * size.models * size.rows * size.length


def make_records(size: Size, device: str) -> Records:
    """Make random words and labels."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, size.words, (size.rows, size.length), generator=generator)
    targets = torch.randint(0, 2, (size.rows,), generator=generator)
    return Records(tokens.float().to(device), targets.to(device))


def network(size: Size) -> Recurrent:
    """The loss of LSTM classifiers of this size."""
    return Recurrent(LSTMClassifier(size.words, size.embedding, size.hidden, size.layers))


def start(size: Size, loss: Recurrent, device: torch.device | str) -> Tensor:
    """Initial weights of all models."""
    key = counters.stream(0, "init")
    drawn = counters.uniforms(key, 0, size.models, loss.parameters, device)
    return drawn * loss.default_bounds().to(device)


# --- together


def measure_together(size: Size, records: Records, precision: Precision) -> dict[str, float]:
    """Measure a step of all models together: seconds, those of noise and projection, memory."""
    device, loss = records.features.device, network(size)
    data = records.features.cpu(), records.targets.cpu()
    scheme = SharedBatches(size.rows - 1)
    problem = Problem(loss, data, None, [0], ETA, SIGMA, size.steps, RADIUS, batch=scheme)
    chain = Stacked(problem, precision, start(size, loss, device), 0)
    every = torch.arange(size.rows, device=device)[None]
    runs = [slice(0, size.models)]
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    taken = median(lambda: chain.step(records, every, runs, 1), size.steps)
    peak = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else 0.0
    gradient = torch.zeros_like(chain.weights)
    update = median(lambda: chain._advance(runs[0], gradient, 1), size.steps)
    return {"seconds": taken, "update": update, "peak_gib": peak}


def error_of(size: Size, records: Records, precision: Precision) -> float:
    """The error of the gradient over its norm, against float64: the worst of three models."""
    few = size._replace(models=3)
    tokens, targets = records.features[:16], records.targets[:16]
    loss, device = network(few), tokens.device
    weights = start(few, loss, device)
    exact = Recurrent(network(few).module.double()).gradient(weights.double(), tokens, targets)
    problem = Problem(loss, (tokens.cpu(), targets.cpu()), None, [0], ETA, 0.0, 1)
    with products_in(precision):
        got = Stacked(problem, precision, weights, 0).loss.gradient(weights, tokens, targets)
    return float(((got - exact).norm(dim=1) / exact.norm(dim=1)).max())


# --- one after another


class Plain(nn.Module):
    """`LSTMClassifier` on rows of full length: nothing to pack."""

    def __init__(self, size: Size):
        super().__init__()
        made = LSTMClassifier(size.words, size.embedding, size.hidden, size.layers)
        self.embedding, self.lstm, self.head = made.embedding, made.lstm, made.head

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.lstm(self.embedding(tokens))[0][:, -1])


def measure_alone(size: Size, records: Records, half: bool) -> float:
    """Measure the seconds of a step of every model, each on its own with nn.LSTM."""
    device = records.features.device
    tokens, targets = records.features.long(), records.targets
    models = [Plain(size).to(device) for _ in range(size.models)]
    noise_std = math.sqrt(2 * ETA) * SIGMA

    def step(model: nn.Module) -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            scores = model(tokens)
        parameters = list(model.parameters())
        gradients = torch.autograd.grad(cross_entropy(scores.float(), targets), parameters)
        with torch.no_grad():
            for p, g in zip(parameters, gradients, strict=True):
                p.sub_(g, alpha=ETA).add_(torch.randn_like(p), alpha=noise_std)
            shrink = torch.clamp(RADIUS / nn.utils.get_total_norm(parameters), max=1.0)
            for p in parameters:
                p.mul_(shrink)

    def all_of_them() -> None:
        for model in models:
            step(model)

    return median(all_of_them, min(size.steps, 3))


# --- clocks


def median(work: Callable[[], object], repeats: int) -> float:
    """The median seconds of several runs, after one that is not counted."""
    work()
    return statistics.median(seconds(work) for _ in range(repeats))


def seconds(work: Callable[[], object]) -> float:
    """Seconds that the work takes, the GPU's included."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    begun = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - begun


def document(size: Size | None = None) -> Row:
    """What is measured, and on which machine."""
    cuda = torch.cuda.is_available()
    return {
        "device": torch.cuda.get_device_name() if cuda else "CPU",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "rows": measure(size),
    }


def parse_size(words: list[str]) -> Size | None:
    """Read sizes from `--models 8 --rows 32 ...`; None if no size is given."""
    given = {}
    for name, value in itertools.pairwise(words):
        if name.startswith("--") and name[2:] in Size._fields:
            given[name[2:]] = int(value)
    default = Size() if torch.cuda.is_available() else ON_CPU
    return default._replace(**given) if given else None


if __name__ == "__main__":
    measured = document(parse_size(sys.argv[1:]))
    if "--json" in sys.argv[1:]:
        print(json.dumps(measured, indent=1))
    else:
        for row in measured["rows"]:  # type: ignore[union-attr]
            print(
                f"{row['name']:50} {row['times_one_after_another']:6.2f} times, "
                f"{row['milliseconds']:.1f} ms a step, {row['peak_gib']:.1f} GiB"
            )
