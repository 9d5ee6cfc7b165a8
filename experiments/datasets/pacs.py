"""PACS: 9,991 images of four domains and seven classes, as embeddings of 384 numbers.

One .npz with `x` (rows, 384), `y`, `domain`, `is_test`, `class_names` and `domain_names`. The
embedder (EfficientNet-Lite0, ImageNet, then a fixed random projection) never saw PACS.
"""

from pathlib import Path

import numpy as np

from experiments.datasets.files import BadData, arrays, find
from experiments.datasets.records import DataSet

__all__ = ["pacs"]

NAME = "pacs_effnetlite0_rp384.npz"
ARRAYS = ["x", "y", "domain", "is_test", "class_names", "domain_names"]


def pacs(domain: str, folder: Path | None = None) -> DataSet:
    """One of art_painting, cartoon, photo, sketch."""
    path = find(folder, [f"pacs/{NAME}", NAME], f"pacs/{NAME}")
    found = arrays(path, ARRAYS)
    domains = found["domain_names"].tolist()
    if domain not in domains:
        raise BadData(f"{path}: no domain {domain!r}; there are {', '.join(domains)}")
    mine = found["domain"] == domains.index(domain)
    return DataSet(
        f"PACS {domain}, EfficientNet-Lite0",
        found["x"][mine].astype(np.float32),
        found["y"][mine].astype(np.int64),
        tuple(found["class_names"].tolist()),
        found["is_test"][mine],
    )
