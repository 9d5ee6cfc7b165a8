"""D_2 of retrained against unlearned heads: public volume, K, and what else decides it.

Paper: [fig:renyi_estimation], THEORY E36. From the base setting (random forget set, zero init,
features of norm 10, full batch; T = 20, eta = 1e-3, sigma = 0.01, R = 1):

1. grid    the paper's three points, in which n_forget falls as n_public rises, and the six other
           points of the same counts, which part the two effects
2. series  n_forget fixed, n_public from 0 to 8 times the retained private rows
3. factors forget set, init, norm and batches, one at a time, at the paper's points and the series'
           ends, first and last K
4. checks  one split of the paper's points and of the series (K = 5): prediction, coupled pairs,
           independent models (Hotelling) and, on CUDA, the paper's discriminator

Predictions go over many splits; factors that cannot be predicted (independent batches, an init
outside the ball) are read from independent models along a direction known without them.
"""

import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

import numpy as np
import torch

from experiments.parts import Parts, nothing_new
from experiments.progress import shown
from experiments.renyi_vs_public_data.problems import (
    Chain,
    Point,
    Variant,
    certified,
    closeness,
    direction,
    problem,
    rows_of,
)
from experiments.renyi_vs_public_data.settings import BASE, PAPER, Settings, designed, series
from experiments.renyi_vs_public_data.spread import spread
from experiments.renyi_vs_public_data.verdicts import verdicts
from expunge.audit.heads import coupled_estimate
from expunge.divergence.discriminator import Discriminator, discriminator_readings
from expunge.divergence.lower_estimates import along
from expunge.divergence.rule import renyi_estimate
from expunge.sampling import Ensemble, Problem, sample_ensemble

__all__ = ["Checked", "Repeated", "check", "figures", "paper_points", "predictions", "run"]

UNFINISHED = Path(__file__).parent / "results" / "unfinished"
FEW = 2  # splits of a run too short to be kept in parts
Item = tuple[str, Point, Variant, int]


class Repeated(Protocol):
    """What predictions over splits need."""

    @property
    def splits(self) -> int: ...
    @property
    def chain(self) -> Chain: ...
    @property
    def unlearn_steps(self) -> tuple[int, ...]: ...
    @property
    def seed(self) -> int: ...


class Checked(Repeated, Protocol):
    """What every estimator on one split needs."""

    @property
    def check_models(self) -> int: ...
    @property
    def coupled_pairs(self) -> int: ...
    @property
    def discriminator(self) -> Discriminator | None: ...


def run(settings: Settings) -> dict[str, Any]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    parts = Parts(
        UNFINISHED if settings.splits > FEW else None,
        json.dumps(asdict(settings)),
        Path(__file__).parent,
        nothing_new(),
    )
    rows: list[dict[str, Any]] = []
    for pair, retained in settings.pairs:
        for design, points in (
            ("grid", designed(retained)),
            ("series", series(retained, settings.volumes)),
        ):
            made = partial(predictions, settings, pair, design, "base", BASE, points)
            rows += parts.rows(f"{design} {pair.replace('/', '-')}", made)
    pair, retained = settings.pairs[0]
    points = [*paper_points(retained), *series(retained, settings.ends)]
    ends = replace(
        settings, unlearn_steps=settings.unlearn_steps[:: len(settings.unlearn_steps) - 1]
    )
    for name, variant in settings.factors.items():
        if variant.predictable:
            made = partial(predictions, ends, pair, "factor", name, variant, points)
        else:
            made = partial(readings, ends, pair, name, variant, points, device)
        rows += parts.rows(name, made)
    checks: list[dict[str, Any]] = []
    for pair, retained in settings.pairs:
        if pair in settings.checked:
            for number, point in enumerate(
                [*paper_points(retained), *series(retained, settings.volumes)]
            ):
                ks = settings.unlearn_steps if number < len(PAPER) else (_five(settings),)
                name = f"{pair.replace('/', '-')} {number}"
                checks += check(parts, name, _read(settings, pair), pair, point, ks, device)
    parts.done()
    result = {
        "settings": asdict(settings),
        "device": parts.device,
        "seconds": parts.seconds,
        "missing": parts.missing,
        "available": {
            pair: [len(one.targets) for one in rows_of(pair)] for pair, _ in settings.pairs
        },
        "rows": rows,
        "checks": checks,
    }  # fmt: skip
    return result | {"verdicts": verdicts(result)}


def paper_points(retained: int) -> list[Point]:
    """The three in which n_public rises as n_forget falls."""
    return designed(retained)[:: len(PAPER) + 1]


def predictions(
    settings: Repeated, pair: str, design: str, name: str, variant: Variant, points: list[Point]
) -> Iterator[dict[str, Any]]:
    """By point and K, over all splits."""
    items = [(pair, point, variant, split) for point in points for split in range(settings.splits)]
    found = spread(partial(predicted, settings), items, f"{pair}, {design}, {name}")
    for place, point in enumerate(points):
        over = found[place * settings.splits : (place + 1) * settings.splits]
        for k in settings.unlearn_steps:
            yield described(settings, pair, design, name, variant, point, k) | {
                "method": "linear noise",
                "values": [figures(one[k]["value"]) for one in over],
                "shifts": [figures(one[k]["shift"]) for one in over],
                "room": figures(min(one[k]["room"] for one in over)),
            }


