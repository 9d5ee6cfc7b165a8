"""Ensembles against what the machine can do: matrix products at the same shapes, loops, vmap.

python -m benchmarks.ensembles --json      measures the GPU, or the CPU without one
python -m benchmarks.ensembles --figure    ensembles.png from ensembles.json

A ratio is ours over a limit's yardstick: below 1 over the target's factor is good. On CUDA the
paper's size (30,000 heads of 24 x 384, T = 20, K up to 15), elsewhere what two cores do in minutes.
"""

import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from expunge.losses import Logistic, Softmax
from expunge.sampling import IndependentBatches, Problem, SharedBatches, Zero, sample_ensemble
from expunge.sampling.chain import Recipe, run_block, start_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MARK", "bounded_memory", "document", "figure", "growth", "measure", "table"]

CLASSES, FEATURES, ROWS, BATCH, MODELS = 24, 384, 42_000, 1024, 30_000
ETA, SIGMA, RADIUS = 1e-3, 0.01, 100.0
PARAMETERS = CLASSES * FEATURES
HERE = Path(__file__).parent
MARK = "<!-- benchmarks/ensembles.json -->\n"  # before the table in docs/ensembles.md
Row = dict[str, object]


def measure() -> list[Row]:
    """Measure ensembles on the GPU, if there is one, and on the CPU."""
    return (on_cuda() if torch.cuda.is_available() else []) + on_cpu()


def document(cuda: bool) -> dict[str, object]:
    """What is measured, and on which machine."""
    return {
        "device": torch.cuda.get_device_name() if cuda else processor(),
        "cuda": cuda,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "rows": on_cuda() if cuda else on_cpu(),
    }


def processor() -> str:
    """The name and the number of the machine's cores."""
    named = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{len(named)} x {named[0]}"


# --- the work


def heads(rows: int, learn_steps: int, batch: object = None, scale: float = 10.0) -> Problem:
    """A problem of random features of norm about `scale`: half private, a seventh forgotten."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(rows, FEATURES, generator=generator) * scale / math.sqrt(FEATURES)
    targets = torch.randint(0, CLASSES, (rows,), generator=generator)
    half = rows // 2
    return Problem(
        loss=Softmax(CLASSES, l2=0.0),
        private=(features[:half], targets[:half]),
        public=(features[half:], targets[half:]),
        forget=range(rows // 7),
        step_size=ETA,
        sigma=SIGMA,
        learn_steps=learn_steps,
        radius=RADIUS,
        batch=batch,  # type: ignore[arg-type]
    )


def step_seconds(
    make: Callable[[int], Problem], models: int, steps: int, **recipe: object
) -> float:
    """Seconds of one learning step of all models, the rows of every step drawn beforehand."""
    learning = Recipe(make(steps), ("learned",), (), 0, **recipe)  # type: ignore[arg-type]
    chain, orders = start_of(learning, models)
    rows = [orders.rows(step) for step in range(steps)]

    def work() -> None:
        for step in range(steps):
            key = learning.key("noise", False, step)
            chain.step(learning.everything, rows[step], orders.runs, key)

    return best(work, 4) / steps


def one_model_step(theta: Tensor, features: Tensor, targets: Tensor) -> Tensor:
    """One step of one model, in the simplest code."""
    logits = features @ theta.T
    residual = torch.softmax(logits, 1)
    residual[torch.arange(len(targets), device=theta.device), targets] -= 1
    moved = theta - ETA * (residual.T @ features) / len(targets)
    moved = moved + math.sqrt(2 * ETA) * SIGMA * torch.randn_like(moved)
    return moved * torch.clamp(RADIUS / moved.norm(), max=1.0)


def loop_seconds(features: Tensor, targets: Tensor, models: int) -> float:
    """Seconds of one step of one model in a loop over models."""
    thetas = torch.zeros(models, CLASSES, FEATURES, device=features.device)

    def loop() -> None:
        for theta in thetas:
            theta.copy_(one_model_step(theta, features, targets))

    loop()
    return min(seconds(loop) for _ in range(3)) / models


def vmap_seconds(features: Tensor, targets: Tensor, models: int) -> float:
    """Seconds of one step of one model when a model's step goes through vmap; tf32 on CUDA."""
    module = nn.Linear(FEATURES, CLASSES, bias=False, device=features.device)

    def objective(theta: Tensor) -> Tensor:
        outputs = functional_call(module, {"weight": theta}, (features,))
        return nn.functional.cross_entropy(outputs, targets)

    def step(theta: Tensor) -> Tensor:
        moved = theta - ETA * grad(objective)(theta)
        moved = moved + math.sqrt(2 * ETA) * SIGMA * torch.randn_like(moved)
        return moved * torch.clamp(RADIUS / moved.norm(), max=1.0)

    every = vmap(step, randomness="different")
    thetas = torch.zeros(models, CLASSES, FEATURES, device=features.device)
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    took = best(lambda: thetas.copy_(every(thetas)), 3) / models
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    return took


