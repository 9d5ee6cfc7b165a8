"""Rows of which most numbers are zero, kept as their non-zeros (CSR) and indexed like a tensor.

    rows[start:stop], rows[places], rows[mask]     rows of the same kind
    rows[places] = 0                               erases: of these rows nothing is left

They lie in blocks with arrays of their own, so that what an erasure costs does not depend on how
many rows there are. The arrays of before are overwritten where the erased rows were. Tables that
share blocks see each other's erasures (`joined`).

Whatever is handed in is brought to one form: columns in order, none twice, and no zero stored, so
that equal rows have equal bits.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from expunge.errors import InvalidInput

__all__ = ["BLOCK", "SparseRows", "canonical", "join_rows", "memory_of"]

BLOCK = 2048  # rows; passes read 512 at a time
Csr = Any  # sparse.csr_array, of which type checkers know little


class _Block:
    """Some rows, in arrays that an erasure replaces."""

    def __init__(self, matrix: Csr) -> None:
        self.matrix = matrix


class SparseRows:
    """Rows kept as their non-zeros, on the CPU.

    Args:
        blocks: In order; one at least.
    """

    def __init__(self, blocks: Sequence[_Block]) -> None:
        self._blocks = list(blocks)
        counts = [each.matrix.shape[0] for each in blocks]
        self._starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        first = self._blocks[0].matrix
        self.shape = torch.Size((int(self._starts[-1]), int(first.shape[1])))
        self.dtype: torch.dtype = torch.from_numpy(first.data[:0]).dtype
        self.device = torch.device("cpu")

    @classmethod
    def of(cls, parts: Iterable[Any]) -> "SparseRows":
        """Build a table of CSR matrices of one width, each with arrays that nobody else holds."""
        return cls([_Block(_narrow(sparse.csr_array(part))) for part in parts])

    @classmethod
    def of_arrays(cls, lengths: np.ndarray, columns: np.ndarray, values: np.ndarray, width: int):
        """Build a table of what `arrays` made of it.

        Raises:
            ValueError: the arrays are not those of such a table.
        """
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        if not starts[-1] == len(columns) == len(values) or (lengths < 0).any():
            raise ValueError("sparse rows do not have as many numbers as they say")
        matrix = sparse.csr_array((values, columns, starts), shape=(len(lengths), width))
        matrix.check_format(full_check=True)
        if not matrix.has_canonical_format or (values == 0).any():
            raise ValueError("sparse rows are not in their one form")
        return cls.of([matrix])

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def width(self) -> int:
        return self.shape[1]

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in memory_of(self))

    @property
    def matrix(self) -> Csr:
        """All rows as one matrix; a copy where there are several blocks."""
        return self._stretch(0, len(self))

    def arrays(self) -> dict[str, np.ndarray]:
        """How many non-zeros each row has, and their columns and values."""
        whole = self.matrix
        lengths = np.diff(whole.indptr).astype(np.int64)
        return {"lengths": lengths, "columns": whole.indices, "values": whole.data}

    def __getitem__(self, index: Any) -> "SparseRows":
        if isinstance(index, slice) and index.step in (None, 1):
            start, stop, _ = index.indices(len(self))
            return SparseRows([_Block(self._stretch(start, max(start, stop)))])
        return SparseRows([_Block(self._gathered(self._places(index)))])

    def index_select(self, dimension: int, places: Tensor) -> "SparseRows":
        """The rows at these places, as of a tensor."""
        assert dimension == 0
        return self[places]

    def __setitem__(self, index: Any, value: "SparseRows | float") -> None:
        """Erase rows with 0, or put others into their places."""
        places = self._places(index)
        numbers = self._holders(places)
        for number in np.unique(numbers).tolist():
            at = np.flatnonzero(numbers == number)
            block = self._blocks[number]
            if isinstance(value, SparseRows):
                rows = value._gathered(at).astype(block.matrix.dtype)
            else:
                assert value == 0
                rows = sparse.csr_array((len(at), self.width), dtype=block.matrix.dtype)
            local = places[at] - self._starts[number]
            block.matrix, before = _with_rows(block.matrix, local, rows), block.matrix
            _overwrite(before, local)

    def __deepcopy__(self, memo: dict[int, Any]) -> "SparseRows":
        return self.clone()

    def clone(self) -> "SparseRows":
        """The same rows in memory of their own."""
        return SparseRows([_Block(each.matrix.copy()) for each in self._blocks])

    def detach(self) -> "SparseRows":
        """As of a tensor: the same rows."""
        return self

    def to(self, what: Any) -> "SparseRows":
        """The rows in another precision, or in that of other rows.

        Raises:
            InvalidInput: a device that is not the CPU.
        """
        if isinstance(what, Tensor | SparseRows):
            return self.to(what.dtype)
        if not isinstance(what, torch.dtype):
            if torch.device(what).type != "cpu":
                raise InvalidInput("device", f"{what}: sparse rows lie on the CPU; take 'cpu'")
            return self
        if what == self.dtype:
            return self
        kind = torch.empty(0, dtype=what).numpy().dtype
        return SparseRows([_Block(each.matrix.astype(kind)) for each in self._blocks])

    def double(self) -> "SparseRows":
        return self.to(torch.float64)

    def cpu(self) -> "SparseRows":
        return self

    def dense(self) -> Tensor:
        """The rows with their zeros."""
        return torch.from_numpy(self.matrix.toarray())

    def largest(self) -> Tensor:
        """The largest |number| of each row: (rows,)."""
        whole = self.matrix
        return torch.from_numpy(abs(whole).max(axis=1).toarray().ravel())

    def joined(self, more: "SparseRows") -> "SparseRows":
        """These rows and others after them, in the same memory as before."""
        return SparseRows([*self._blocks, *more.to(self)._blocks])

    def blocks(self) -> Iterator[Csr]:
        """The rows, a block at a time."""
        return (each.matrix for each in self._blocks)

    def _places(self, index: Any) -> np.ndarray:
        places = np.arange(len(self))[index] if isinstance(index, slice) else np.asarray(index)
        if places.dtype == bool:
            places = np.flatnonzero(places)
        places = places.astype(np.int64).reshape(-1)
        if len(places) and not -len(self) <= places.min() <= places.max() < len(self):
            raise IndexError(f"no row {places.max()} of {len(self)}")
        return np.where(places < 0, places + len(self), places)

    def _holders(self, places: np.ndarray) -> np.ndarray:
        """The numbers of the blocks that hold these rows."""
        return np.searchsorted(self._starts[1:], places, side="right")

    def _stretch(self, start: int, stop: int) -> Csr:
        parts = []
        if start < stop:
            first, last = self._holders(np.array([start, stop - 1])).tolist()
            for number in range(first, last + 1):
                base, matrix = int(self._starts[number]), self._blocks[number].matrix
                parts.append(_view(matrix, max(0, start - base), stop - base))
        if not parts:
            return _view(self._blocks[0].matrix, 0, 0)
        return parts[0] if len(parts) == 1 else _stacked(parts)

    def _gathered(self, places: np.ndarray) -> Csr:
        numbers = self._holders(places)
        if not len(places):
            return self._stretch(0, 0)
        parts, order = [], []
        for number in np.unique(numbers).tolist():
            at = np.flatnonzero(numbers == number)
            parts.append(self._blocks[number].matrix[places[at] - self._starts[number]])
            order.append(at)
        if len(parts) == 1:
            return parts[0]
        together = np.concatenate(order)
        if (np.diff(together) > 0).all():
            return _stacked(parts)
        return _stacked(parts)[np.argsort(together)]


def canonical(rows: Any) -> Csr:
    """The rows in their one form, in memory of their own."""
    matrix = sparse.csr_array(rows, copy=True)
    matrix.sum_duplicates()  # which sorts
    matrix.eliminate_zeros()
    return _narrow(matrix)


def join_rows(parts: Sequence[Any]) -> Any:
    """The rows of all parts, one after another; the first one's kind is that of all."""
    if isinstance(parts[0], SparseRows):
        whole = parts[0]
        for more in parts[1:]:
            whole = whole.joined(more)
        return whole
    return torch.cat([parts[0], *(more.to(parts[0]) for more in parts[1:])])


