"""Products of sparse rows against those of dense ones."""

import pytest
import torch
from scipy import sparse

from expunge.core.row_products import add_pull, add_whole_products, largest_of, products
from expunge.core.sparse_rows import SparseRows

ROWS, WIDTH, UNIT = 30, 12, 2.0**-10


@pytest.fixture(params=[torch.float32, torch.float64], ids=str)
def both(request):
    """The same rows, dense and sparse; two columns and two rows are empty."""
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(ROWS, WIDTH, generator=generator, dtype=request.param)
    values[torch.rand(ROWS, WIDTH, generator=generator) < 0.7] = 0
    values[:, [3, 11]] = 0
    values[[0, 9]] = 0
    numbers = values.numpy()
    return values, SparseRows.of(sparse.csr_array(numbers[i : i + 7]) for i in range(0, ROWS, 7))


def drawn(*shape, like):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(*shape, generator=generator, dtype=like.dtype)


@pytest.mark.parametrize("outputs", [1, 3])
def test_products_are_those_of_dense_rows(both, outputs):
    values, rows = both
    theta = drawn(outputs, WIDTH, like=values)
    torch.testing.assert_close(products(rows, theta), products(values, theta))


@pytest.mark.parametrize("outputs", [1, 3])
def test_pulls_add_up_as_those_of_dense_rows_and_leave_other_columns_alone(both, outputs):
    values, rows = both
    residual = drawn(ROWS, outputs, like=values)
    ours = torch.full((outputs, WIDTH), 0.5, dtype=torch.float64)
    theirs = ours.clone()
    add_pull(ours, residual, rows)
    add_pull(theirs, residual, values)
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)
    assert (ours[:, [3, 11]] == 0.5).all()


@pytest.mark.parametrize("shape", [(WIDTH, WIDTH), (WIDTH,)])
def test_whole_products_are_the_same_to_the_bit(both, shape):
    values, rows = (each.double() for each in both)
    ours, theirs = torch.ones(shape, dtype=torch.float64), torch.ones(shape, dtype=torch.float64)
    add_whole_products(ours, rows, UNIT)
    add_whole_products(theirs, values, UNIT)
    assert torch.equal(ours, theirs)
    whole = (values / UNIT).round()
    expected = whole.T @ whole if len(shape) == 2 else (whole * whole).sum(0)
    assert torch.equal(theirs, 1 + expected)


def test_the_largest_numbers_are_those_of_dense_rows(both):
    values, rows = both
    assert torch.equal(largest_of(rows), largest_of(values))
    assert largest_of(rows)[0] == 0
