"""Estimators on Gaussians whose D_2 is known: ours, a scalar metric, the paper's discriminator.

1. hotelling: mean, spread and coverage of repeated estimates, isotropic and with eigenvalues 1 to
   100 in random directions; beside it the same value in a scalar metric, which must fail there.
2. discriminator: what it reads on its training samples and on held-out ones, beside the truth.
"""

import json
import statistics
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from scipy import stats
from torch import Tensor

from experiments.known_answers.settings import Settings
from experiments.parts import Parts
from experiments.progress import show_progress
from expunge.divergence.discriminator import discriminator_readings
from expunge.divergence.hotelling import hotelling, moments

__all__ = ["run"]

REFLECTIONS = 8  # whose product turns the eigenvalues' directions
UNFINISHED = Path(__file__).parent / "results" / "unfinished"


def run(settings: Settings) -> dict[str, Any]:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    parts = Parts(
        UNFINISHED if settings.samples >= 1000 else None,
        json.dumps(asdict(settings)),
        Path(__file__).parent,
    )
    tables: dict[str, list[dict[str, Any]]] = {"hotelling": [], "discriminator": []}
    for d in settings.dimensions:
        tables["hotelling"] += parts.rows(
            f"hotelling {d}", lambda d=d: _hotelling_rows(settings, d, device)
        )
    for d in settings.critic_dimensions:
        tables["discriminator"] += parts.rows(
            f"discriminator {d}", lambda d=d: _critic_rows(settings, d, device)
        )
    parts.done()
    machine = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    return {
        "settings": asdict(settings),
        "device": machine,
        "seconds": parts.seconds,
        **tables,
    }


def _hotelling_rows(settings: Settings, d: int, device: torch.device) -> Iterator[dict[str, Any]]:
    repetitions, level = settings.repetitions, settings.level
    for spectrum in ("isotropic", "rotated 1..100"):
        for truth in settings.divergences:
            values, scalar, covered, scalar_covered = [], [], 0, 0
            for number in show_progress(
                range(repetitions), f"d = {d}, {spectrum}, D_2 = {truth:g}"
            ):
                p, q = _pair(settings, d, truth, spectrum, number, device)
                found = hotelling(moments(p, q), order=2.0, level=level)
                assert found.interval is not None
                values.append(found.value)
                covered += found.interval[0] <= truth <= found.interval[1]
                # The same shift measured against the mean variance: another quantity.
                value, error = _scalar_metric(p, q)
                scalar.append(value)
                scalar_covered += abs(value - truth) <= stats.norm.ppf((1 + level) / 2) * error
            low, high = stats.binom.interval(0.999, repetitions, level)
            yield {
                "dimension": d,
                "spectrum": spectrum,
                "truth": truth,
                "mean": statistics.fmean(values),
                "spread": statistics.stdev(values),
                "within": bool(abs(statistics.fmean(values) - truth) <= 0.02 * truth + 0.008),
                "covered": int(covered),
                "band": [int(low), int(high)],
                "repetitions": repetitions,
                "scalar_mean": statistics.fmean(scalar),
                "scalar_covered": int(scalar_covered),
            }


def _critic_rows(settings: Settings, d: int, device: torch.device) -> Iterator[dict[str, Any]]:
    for truth in settings.critic_divergences:
        p, q = _pair(settings, d, truth, "isotropic", 0, device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = discriminator_readings(of=p, against=q, settings=settings.discriminator)
        yield {
            "dimension": d,
            "truth": truth,
            "trained": statistics.fmean(found.trained),
            "held_out": found.value,
            "restarts": list(found.held_out),
        }


def _pair(
    settings: Settings, d: int, truth: float, spectrum: str, number: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Samples of P and Q, whose means differ by `truth` in the metric of their covariance."""
    place = settings.dimensions.index(d) if d in settings.dimensions else 0
    seed = (settings.seed * 100 + place) * 10**6 + round(1000 * truth) * 1000 + number
    generator = torch.Generator(device).manual_seed(seed)
    samples = torch.randn(2, settings.samples, d, device=device, generator=generator)
    direction = torch.randn(d, device=device, generator=generator)
    samples[0] += truth**0.5 * direction / direction.norm()
    if spectrum != "isotropic":
        samples *= torch.linspace(1, 100, d, device=device).sqrt()
        for _ in range(REFLECTIONS):
            mirror = torch.randn(d, device=device, generator=generator)
            mirror /= mirror.norm()
            samples -= 2 * (samples @ mirror)[..., None] * mirror
    return samples[0], samples[1]


def _scalar_metric(p: Tensor, q: Tensor) -> tuple[float, float]:
    """|mean difference|^2 over the mean variance, unbiased if isotropic; and its standard error."""
    d, count = p.shape[1], len(p)
    variance = float((p.var(0).mean() + q.var(0).mean()) / 2)
    squared = float(
        (p.mean(0, dtype=torch.float64) - q.mean(0, dtype=torch.float64)).square().sum()
    )
    value = squared / variance - 2 * d / count
    return value, (8 * max(value, 0.0) / count + 8 * d / count**2) ** 0.5
