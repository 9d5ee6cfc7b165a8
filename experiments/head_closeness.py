"""How close unlearned and retrained heads are, by every estimator: rows that results keep.

predictions   by point and K, over many splits
check         one split: prediction, coupled pairs, independent models, the discriminator
"""

import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from statistics import fmean
from typing import Any, Protocol

import torch

from experiments.head_problems import (
    BASE,
    Chain,
    Point,
    Variant,
    certified_divergence,
    closeness,
    problem,
    rows_of,
)
from experiments.parts import Parts
from experiments.spread import spread
from expunge.audit.heads import coupled_estimate
from expunge.divergence.discriminator import Discriminator, discriminator_readings
from expunge.divergence.rule import renyi_estimate
from expunge.sampling import Ensemble, Problem, sample_ensemble

__all__ = [
    "CheckSettings",
    "Item",
    "SplitSettings",
    "check",
    "describe_row",
    "figures",
    "predictions",
    "timed_sample",
]

Item = tuple[str, Point, Variant, int]


class SplitSettings(Protocol):
    """The settings that predictions over splits need."""

    @property
    def splits(self) -> int: ...
    @property
    def chain(self) -> Chain: ...
    @property
    def unlearn_steps(self) -> tuple[int, ...]: ...
    @property
    def seed(self) -> int: ...


class CheckSettings(SplitSettings, Protocol):
    """The settings that every estimator on one split needs."""

    @property
    def check_models(self) -> int: ...
    @property
    def coupled_pairs(self) -> int: ...
    @property
    def discriminator(self) -> Discriminator | None: ...


def predictions(
    settings: SplitSettings,
    pair: str,
    design: str,
    name: str,
    variant: Variant,
    points: list[Point],
) -> Iterator[dict[str, Any]]:
    """Predict the divergence by point and K, over all splits."""
    items = [(pair, point, variant, split) for point in points for split in range(settings.splits)]
    results = spread(partial(predict_split, settings), items, f"{pair}, {design}, {name}")
    for place, point in enumerate(points):
        over = results[place * settings.splits : (place + 1) * settings.splits]
        for k in settings.unlearn_steps:
            yield describe_row(settings, pair, design, name, variant, point, k) | {
                "method": "linear noise",
                "values": [figures(split[k]["value"]) for split in over],
                "shifts": [figures(split[k]["shift"]) for split in over],
                "room": figures(min(split[k]["room"] for split in over)),
            }


def predict_split(settings: SplitSettings, item: Item) -> dict[int, dict[str, float]]:
    """Predict the divergence of one split, by K."""
    pair, point, variant, split = item
    heads = problem(pair, point, variant, settings.chain, split=split, seed=settings.seed)
    return {k: closeness(heads, k) for k in settings.unlearn_steps}


def check(
    parts: Parts,
    name: str,
    settings: CheckSettings,
    pair: str,
    point: Point,
    ks: tuple[int, ...],
    device: str,
) -> list[dict[str, Any]]:
    """Run every estimator on one split, in two parts: a CPU is enough for the first."""
    predicted = parts.rows(f"told {name}", partial(predicted_rows, settings, pair, point, ks))
    read = parts.rows(f"check {name}", partial(sampled_rows, settings, pair, point, ks, device))
    if not (predicted and read):
        return []
    return [first | second for first, second in zip(predicted, read, strict=True)]


def predicted_rows(
    settings: CheckSettings, pair: str, point: Point, ks: tuple[int, ...]
) -> Iterator[dict[str, Any]]:
    """Rows with the prediction, and with the estimate from a few coupled pairs."""
    heads = problem(pair, point, BASE, settings.chain, split=0, seed=settings.seed)
    for k in ks:
        seen = coupled_estimate(heads, unlearn_steps=k, pairs=settings.coupled_pairs)
        yield describe_row(settings, pair, "check", "base", BASE, point, k) | {
            "predicted": figures(closeness(heads, k)["value"]),
            "coupled": {"value": seen.value, "interval": seen.interval, "notes": list(seen.notes)},
        }


def sampled_rows(
    settings: CheckSettings, pair: str, point: Point, ks: tuple[int, ...], device: str
) -> Iterator[dict[str, Any]]:
    """Rows with estimates from independent models, by Hotelling and by the discriminator."""
    heads = problem(pair, point, BASE, settings.chain, split=0, seed=settings.seed)
    sampled, seconds = timed_sample(
        heads, unlearn_steps=ks, models=settings.check_models, device=device
    )
    for k in ks:
        of, against = (sampled[law, k].weights.flatten(1) for law in ("retrained", "unlearned"))
        row: dict[str, Any] = {
            "models": settings.check_models,
            "hotelling": None,
            "discriminator": None,
            "sampling_seconds": figures(seconds / len(ks)),
        }
        if 2 * settings.check_models >= 3 * of.shape[1] + 10:
            rough = renyi_estimate(of=of, against=against, method="hotelling")
            row["hotelling"] = {"value": rough.value, "interval": rough.interval}
        if settings.discriminator is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read = discriminator_readings(
                    of=of, against=against, settings=settings.discriminator
                )
            row["discriminator"] = {
                "held_out": read.value,
                "trained": fmean(read.trained),
                "restarts": list(read.held_out),
            }
        yield row


def timed_sample(heads: Problem, **settings: Any) -> tuple[dict[tuple[str, int], Ensemble], float]:
    """Sample an ensemble and count its seconds; all K are one run, and a row states its share."""
    start = time.perf_counter()
    sampled = sample_ensemble(heads, **settings)
    if settings["device"] == "cuda":
        torch.cuda.synchronize()
    return sampled, time.perf_counter() - start


def describe_row(
    settings: SplitSettings,
    pair: str,
    design: str,
    name: str,
    variant: Variant,
    point: Point,
    k: int,
) -> dict[str, Any]:
    """The fields that say what a row of results is about."""
    classes = int(rows_of(pair)[1].targets.max()) + 1
    bound = None
    if variant.batch is None:
        bound = figures(certified_divergence(variant, point, settings.chain, classes, k))
    return {
        "pair": pair,
        "design": design,
        "variant": name,
        **asdict(point),
        "unlearn_steps": k,
        "certified": bound,
    }


def figures(value: float) -> float:
    """A number rounded to six digits, which is enough to read it."""
    return float(f"{value:.6g}")
