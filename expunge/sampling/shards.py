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
    path: Path

    @classmethod
    def opened(cls, path: Path | str, recipe: Recipe, blocks: Sequence[Block]) -> "ShardFolder":
        """The folder of this run, new or continued.

        Raises:
            ValueError: It holds another run.
        """
        folder = cls(Path(path))
        folder.path.mkdir(parents=True, exist_ok=True)
        record, said = folder.path / "run.json", _description(recipe, blocks)
        if record.exists():
            if json.loads(record.read_text()) != said:
                raise ValueError(f"{path} holds another run; choose another folder")
        else:
            _replace(record, lambda new: new.write_text(json.dumps(said, indent=1)))
        return folder

    def shard(self, block: Block) -> Path:
        return self.path / f"{block.first:010d}.safetensors"

    def missing(self, blocks: Sequence[Block]) -> list[Block]:
        return [block for block in blocks if not self.shard(block).exists()]

    def save(self, block: Block, found: dict[Point, Tensor]) -> None:
        named = {tensor_name(point): weights.contiguous() for point, weights in found.items()}
        _replace(self.shard(block), lambda new: save_file(named, new))


def read(shard: Path, point: Point) -> Tensor:
    """The models of one law in one shard."""
    with safe_open(shard, framework="pt") as file:
        return file.get_tensor(tensor_name(point))


def tensor_name(point: Point) -> str:
    """The name of a tensor in a shard's file, such as unlearned-5."""
    return f"{point[0]}-{point[1]}"


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """The file appears whole or not at all."""
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
    said = repr(loss)
    if isinstance(loss, Network):
        options = [one.name for one in fields(loss) if one.name not in ("module", "function")]
        said = f"{loss.module!r} {getattr(loss.function, '__name__', '?')} " + " ".join(
            f"{name}={getattr(loss, name)!r}" for name in options
        )
    return {
        "data": digest.hexdigest(),
        "loss": said,
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
