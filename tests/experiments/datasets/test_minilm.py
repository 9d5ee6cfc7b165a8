"""Sentence embeddings of reviews by category."""

import pytest

from experiments.datasets.files import BadData
from experiments.datasets.minilm import amazon_minilm, imdb_minilm
from tests.experiments.datasets import made


def test_imdb_has_films_and_a_test_part(tmp_path):
    data = imdb_minilm(made.minilm(tmp_path))
    assert (len(data.train), len(data.test)) == (8, 4)
    assert data.groups[0] == "tt0000000"


def test_amazon_may_be_one_category(tmp_path):
    folder = made.minilm(tmp_path)
    assert len(amazon_minilm(None, folder)) == 12
    assert set(amazon_minilm("kitchen", folder).groups) == {"kitchen"}
    assert not amazon_minilm("kitchen", folder).is_test.any()
    with pytest.raises(BadData, match="no category 'toys'; there are any, books"):
        amazon_minilm("toys", folder)