def memory_of(values: Any) -> Iterator[Tensor]:
    """The tensors in which values lie."""
    if not isinstance(values, SparseRows):
        yield values
        return
    for matrix in values.blocks():
        yield from (torch.from_numpy(part) for part in (matrix.indptr, matrix.indices, matrix.data))


def _narrow(matrix: Csr) -> Csr:
    """The matrix with places of four bytes, where they suffice."""
    if max(matrix.shape[1], matrix.nnz) < 2**31:
        matrix.indices = matrix.indices.astype(np.int32, copy=False)
        matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
    return matrix


def _view(matrix: Csr, start: int, stop: int) -> Csr:
    """A stretch of rows in the same memory."""
    bounds = matrix.indptr[start : stop + 1]
    first, last = (int(bounds[0]), int(bounds[-1]))
    held = slice(first, last)
    return sparse.csr_array(
        (matrix.data[held], matrix.indices[held], bounds - first),
        shape=(len(bounds) - 1, matrix.shape[1]),
    )


def _stacked(parts: Sequence[Csr]) -> Csr:
    return _narrow(sparse.csr_array(sparse.vstack(parts, format="csr")))


def _with_rows(matrix: Csr, places: np.ndarray, rows: Csr) -> Csr:
    """The matrix with these rows in these places, in memory of its own."""
    order = np.arange(matrix.shape[0])
    order[places] = len(order) + np.arange(len(places))
    return _narrow(sparse.csr_array(_stacked([matrix, rows])[order]))


def _overwrite(matrix: Csr, places: np.ndarray) -> None:
    """Overwrite what these rows hold with zeros, for whoever looks at memory."""
    for place in places.tolist():
        held = slice(int(matrix.indptr[place]), int(matrix.indptr[place + 1]))
        matrix.data[held] = 0
        matrix.indices[held] = 0
