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
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.head_closeness import (
    Item,
    SplitSettings,
    check,
    describe_row,
    figures,
    predictions,
    timed_sample,
)
from experiments.head_problems import (
    BASE,
    PAPER,
    Point,
    Variant,
    design_points,
    direction,
    paper_points,
    problem,
    rows_of,
    series,
)
from experiments.parts import Parts, begins_no_part
from experiments.progress import show_progress
from experiments.renyi_vs_public_data.settings import Settings
from experiments.renyi_vs_public_data.verdicts import verdicts
from experiments.spread import spread
from expunge.divergence.lower_estimates import estimate_along

__all__ = ["run"]

UNFINISHED = Path(__file__).parent / "results" / "unfinished"
FEW = 2  # splits of a run too short to be kept in parts


def run(settings: Settings) -> dict[str, Any]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    parts = Parts(
        UNFINISHED if settings.splits > FEW else None,
        json.dumps(asdict(settings)),
        Path(__file__).parent,
        begins_no_part(),
    )
    rows: list[dict[str, Any]] = []
    for pair, retained in settings.pairs:
        for design, points in (
            ("grid", design_points(retained)),
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


def readings(
    settings: Settings, pair: str, name: str, variant: Variant, points: list[Point], device: str
) -> Iterator[dict[str, Any]]:
    """From independent models along a known direction: lower estimates."""
    splits = range(settings.sampled_splits)
    items = [(pair, point, variant, split) for point in points for split in splits]
    tests = iter(spread(partial(aimed, settings), items, f"{pair}, {name}, directions"))
    for point in show_progress(points, f"{pair}, {name}"):
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
                over[k].append(estimate_along(of, against, aim, order=2.0))
        for k in settings.unlearn_steps:
            yield describe_row(settings, pair, "factor", name, variant, point, k) | {
                "method": "projection, a lower estimate",
                "models": settings.models,
                "values": [figures(one.value) for one in over[k]],
                "errors": [figures(_error(one.interval)) for one in over[k]],
                "sampling_seconds": figures(sampling / len(over)),
            }


def aimed(settings: SplitSettings, item: Item) -> dict[int, np.ndarray]:
    """By K, where to look; arrays travel between processes."""
    pair, point, variant, split = item
    found = problem(pair, point, variant, settings.chain, split=split, seed=settings.seed)
    return {k: direction(found, k).numpy() for k in settings.unlearn_steps}


def _read(settings: Settings, pair: str) -> Settings:
    """The discriminator reads the first pair."""
    return settings if pair == settings.pairs[0][0] else replace(settings, discriminator=None)


def _error(interval: tuple[float, float] | None) -> float:
    assert interval is not None
    return (interval[1] - interval[0]) / 2 / 1.96


def _five(settings: Settings) -> int:
    return 5 if 5 in settings.unlearn_steps else settings.unlearn_steps[0]
