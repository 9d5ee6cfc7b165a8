"""Columns of chunks: dense and sparse rows there and back, and erased ones without a trace."""

import numpy as np
import pytest
import torch
from scipy import sparse

from expunge.core.sparse_rows import SparseRows
from expunge.store import pack, unpack
from expunge.unlearning.linear.chunk_columns import chunk_of, columns_in, zero_rows

ROWS = np.where(np.random.default_rng(0).random((7, 5)) < 0.5, 0, np.arange(35.0).reshape(7, 5))
TARGETS = torch.arange(7)


def columns(kind):
    features = SparseRows.of([sparse.csr_array(ROWS)]) if kind == "sparse" else None
    return {"features": features or torch.from_numpy(ROWS), "targets": TARGETS}


def filled(features):
    return features.dense() if isinstance(features, SparseRows) else features


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_columns_come_back_as_they_were(kind):
    chunk = chunk_of(columns(kind), 10)
    assert (chunk.table, chunk.first, chunk.stop) == ("rows", 10, 17)
    back = columns_in(chunk.content)
    assert isinstance(back["features"], SparseRows) == (kind == "sparse")
    np.testing.assert_array_equal(filled(back["features"]).numpy(), ROWS)
    assert torch.equal(back["targets"], TARGETS)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_erased_rows_are_zero_in_every_column(kind):
    chunk = chunk_of(columns(kind), 0)
    content = zero_rows(chunk.content, None, [2, 5])
    back, expected = columns_in(content), ROWS.copy()
    expected[[2, 5]] = 0
    np.testing.assert_array_equal(filled(back["features"]).numpy(), expected)
    assert back["targets"].tolist() == [0, 1, 0, 3, 4, 0, 6]
    numbers = [value.tobytes() for value in ROWS[[2, 5]].ravel() if value]
    assert all(number in chunk.content for number in numbers)
    assert not any(number in content for number in numbers)
    if kind == "sparse":
        assert unpack(content)["features.lengths"][[2, 5]].tolist() == [0, 0]
        assert len(unpack(content)["features.columns"]) == np.count_nonzero(expected)


@pytest.mark.parametrize("part", ["lengths", "columns", "values", "width"])
def test_a_part_of_sparse_rows_is_refused(part):
    arrays = unpack(chunk_of(columns("sparse"), 0).content)
    rest = {name: values for name, values in arrays.items() if name != f"features.{part}"}
    for wrong in (rest, arrays | {"features": ROWS}):
        with pytest.raises(ValueError, match="a part of sparse rows"):
            columns_in(pack(wrong))
