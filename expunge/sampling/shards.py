"""Ensembles on disk: one safetensors file for each block, so that memory stays bounded.

A folder holds `run.json`, which says what was sampled, and `<first model>.safetensors`. A file
appears whole or not at all; a run that was interrupted goes on with the blocks that are missing,
and a folder of another run is refused.
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from expunge.sampling.chain import Point, Recipe
from expunge.sampling.engines import Block
from expunge.sampling.networks import Network

__all__ = ["ShardFolder", "read", "tensor_name"]


@dataclass(frozen=True)
class ShardFolder:
    """A folder of shards, one file for each block of models."""

    path: Path

    @classmethod
    def open(cls, path: Path | str, recipe: Recipe, blocks: Sequence[Block]) -> "ShardFolder":
        """Open the folder of this run, new or continued.

        Raises:
            ValueError: the folder holds another run.
        """
        folder = cls(Path(path))
        folder.path.mkdir(parents=True, exist_ok=True)
        record, description = folder.path / "run.json", _description(recipe, blocks)
        if record.exists():
            if json.loads(record.read_text()) != description:
                raise ValueError(f"{path} holds another run; choose another folder")
        else:
            _replace(record, lambda new: new.write_text(json.dumps(description, indent=1)))
        return folder

    def shard(self, block: Block) -> Path:
        """The file of a block."""
        return self.path / f"{block.first:010d}.safetensors"

    def missing(self, blocks: Sequence[Block]) -> list[Block]:
        """The blocks that have no file yet."""
        return [block for block in blocks if not self.shard(block).exists()]

    def save(self, block: Block, snapshots: dict[Point, Tensor]) -> None:
        """Write a block's models to its file."""
        named = {tensor_name(point): weights.contiguous() for point, weights in snapshots.items()}
        _replace(self.shard(block), lambda new: save_file(named, new))


def read(shard: Path, point: Point) -> Tensor:
    """Read the models of one law from one shard."""
    with safe_open(shard, framework="pt") as file:
        return file.get_tensor(tensor_name(point))


def tensor_name(point: Point) -> str:
    """The name of a tensor in a shard's file, such as unlearned-5."""
    return f"{point[0]}-{point[1]}"


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file so that it appears whole or not at all."""
    new = path.with_suffix(".new")
    write(new)
    os.replace(new, path)


def _description(recipe: Recipe, blocks: Sequence[Block]) -> dict[str, object]:
    """Everything the samples are a function of; data as a hash."""
    problem = recipe.problem
    digest = hashlib.sha256()
    for tensor in (*problem.all_records(), problem.retained()):
        digest.update(str((tensor.dtype, tuple(tensor.shape))).encode())
        digest.update(tensor.cpu().contiguous().view(torch.uint8).numpy().tobytes())
    loss = problem.loss
    description = repr(loss)
    if isinstance(loss, Network):
        options = [
            option.name for option in fields(loss) if option.name not in ("module", "function")
        ]
        description = f"{loss.module!r} {getattr(loss.function, '__name__', '?')} " + " ".join(
            f"{name}={getattr(loss, name)!r}" for name in options
        )
    return {
        "data": digest.hexdigest(),
        "loss": description,
        "chain": [problem.step_size, problem.sigma, problem.learn_steps, problem.radius],
        "init": repr(problem.law),
        "batch": repr(problem.scheme),
        "points": [tensor_name(point) for point in recipe.points],
        "seed": recipe.seed,
        "coupled": recipe.coupled,
        "precision": recipe.precision,
        "device": torch.device(recipe.device).type,
        "blocks": [list(block) for block in blocks[:1]] + [list(block) for block in blocks[-1:]],
    }
