"""Images to embeddings, once: by timm's DINO ViT-S/16, or by anything that maps paths to rows.

The paper's words say DINOv2 and its code names `vit_small_patch16_224_dino`, which is DINO v1 at
224 x 224: the named one is used. What was computed is kept in safetensors, `BLOCK` images a file,
under a name that the embedder and the paths decide, so an interrupted run goes on where it was.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from experiments.datasets.files import BadData, DataMissing
from experiments.datasets.records import DataSet
from expunge.core.whole_file import write_whole

__all__ = ["DINO", "EMBEDDER", "Embedder", "Timm", "embedded_images", "named_embedder"]

EMBEDDER = "EXPUNGE_EMBEDDER"  # the environment's name for an embedder, module:object
DINO = "vit_small_patch16_224_dino"
BLOCK = 2048  # images of a file
BATCH = 64  # images at a time


class Embedder(Protocol):
    """`name` must change when the numbers do: it decides the name of the kept file."""

    @property
    def name(self) -> str: ...

    def __call__(self, paths: Sequence[Path]) -> np.ndarray: ...


@dataclass(frozen=True)
class Timm:
    """Any timm model without its classifier, with the transform it was trained for.

    Args:
        name: As timm spells it; weights are fetched by timm.
    """

    name: str = DINO
    device: str = "cpu"

    @cached_property
    def _loaded(self) -> tuple[torch.nn.Module, Callable]:
        try:
            import timm  # type: ignore
            import timm.data  # type: ignore
        except ImportError as error:
            raise DataMissing(
                "timm is not installed: pip install timm, or pass an embedder of your own "
                "(docs/alu.md)"
            ) from error
        model = timm.create_model(self.name, pretrained=True, num_classes=0)
        settings = timm.data.resolve_model_data_config(model)
        return model.eval().to(self.device), timm.data.create_transform(**settings)

    @torch.no_grad()
    def __call__(self, paths: Sequence[Path]) -> np.ndarray:
        from PIL import Image

        model, transform = self._loaded
        images = []
        for path in paths:
            with Image.open(path) as image:
                images.append(transform(image.convert("RGB")))
        return model(torch.stack(images).to(self.device)).float().cpu().numpy()


def named_embedder() -> Embedder | None:
    """The embedder that the environment names as module:object, or None.

    Raises:
        BadData: there is no such module or object.
    """
    named = os.environ.get(EMBEDDER)
    if not named:
        return None
    module, _, name = named.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadData(f"{EMBEDDER}={named}: no such embedder; say module:object") from error


def embedded_images(
    images: DataSet, cache: Path, embed: Embedder | np.ndarray | None = None
) -> DataSet:
    """The same rows with embeddings in place of paths.

    Args:
        cache: A folder for what was computed; made if it is not there.
        embed: timm's DINO if None; an array holds one row for each image already.
    """
    if isinstance(embed, np.ndarray):
        if embed.ndim != 2 or len(embed) != len(images):
            raise BadData(f"embeddings of shape {embed.shape} for {len(images)} images")
        return replace(images, features=embed.astype(np.float32))
    embedder = Timm() if embed is None else embed
    cache.mkdir(parents=True, exist_ok=True)
    parts = [
        _kept(images.features[start : start + BLOCK].tolist(), cache, embedder)
        for start in range(0, len(images), BLOCK)
    ]
    source = f"{images.source}, {embedder.name}"
    return replace(images, source=source, features=np.concatenate(parts))


def _kept(paths: list[Path], cache: Path, embed: Embedder) -> np.ndarray:
    from safetensors.numpy import load_file, save

    said = "\n".join([embed.name, *("/".join(path.parts[-3:]) for path in paths)])
    path = cache / f"{hashlib.sha256(said.encode()).hexdigest()[:16]}.safetensors"
    if not path.is_file():
        rows = [embed(paths[start : start + BATCH]) for start in range(0, len(paths), BATCH)]
        write_whole(path, save({"embeddings": np.concatenate(rows).astype(np.float32)}))
    found = load_file(path).get("embeddings")
    if found is None or len(found) != len(paths):
        raise BadData(f"{path}: not {len(paths)} embeddings; remove it to compute them again")
    return found