def predicted(settings: Repeated, item: Item) -> dict[int, dict[str, float]]:
    pair, point, variant, split = item
    found = problem(pair, point, variant, settings.chain, split=split, seed=settings.seed)
    return {k: closeness(found, k) for k in settings.unlearn_steps}


def readings(
    settings: Settings, pair: str, name: str, variant: Variant, points: list[Point], device: str
) -> Iterator[dict[str, Any]]:
    """From independent models along a known direction: lower estimates."""
    splits = range(settings.sampled_splits)
    items = [(pair, point, variant, split) for point in points for split in splits]
    tests = iter(spread(partial(aimed, settings), items, f"{pair}, {name}, directions"))
    for point in shown(points, f"{pair}, {name}"):
        over: dict[int, list[Any]] = {k: [] for k in settings.unlearn_steps}
        sampling = 0.0
        for split in splits:
            found = problem(pair, point, variant, settings.chain, split=split, seed=settings.seed)
            sampled, seconds = timed_sample(
                found,
                unlearn_steps=settings.unlearn_steps,
                models=settings.models,
                device=device,
                seed=split,
            )
            sampling += seconds
            for k, test in next(tests).items():
                of, against = (
                    sampled[law, k].weights.flatten(1) for law in ("retrained", "unlearned")
                )
                aim = torch.from_numpy(test).to(of.device)
                over[k].append(along(of, against, aim, order=2.0))
        for k in settings.unlearn_steps:
            yield described(settings, pair, "factor", name, variant, point, k) | {
                "method": "projection, a lower estimate",
                "models": settings.models,
                "values": [figures(one.value) for one in over[k]],
                "errors": [figures(_error(one.interval)) for one in over[k]],
                "sampling_seconds": figures(sampling / len(over)),
            }


def aimed(settings: Repeated, item: Item) -> dict[int, np.ndarray]:
    """By K, where to look; arrays travel between processes."""
    pair, point, variant, split = item
    found = problem(pair, point, variant, settings.chain, split=split, seed=settings.seed)
    return {k: direction(found, k).numpy() for k in settings.unlearn_steps}


def check(
    parts: Parts,
    name: str,
    settings: Checked,
    pair: str,
    point: Point,
    ks: tuple[int, ...],
    device: str,
) -> list[dict[str, Any]]:
    """Every estimator on one split, in two parts: a CPU is enough for the first."""
    told = parts.rows(f"told {name}", partial(foretold, settings, pair, point, ks))
    read = parts.rows(f"check {name}", partial(read_off, settings, pair, point, ks, device))
    if not (told and read):
        return []
    return [one | other for one, other in zip(told, read, strict=True)]


def foretold(
    settings: Checked, pair: str, point: Point, ks: tuple[int, ...]
) -> Iterator[dict[str, Any]]:
    """Predicted, and from a few coupled pairs."""
    found = problem(pair, point, BASE, settings.chain, split=0, seed=settings.seed)
    for k in ks:
        seen = coupled_estimate(found, unlearn_steps=k, pairs=settings.coupled_pairs)
        yield described(settings, pair, "check", "base", BASE, point, k) | {
            "predicted": figures(closeness(found, k)["value"]),
            "coupled": {"value": seen.value, "interval": seen.interval, "notes": list(seen.notes)},
        }


def read_off(
    settings: Checked, pair: str, point: Point, ks: tuple[int, ...], device: str
) -> Iterator[dict[str, Any]]:
    """From independent models, by Hotelling and by the discriminator."""
    found = problem(pair, point, BASE, settings.chain, split=0, seed=settings.seed)
    sampled, seconds = timed_sample(
        found, unlearn_steps=ks, models=settings.check_models, device=device
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


def timed_sample(found: Problem, **settings: Any) -> tuple[dict[tuple[str, int], Ensemble], float]:
    """`sample_ensemble` and its seconds; all K are one run, and a row states its share."""
    start = time.perf_counter()
    sampled = sample_ensemble(found, **settings)
    if settings["device"] == "cuda":
        torch.cuda.synchronize()
    return sampled, time.perf_counter() - start


def described(
    settings: Repeated, pair: str, design: str, name: str, variant: Variant, point: Point, k: int
) -> dict[str, Any]:
    classes = int(rows_of(pair)[1].targets.max()) + 1
    bound = None
    if variant.batch is None:
        bound = figures(certified(variant, point, settings.chain, classes, k))
    return {
        "pair": pair,
        "design": design,
        "variant": name,
        **asdict(point),
        "unlearn_steps": k,
        "certified": bound,
    }


def figures(value: float) -> float:
    """Six digits: a result is read, not continued."""
    return float(f"{value:.6g}")


def _read(settings: Settings, pair: str) -> Settings:
    """The discriminator reads the first pair."""
    return settings if pair == settings.pairs[0][0] else replace(settings, discriminator=None)


def _error(interval: tuple[float, float] | None) -> float:
    assert interval is not None
    return (interval[1] - interval[0]) / 2 / 1.96


def _five(settings: Settings) -> int:
    return 5 if 5 in settings.unlearn_steps else settings.unlearn_steps[0]
