"""Pairs by name."""

import numpy as np
import pytest

from experiments.datasets import DataMissing, load_pair
from experiments.datasets.files import BadData
from experiments.datasets.pairs import PAIRS, domainnet_pair
from tests.experiments.datasets import made
from tests.experiments.datasets.test_embeddings import Counted


@pytest.fixture
def folder(tmp_path):
    return made.reviews(made.minilm(made.pacs(tmp_path)))


@pytest.mark.parametrize(
    ("name", "public", "private", "alignment"),
    [
        ("sketch/cartoon", "PACS sketch", "PACS cartoon", "misaligned"),
        ("art_painting/photo", "PACS art_painting", "PACS photo", "aligned"),
        ("photo/art_painting", "PACS photo", "PACS art_painting", ""),
        ("dvd/imdb", "Amazon dvd", "IMDB", "aligned"),
        ("kitchen/imdb", "Amazon kitchen", "IMDB", "misaligned"),
        ("amazon/imdb", "Amazon reviews", "IMDB", ""),
        ("amazon/imdb text", "Amazon reviews", "IMDB reviews", ""),
        ("amazon/imdb closing text", "Amazon reviews", "IMDB reviews", ""),
    ],
)
def test_names_are_public_then_private(folder, name, public, private, alignment):
    pair = load_pair(name, folder)
    assert pair.name == name
    assert pair.public.source.startswith(public)
    assert pair.private.source.startswith(private)
    assert pair.alignment == alignment
    assert pair.private.is_test.any()


def test_a_stand_in_says_for_what(folder):
    assert load_pair("sketch/cartoon", folder).stands_for == "DomainNet Quickdraw / Clipart"
    assert load_pair("amazon/imdb text", folder).stands_for == "50,000 Amazon reviews / IMDB"
    made.polarity(folder)
    assert load_pair("amazon/imdb text", folder).stands_for == ""


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_the_embedded_pair_needs_no_folder(monkeypatch, moved):
    monkeypatch.delenv("EXPUNGE_DATA", raising=False)
    pair = load_pair(f"digits+{moved}/digits")
    assert len(pair.public) == 700
    assert pair.public.source.endswith(str(moved))


def test_domainnet_is_embedded_and_kept_beside_the_images(tmp_path):
    folder = made.domainnet(tmp_path)
    pair = domainnet_pair("quickdraw", "clipart", folder, Counted())
    assert pair.public.features.shape == (9, 2)
    assert pair.public.classes == pair.private.classes
    assert np.isfinite(pair.private.features).all()
    assert len(list((folder / "embeddings").iterdir())) == 2


def test_an_unknown_name_is_refused_with_those_there_are(tmp_path):
    with pytest.raises(BadData, match="no pair 'cats/dogs'; there are sketch/cartoon"):
        load_pair("cats/dogs")
    for name in PAIRS:
        if not name.startswith("digits"):
            with pytest.raises(DataMissing, match="EXPUNGE_DATA"):
                load_pair(name, tmp_path)
