"""Embeddings computed once, kept, and computed on where a run stopped."""

import sys
import types
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

from experiments.datasets import embeddings
from experiments.datasets.domainnet import domainnet
from experiments.datasets.embeddings import DINO, Timm, embedded_images
from experiments.datasets.files import BadData, DataMissing
from tests.experiments.datasets import made


@dataclass
class Counted:
    """An embedder that remembers what it was asked; its rows are the lengths of names."""

    name: str = "counted"
    asked: list = field(default_factory=list)
    fail_after: int | None = None

    def __call__(self, paths):
        if self.fail_after is not None and len(self.asked) >= self.fail_after:
            raise KeyboardInterrupt
        self.asked += paths
        return np.array([[len(path.name), len(path.parent.name)] for path in paths], np.float64)


@pytest.fixture
def images(tmp_path):
    return domainnet("clipart", made.domainnet(tmp_path))


def test_rows_follow_images_and_are_computed_once(images, tmp_path):
    embedder = Counted()
    first = embedded_images(images, tmp_path / "kept", embedder)
    assert first.features.dtype == np.float32
    assert first.features[:, 1].tolist() == [len(group) for group in images.groups]
    assert first.source == "DomainNet clipart, counted"
    np.testing.assert_array_equal(first.targets, images.targets)
    again = embedded_images(images, tmp_path / "kept", embedder)
    np.testing.assert_array_equal(first.features, again.features)
    assert len(embedder.asked) == len(images)


def test_another_embedder_or_other_images_are_computed_anew(images, tmp_path):
    embedder = Counted()
    embedded_images(images, tmp_path / "kept", embedder)
    embedded_images(images.train, tmp_path / "kept", embedder)
    other = Counted(name="other")
    embedded_images(images, tmp_path / "kept", other)
    assert len(embedder.asked) == len(images) + len(images.train)
    assert len(other.asked) == len(images)


def test_an_interrupted_run_goes_on_where_it_was(images, tmp_path, monkeypatch):
    monkeypatch.setattr(embeddings, "BLOCK", 4)
    stopped = Counted(fail_after=8)
    with pytest.raises(KeyboardInterrupt):
        embedded_images(images, tmp_path / "kept", stopped)
    rest = Counted()
    found = embedded_images(images, tmp_path / "kept", rest)
    assert len(stopped.asked) == 8
    assert len(rest.asked) == len(images) - 8
    assert len(found) == len(images)


def test_an_array_may_replace_the_embedder(images, tmp_path):
    array = np.arange(2 * len(images)).reshape(-1, 2)
    found = embedded_images(images, tmp_path / "kept", array)
    np.testing.assert_array_equal(found.features, array)
    assert not (tmp_path / "kept").exists()
    with pytest.raises(BadData, match=r"embeddings of shape \(3, 2\) for 9 images"):
        embedded_images(images, tmp_path, array[:3])


def test_timm_is_asked_for_the_named_model_without_its_classifier(images, tmp_path, monkeypatch):
    def create_model(name, pretrained, num_classes):
        assert (name, pretrained, num_classes) == (DINO, True, 0)
        return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())

    def transform(image):
        return torch.tensor(np.asarray(image.resize((8, 8)))).permute(2, 0, 1).float()

    fake = types.ModuleType("timm")
    fake.create_model = create_model
    fake.data = types.ModuleType("timm.data")
    fake.data.resolve_model_data_config = lambda _: {"input_size": (3, 224, 224)}
    fake.data.create_transform = lambda **settings: transform if settings else None
    monkeypatch.setitem(sys.modules, "timm", fake)
    monkeypatch.setitem(sys.modules, "timm.data", fake.data)
    found = embedded_images(images, tmp_path / "kept")
    assert found.source.endswith(DINO)
    assert found.features.shape == (9, 3)
    assert np.abs(found.features[:, 2] - 100).max() < 5  # the blue of this domain


def test_without_timm_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(DataMissing, match="pip install timm, or pass an embedder of your own"):
        Timm()([])