def product_seconds(models: int, rows: int, dtype: torch.dtype, device: str) -> float:
    """Seconds of both matrix products of a step at its shapes, by the library."""
    features = torch.randn(rows, FEATURES, device=device).to(dtype)
    weights = torch.randn(models * CLASSES, FEATURES, device=device).to(dtype)
    if device == "cpu":  # the layout that suits the library better
        scores = torch.empty(models * CLASSES, rows, dtype=dtype)
        return best(lambda: torch.mm(weights, features.T, out=scores)) + best(
            lambda: torch.mm(scores, features)
        )
    scores = torch.randn(rows, models * CLASSES, device=device, dtype=dtype)
    gradient = torch.empty_like(weights)
    second = best(lambda: torch.mm(scores.T, features, out=gradient))
    return best(lambda: torch.mm(features, weights.T, out=scores)) + second


# --- two cores


def on_cpu() -> list[Row]:
    """Measure ensembles on a CPU."""
    rows = [
        cpu_heads(BATCH),
        cpu_heads(4 * BATCH),
        cpu_heads(16 * BATCH),
        cpu_logistic(),
        linear_in_models_and_steps(),
    ]
    return [*rows, bounded_memory()]


def cpu_heads(rows: int, models: int = 512) -> Row:
    """Measure heads on a CPU in turn with their products, so that a busy machine slows both."""
    ceilings, ours = [], []
    for _ in range(3):
        ceilings.append(product_seconds(models, rows, torch.float32, "cpu"))
        ours.append(
            step_seconds(lambda n: heads(rows + rows // 6, n, SharedBatches(rows)), models, 2)
        )
    ceiling, fastest = min(ceilings), min(ours)
    features, targets = heads(rows, 1).all_records()
    loop, mapped = loop_seconds(features, targets, 16), vmap_seconds(features, targets, 32)
    return {
        "name": f"CPU, {models} heads on {rows:,} rows over products",
        "ratio": fastest / ceiling,
        "limit": 1 / 0.85,
        "share_of_product_rate": ceiling / fastest,
        "gflops": 4 * models * PARAMETERS * rows / fastest / 1e9,
        "model_steps_per_second": models / fastest,
        "times_a_loop_over_models": loop * models / fastest,
        "times_vmap": mapped * models / fastest,
    }


def cpu_logistic(models: int = 100, records: int = 11_982, width: int = 784) -> Row:
    """Measure logistic models against per-sample gradients of one model, as scripts do."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(records, width, generator=generator) / math.sqrt(width)
    targets = (torch.rand(records, generator=generator) > 0.5).float()
    lam = 1e-4

    def of_one(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return nn.functional.softplus(-(2 * y - 1) * (x @ theta)) + lam / 2 * theta @ theta

    def published_step(theta: Tensor) -> Tensor:
        each = vmap(grad(of_one), (None, 0, 0))(theta, features, targets)  # (records, width)
        moved = theta - ETA * each.mean(0) + math.sqrt(2 * ETA) * SIGMA * torch.randn(width)
        return moved * torch.clamp(RADIUS / moved.norm(), max=1.0)

    def make(steps: int) -> Problem:
        data = (features, targets)
        return Problem(Logistic(lam), data, None, [0], ETA, SIGMA, steps, RADIUS, Zero())

    theirs = best(lambda: published_step(torch.zeros(width)))
    ours = step_seconds(make, models, 10) / models
    return {
        "name": f"CPU, logistic {records:,} x {width}, {models} models over per-sample gradients",
        "ratio": ours / theirs,
        "limit": 1 / 150,
        "times_per_sample_gradients": theirs / ours,
        "model_steps_per_second": 1 / ours,
    }


def linear_in_models_and_steps() -> Row:
    """Fit seconds linearly in models x steps; the ratio is the worst relative deviation."""
    sizes = [(models, steps) for models in (64, 128, 256) for steps in (2, 4, 8)]
    taken = {}
    for models, steps in sizes:
        recipe = Recipe(heads(2400, steps, SharedBatches(BATCH)), ("learned",), (), 0)
        repeats = [seconds(lambda p=recipe, m=models: run_block(p, 0, m)) for _ in range(4)]
        taken[f"{models} x {steps}"] = min(repeats)
    times = list(taken.values())
    work = torch.tensor([[1.0, models * steps] for models, steps in sizes], dtype=torch.float64)
    weight = 1 / torch.tensor(times, dtype=torch.float64)  # relative deviations
    fit = torch.linalg.lstsq(work * weight[:, None], torch.ones(len(times), 1).double()).solution
    deviation = (work * weight[:, None] @ fit - 1).abs().max()
    return {
        "name": "CPU, deviation from a cost linear in models x steps",
        "ratio": float(deviation),
        "limit": 0.25,
        "fixed_seconds": float(fit[0]),
        "microseconds_per_model_step": 1e6 * float(fit[1]),
        "seconds": taken,
    }


def bounded_memory() -> Row:
    """Measure how the peak grows while heads of 4 x 16 go to disk: 1,000,000 over 250,000."""
    few, many = (growth_in_subprocess(models) for models in (250_000, 1_000_000))
    return {
        "name": "CPU, memory of 1,000,000 heads on disk over that of 250,000",
        "ratio": many / few,
        "limit": 1.5,
        "grown_mib": {"250,000": few, "1,000,000": many},
        "size_mib": 1_000_000 * 64 * 4 / 2**20,
    }


def growth_in_subprocess(models: int) -> float:
    """What `growth` measures in a process of its own, in MiB."""
    code = f"from benchmarks import ensembles as e; print(e.growth({models}))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def growth(models: int) -> float:
    """MiB by which the peak grows after one block has gone through."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(100, 16, generator=generator)
    targets = torch.arange(100) % 4
    problem = Problem(Softmax(4, 0.1), (features, targets), None, [0], 0.1, 0.1, 2)
    settings = {"regimes": ("learned",), "unlearn_steps": (), "block": 2**15}
    with tempfile.TemporaryDirectory() as folder:
        sample_ensemble(problem, models=2**15, folder=f"{folder}/warm", **settings)
        Path("/proc/self/clear_refs").write_text("5")
        before = _peak()
        sampled = sample_ensemble(problem, models=models, folder=f"{folder}/run", **settings)
        assert sum(len(block) for block in sampled["learned", 0].blocks()) == models
        return (_peak() - before) / 2**20


# --- one GPU


def on_cuda() -> list[Row]:
    """Measure the prototype's table of DESIGN section 5, with the ceilings of the same run."""
    small = product_seconds(MODELS, BATCH, torch.bfloat16, "cuda")
    large = product_seconds(2000, ROWS, torch.bfloat16, "cuda") * MODELS / 2000
    big = torch.empty(2, 2**29, device="cuda")
    bandwidth = big.nbytes / best(lambda: big[0].copy_(big[1]))
    rows = [
        cuda_steps("one shared order", SharedBatches(BATCH), 8.5e6, small),
        cuda_steps("375 orders", IndependentBatches(BATCH, 80), 7.5e6, small),
        cuda_steps("1,875 orders", IndependentBatches(BATCH, 16), None, small),
        cuda_full(large),
        both_arms(),
        cuda_baselines(small),
        rounding_of_gradients(),
    ]
    for row in rows:
        row["copy_bytes_per_second"] = bandwidth
    return rows


def cuda_steps(name: str, batch: object, target: float | None, ceiling: float) -> Row:
    """Measure steps on batches of the paper's size on a GPU."""
    settings = {"device": "cuda", "precision": "bfloat16"}
    took = step_seconds(lambda n: heads(ROWS, n, batch), MODELS, 20, **settings)
    return {
        "name": f"CUDA, batch {BATCH:,}, {name}",
        "ratio": 1.0 if target is None else target / (MODELS / took),
        "limit": 1.0,
        "target_model_steps_per_second": target,
        "model_steps_per_second": MODELS / took,
        "milliseconds": 1e3 * took,
        "products_milliseconds": 1e3 * ceiling,
        "share_of_product_rate": ceiling / took,
        "tflops": 4 * MODELS * PARAMETERS * BATCH / took / 1e12,
        "ceiling_tflops": 4 * MODELS * PARAMETERS * BATCH / ceiling / 1e12,
    }


def cuda_full(ceiling: float) -> Row:
    """Measure steps on all rows on a GPU."""
    settings = {"device": "cuda", "precision": "bfloat16"}
    took = step_seconds(lambda n: heads(ROWS, n), MODELS, 3, **settings)
    work = 4 * MODELS * PARAMETERS * ROWS
    return {
        "name": f"CUDA, full batch of {ROWS:,} over products",
        "ratio": took / ceiling,
        "limit": 1 / 0.62,
        "milliseconds": 1e3 * took,
        "products_milliseconds": 1e3 * ceiling,
        "share_of_product_rate": ceiling / took,
        "model_steps_per_second": MODELS / took,
        "tflops": work / took / 1e12,
        "ceiling_tflops": work / ceiling / 1e12,
    }


def both_arms() -> Row:
    """Measure 20 + 15 steps and 35 steps of 30,000 models, snapshots at K = 1, 5, 15."""
    problem = heads(ROWS, 20, SharedBatches(BATCH))
    recipe = Recipe(problem, ("unlearned", "retrained"), (1, 5, 15), 0, False, "cuda", "bfloat16")
    run_block(recipe, 0, MODELS)
    took = statistics.median(seconds(lambda: run_block(recipe, 0, MODELS)) for _ in range(5))
    return {
        "name": "CUDA, seconds of both arms of a split, 2.1 million model-steps",
        "ratio": took,
        "limit": 0.28,
        "model_steps_per_second": 70 * MODELS / took,
    }


def cuda_baselines(ceiling: float) -> Row:
    """Measure a loop over models, vmap, and plain batched PyTorch, at batch 1,024."""
    features, targets = (part.cuda() for part in heads(BATCH, 1).all_records())

    def make(steps: int) -> Problem:
        return heads(ROWS, steps, SharedBatches(BATCH))

    plain = {}
    for precision in ("float32", "tf32"):
        took = step_seconds(make, 6000, 3, device="cuda", precision=precision)
        plain[precision] = 1e3 * took * MODELS / 6000
    ours = step_seconds(make, MODELS, 20, device="cuda", precision="bfloat16")
    loop = loop_seconds(features, targets, 300) * MODELS
    mapped = vmap_seconds(features, targets, MODELS) * MODELS
    rows, labels = (part.cuda() for part in heads(ROWS, 1).all_records())
    return {
        "name": f"CUDA, batch {BATCH:,}, over vmap; a loop over models beside it",
        "ratio": ours / mapped,
        "limit": 1 / 12,
        "times_a_loop_over_models": loop / ours,
        "times_vmap": mapped / ours,
        "loop_milliseconds": 1e3 * loop,
        "vmap_milliseconds": 1e3 * mapped,
        "loop_full_batch_milliseconds": 1e3 * loop_seconds(rows, labels, 100) * MODELS,
        "plain_milliseconds": plain,
        "products_milliseconds": 1e3 * ceiling,
    }


def rounding_of_gradients(models: int = 4000) -> Row:
    """Measure D_2 of the mean shift that bfloat16 gradients cause after 35 steps, from zero.

    The same noise in both precisions: the difference is rounding alone. The law's variance is
    that of 35 steps' noise, 2 eta sigma^2 each; an initial law would only add to it.
    """
    weights = {}
    for precision in ("float32", "bfloat16"):
        for scale in (1.0, 10.0):
            problem = heads(ROWS, 35, SharedBatches(BATCH), scale)
            recipe = Recipe(
                Problem(**{**vars(problem), "init": Zero()}), ("learned",), (), 0, False, "cuda",
                precision,  # type: ignore[arg-type]
            )  # fmt: skip
            weights[precision, scale] = run_block(recipe, 0, models)["learned", 0].double()
    shifts = {
        scale: (weights["bfloat16", scale] - weights["float32", scale]).mean(0)
        for scale in (1.0, 10.0)
    }
    variance = 35 * 2 * ETA * SIGMA**2
    worth = {f"features of norm {s:g}": float((d**2).sum()) / variance for s, d in shifts.items()}
    return {
        "name": "CUDA, D_2 of the mean shift of bfloat16 gradients over 1e-4",
        "ratio": max(worth.values()) / 1e-4,
        "limit": 1.0,
        "renyi_2": worth,
    }


# --- the figure


def figure(documents: list[dict], path: Path) -> None:
    """Draw the roofline: rates over operations for each byte that must move."""
    from expunge.report.picture import save, styled

    save(styled(roofline)(documents), path)


def roofline(documents: list[dict]) -> "Figure":
    """The measured ceiling, and what ours and other ways reach of it."""
    from matplotlib.figure import Figure

    from expunge.report.picture import COLOURS, INK, legend_below, tidy

    rows = {row["name"]: row for run in documents if run["cuda"] for row in run["rows"]}
    small = rows[f"CUDA, batch {BATCH:,}, one shared order"]
    full = rows[f"CUDA, full batch of {ROWS:,} over products"]
    slow = next(row for name, row in rows.items() if "over vmap" in name)
    bandwidth, peak = small["copy_bytes_per_second"] / 1e12, small["ceiling_tflops"]
    page = Figure(figsize=(7, 4.6), layout="constrained")
    axis = page.subplots()
    x = torch.logspace(1, 3.3, 200)
    top = max(peak, full["ceiling_tflops"])
    axis.loglog(x, torch.clamp(bandwidth * x, max=top), color=INK, label="ceiling, measured")
    work = 4 * MODELS * PARAMETERS * BATCH / 1e12  # of a step at batch 1,024
    points = [
        (small, BATCH, slow["loop_milliseconds"], (4, -34), f"batch {BATCH:,}"),
        (full, ROWS, slow["loop_full_batch_milliseconds"], (10, -14), f"full batch {ROWS:,}"),
    ]
    for row, rows_seen, loop, shift, name in points:
        at = intensity(rows_seen)
        axis.plot(at, row["tflops"], "o", color=COLOURS["blue"])
        axis.plot(at, work * rows_seen / BATCH / loop * 1e3, "x", color=COLOURS["vermilion"])
        label = f"{name}\n{row['tflops']:.0f} TFLOP/s"
        at_point = at, row["tflops"]
        axis.annotate(label, at_point, shift, textcoords="offset points", fontsize=9)
    vmap_rate = work / slow["vmap_milliseconds"] * 1e3
    axis.plot(intensity(BATCH), vmap_rate, "s", color=COLOURS["orange"], label="vmap, tf32")
    axis.plot([], [], "o", color=COLOURS["blue"], label="ours")
    axis.plot([], [], "x", color=COLOURS["vermilion"], label="loop over models, fp32")
    axis.set(xlabel="operations for each byte of device memory", ylabel="TFLOP/s")
    axis.set_title("30,000 heads of 24 x 384 on one H200")
    tidy(axis)
    legend_below(page, 4)
    return page


def table(documents: list[dict]) -> str:
    """The table in Markdown of a step of all models on one GPU, by every method."""
    rows = {row["name"]: row for run in documents if run["cuda"] for row in run["rows"]}
    slow = next(row for name, row in rows.items() if "over vmap" in name)
    steps = [
        ("a loop over models, fp32", slow["loop_milliseconds"]),
        ("`torch.func.vmap`, tf32", slow["vmap_milliseconds"]),
        ('`precision="float32"`', slow["plain_milliseconds"]["float32"]),
        ('`precision="tf32"`', slow["plain_milliseconds"]["tf32"]),
        *(
            (f'`precision="bfloat16"`, {orders}', rows[f"CUDA, batch {BATCH:,}, {orders}"])
            for orders in ("1,875 orders", "375 orders", "one shared order")
        ),
    ]
    lines = [f"| a step on {BATCH:,} rows | ms | million model-steps/s |", "|---|---|---|"]
    for name, step in steps:
        took = step["milliseconds"] if isinstance(step, dict) else step
        lines.append(f"| {name} | {took:,.{2 if took < 10 else 0}f} | {MODELS / took / 1e3:.3g} |")
    full = rows[f"CUDA, full batch of {ROWS:,} over products"]
    lines.append(
        f"\nThe full batch of {ROWS:,} rows takes {full['milliseconds']:.0f} ms, "
        f"{100 * full['share_of_product_rate']:.0f} % of the rate at which the library multiplies "
        f"these shapes in bfloat16."
    )
    return "\n".join(lines) + "\n"


def intensity(rows: int) -> float:
    """Operations for each byte that must move.

    Halves are read twice and written, gradients once each way: 14 bytes a parameter; residuals.
    """
    return 4 * PARAMETERS * rows / (14 * PARAMETERS + 4 * CLASSES * rows)


# --- clocks


def seconds(work: Callable[[], object]) -> float:
    """Seconds that the work takes, the GPU's included."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def best(work: Callable[[], object], repeats: int = 7) -> float:
    """The fewest seconds of several runs, after one that is not counted."""
    work()
    return min(seconds(work) for _ in range(repeats))


def _peak() -> float:
    status = Path("/proc/self/status").read_text()
    return 1024 * float(re.findall(r"VmHWM:\s+(\d+)", status)[0])


if __name__ == "__main__":
    if "--figure" in sys.argv[1:]:
        measured = json.loads((HERE / "ensembles.json").read_text())
        figure(measured, HERE / "ensembles.png")
        page = HERE.parent / "docs" / "ensembles.md"
        before, rest = page.read_text().split(MARK)
        page.write_text(before + MARK + table(measured) + rest[rest.index("<!-- end -->") :])
    else:
        print(json.dumps(document(cuda=torch.cuda.is_available()), indent=1))
