"""PACS embeddings by domain."""

import numpy as np
import pytest

from experiments.datasets.files import BadData, DataMissing
from experiments.datasets.pacs import pacs
from tests.experiments.datasets import made


def test_a_domain_has_its_own_rows(tmp_path):
    data = pacs("sketch", made.pacs(tmp_path))
    assert data.features[:, 0].tolist() == [3, 7, 11, 15]
    assert data.features.dtype == np.float32
    assert data.classes == ("dog", "cat")
    assert data.is_test.tolist() == [False, False, False, True]
    assert data.targets.tolist() == [0, 1, 0, 1]


def test_the_file_may_lie_in_the_folder_itself(tmp_path):
    assert len(pacs("photo", made.pacs(tmp_path) / "pacs")) == 4


def test_another_domain_and_an_empty_folder_are_refused(tmp_path):
    with pytest.raises(DataMissing, match=r"no pacs/pacs_effnetlite0_rp384\.npz"):
        pacs("sketch", tmp_path)
    with pytest.raises(BadData, match="no domain 'clipart'; there are art_painting, cartoon"):
        pacs("clipart", made.pacs(tmp_path))
