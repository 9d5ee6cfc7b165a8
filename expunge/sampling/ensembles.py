"""Samples of models from pi_L, pi_U and pi_R: one call, any number of models.

    ensembles = sample_ensemble(problem, unlearn_steps=(1, 5, 15), models=30_000, seed=0)
    ensembles["unlearned", 5].weights    # (models, ...) from pi_U^5
    ensembles["retrained", 5].weights    # (models, ...) from pi_R^{T+5}, its comparator

Paper: pi_U^K is compared with pi_R^{T+K} [thm:unlearning_init_bound]; K = 0 gives pi_L^T and
pi_R^T. Noise, initial points and orders are the same bit for bit for a seed however the work is
laid out; weights are, when blocks and the number of threads are, and otherwise agree within a
product's rounding.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import torch
from torch import Tensor

from expunge.core.checks import (
    check_values,
    choice,
    count,
    flag,
    instance,
    integer,
    optional,
    whole_numbers,
)
from expunge.core.checks import device as on_device
from expunge.sampling import shards
from expunge.sampling.chain import Point, Recipe, Regime
from expunge.sampling.engines import Block, Engine, Local
from expunge.sampling.problem import IndependentBatches, Problem
from expunge.sampling.progress import bar
from expunge.sampling.updates.plain import Precision

__all__ = ["Ensemble", "sample_ensemble"]

MODELS_ON_CPU = 512  # of a block
BYTES_ON_CUDA = 24 * 2**30  # of a block's weights, gradients and snapshots


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Models of one law: in memory, or in the shards of a folder."""

    regime: str
    unlearn_steps: int
    parts: tuple[Tensor | Path, ...]

    def blocks(self) -> Iterator[Tensor]:
        """Models (models, ...) block by block; a folder's are read one by one."""
        point = self.regime, self.unlearn_steps
        for part in self.parts:
            yield part if isinstance(part, Tensor) else shards.read(part, point)

    @property
    def weights(self) -> Tensor:
        """All models: (models, ...)."""
        blocks = list(self.blocks())
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks)


def sample_ensemble(
    problem: Problem,
    regimes: Sequence[Regime] = ("unlearned", "retrained"),
    unlearn_steps: Sequence[int] = (1, 5, 15),
    *,
    models: int,
    coupled: bool = False,
    device: str | torch.device = "cpu",
    engine: Engine | str = "local",
    seed: int = 0,
    precision: Precision | None = None,
    block: int | None = None,
    folder: Path | str | None = None,
    progress: bool = False,
) -> dict[Point, Ensemble]:
    """Sample ensembles by (regime, K); ("learned", 0) holds the models before unlearning.

    Args:
        regimes: Some of "learned", "unlearned", "retrained".
        coupled: The same initial points, noise and orders in both chains. Differences between
            them are then due to the forgotten records alone; the two ensembles are dependent.
        engine: "local", "ray", or an engine with its settings.
        precision: float32 or float64 anywhere; tf32 or bfloat16 products on CUDA. By default
            float32, on CUDA bfloat16 unless `coupled`: rounding does not cancel in pairs.
        block: Models computed together; the unit of work, of rounding and of files.
        folder: Where shards go, for ensembles larger than memory; continued if it exists.
    """
    unlearn_steps = whole_numbers()("unlearn_steps", unlearn_steps)
    check_values(
        {
            "problem": problem,
            "models": models,
            "coupled": coupled,
            "device": device,
            "seed": seed,
            "precision": precision,
            "block": block,
            "progress": progress,
        },
        problem=instance(Problem, "a Problem"),
        models=count(1),
        coupled=flag,
        device=on_device,
        seed=integer,
        precision=optional(choice(*get_args(Precision))),
        block=optional(count(1)),
        progress=flag,
    )
    place = torch.device(device)
    if precision is None:
        precision = "bfloat16" if place.type == "cuda" and not coupled else "float32"
    _check(regimes, unlearn_steps, precision, place)
    recipe = Recipe(
        problem, tuple(regimes), tuple(unlearn_steps), seed, coupled, str(place), precision
    )
    blocks = _blocks(recipe, models, block)
    mapped = _engine(engine)
    if folder is not None:
        return _on_disk(recipe, mapped, blocks, folder, progress)
    return _in_memory(recipe, mapped, blocks, progress)


def _in_memory(
    recipe: Recipe, engine: Engine, blocks: list[Block], progress: bool
) -> dict[Point, Ensemble]:
    models, whole = blocks[-1].first + blocks[-1].models, dict[Point, Tensor]()
    with bar(models, 0, progress) as finished:
        for block, snapshots in engine.map(recipe, blocks):
            if len(blocks) == 1:
                whole = snapshots
            for point, weights in snapshots.items() if len(blocks) > 1 else ():
                if point not in whole:
                    whole[point] = weights.new_empty(models, *recipe.problem.shape)
                whole[point][block.first : block.first + block.models] = weights
            finished(block.models)
    return {point: Ensemble(*point, (whole[point],)) for point in recipe.points}


def _on_disk(
    recipe: Recipe, engine: Engine, blocks: list[Block], path: Path | str, progress: bool
) -> dict[Point, Ensemble]:
    folder = shards.ShardFolder.open(path, recipe, blocks)
    missing, models = folder.missing(blocks), blocks[-1].first + blocks[-1].models
    with bar(models, models - sum(block.models for block in missing), progress) as finished:
        for block, snapshots in engine.map(recipe, missing):
            folder.save(block, snapshots)
            finished(block.models)
    files = tuple(folder.shard(block) for block in blocks)
    return {point: Ensemble(*point, files) for point in recipe.points}


def _blocks(recipe: Recipe, models: int, size: int | None) -> list[Block]:
    """Consecutive blocks of models; a run of models with one order is never cut."""
    if size is None and recipe.device == "cpu":
        size = MODELS_ON_CPU
    if size is None:
        each = 4 * torch.Size(recipe.problem.shape).numel() * (3 + len(recipe.points))
        size = max(1, BYTES_ON_CUDA // each)
    scheme = recipe.problem.scheme
    if isinstance(scheme, IndependentBatches):
        size = -(-size // scheme.models_per_order) * scheme.models_per_order
    return [Block(first, min(size, models - first)) for first in range(0, models, size)]


def _engine(given: Engine | str) -> Engine:
    if not isinstance(given, str) and hasattr(given, "map"):
        return given
    if given == "local":
        return Local()
    if given == "ray":
        from expunge.sampling.ray_engine import Ray

        return Ray()
    raise ValueError(f"engine: {given!r} must be 'local', 'ray', or an engine")


def _check(
    regimes: Sequence[str],
    unlearn_steps: Sequence[int],
    precision: Precision,
    device: torch.device,
) -> None:
    known = ("learned", "unlearned", "retrained")
    if isinstance(regimes, str) or not isinstance(regimes, Iterable):
        raise ValueError(f"regimes: must be a list of {', '.join(known)}")
    if not regimes or not all(isinstance(regime, str) and regime in known for regime in regimes):
        raise ValueError(f"regimes: must be of {', '.join(known)}, not {regimes!r}")
    if set(regimes) - {"learned"} and not unlearn_steps:
        raise ValueError("unlearn_steps: must name at least one K")
    if precision in ("tf32", "bfloat16") and device.type != "cuda":
        raise ValueError(f"precision: {precision} products need a CUDA device")
