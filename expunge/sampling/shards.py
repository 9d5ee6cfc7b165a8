"""Ensembles on disk: one safetensors file for each block, so that memory stays bounded.

A folder holds `run.json`, which says what was sampled, and `<first model>.safetensors`. A file
appears whole or not at all and survives a power cut; it holds a digest of each of its tensors, so
that a shard that was changed is never read. A run that was interrupted goes on with the blocks that
are missing or damaged, and a folder of another run is refused.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from expunge.core.sealed_json import read_sealed_json, sealed_json
from expunge.core.whole_file import sync, write_whole
from expunge.errors import Altered
from expunge.sampling.chain import Point, Recipe
from expunge.sampling.engines import Block
from expunge.sampling.networks import Network

__all__ = ["ShardFolder", "read", "tensor_name"]

RECORD, RUN, SEAL = "run.json", "run", "seal"
REMEDY = "delete it and sample again"


@dataclass(frozen=True)
class ShardFolder:
    """A folder of shards, one file for each block of models."""

    path: Path
    points: tuple[Point, ...] = ()

    @classmethod
    def open(cls, path: Path | str, recipe: Recipe, blocks: Sequence[Block]) -> "ShardFolder":
        """Open the folder of this run, new or continued.

        Raises:
            ValueError: the folder holds another run.
            Altered: run.json is not as it was written.
        """
        folder = cls(Path(path), tuple(recipe.points))
        folder.path.mkdir(parents=True, exist_ok=True)
        record, description = folder.path / RECORD, _description(recipe, blocks)
        if record.exists():
            if read_sealed_json(record, REMEDY) != description:
                raise ValueError(f"{path} holds another run; choose another folder")
        else:
            write_whole(record, sealed_json(description))
            sync(folder.path)
        return folder

    def shard(self, block: Block) -> Path:
        """The file of a block."""
        return self.path / f"{block.first:010d}.safetensors"

    def missing(self, blocks: Sequence[Block]) -> list[Block]:
        """The blocks whose file is not there, or not as it was written."""
        return [block for block in blocks if not self._is_whole(self.shard(block))]

    def save(self, block: Block, snapshots: dict[Point, Tensor]) -> None:
        """Write a block's models to its file."""
        named = {tensor_name(point): weights.contiguous() for point, weights in snapshots.items()}
        digests = {name: _digest(weights) for name, weights in named.items()}
        seal = json.dumps({RUN: _run_of(self.shard(block)), **digests})
        write_whole(self.shard(block), save(named, metadata={SEAL: seal}))
        sync(self.path)

    def _is_whole(self, shard: Path) -> bool:
        try:
            for point in self.points:
                read(shard, point)
        except (ValueError, OSError):
            return False
        return True


def read(shard: Path, point: Point) -> Tensor:
    """Read the models of one law from one shard.

    Raises:
        Altered: they are not what was written, or of another run.
    """
    name = tensor_name(point)
    try:
        with safe_open(shard, framework="pt") as file:
            stated, weights = json.loads(file.metadata()[SEAL]), file.get_tensor(name)
    except (SafetensorError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise Altered(str(shard), f"cannot be read ({error}); {REMEDY}") from error
    if stated.get(name) != _digest(weights) or stated.get(RUN) != _run_of(shard):
        raise Altered(str(shard), f"is not what this run has written; {REMEDY}")
    return weights


def _run_of(shard: Path) -> str:
    """The digest of the run that a shard's folder is for."""
    return hashlib.sha256((shard.parent / RECORD).read_bytes()).hexdigest()


def _digest(tensor: Tensor) -> str:
    """SHA-256 of a tensor's kind, shape and bytes."""
    digest = hashlib.sha256(str((tensor.dtype, tuple(tensor.shape))).encode())
    digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def tensor_name(point: Point) -> str:
    """The name of a tensor in a shard's file, such as unlearned-5."""
    return f"{point[0]}-{point[1]}"


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
