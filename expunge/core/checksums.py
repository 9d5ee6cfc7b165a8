"""Checksums of what is stored, to notice accidental changes: one of the state, others of blocks.

A block is 256 records. A request reads and renews the blocks of its own rows alone, and the new
checksums share the others with those of before: they lie in a tree, of which a path is made anew.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from expunge.core.sparse_rows import SparseRows, memory_of

__all__ = ["Checksums", "RowsFrom", "checksum"]

BLOCK = 256  # records that share a checksum
FORKS = 64  # of every node of the tree
Rows = Tensor | SparseRows
Node = Any  # a checksum, or a tuple of nodes


@dataclass(frozen=True)
class RowsFrom:
    """A column of some of the records: its first row is that of the record with this number."""

    values: Rows
    first: int

    def __len__(self) -> int:
        return self.first + len(self.values)

    def __getitem__(self, rows: slice) -> Rows:
        return self.values[max(0, rows.start - self.first) : max(0, rows.stop - self.first)]


Column = Rows | RowsFrom


@dataclass(frozen=True)
class Checksums:
    """A checksum of the state, and one for each block of records.

    Args:
        state: Of all that has no row for each record.
        blocks: How many there are.
        tree: Their checksums, in order.
        depth: How many nodes lie above each.
    """

    state: bytes
    blocks: int = 0
    tree: Node = ()
    depth: int = 1

    @classmethod
    def of(cls, state: bytes, columns: Sequence[Column]) -> "Checksums":
        """The checksums of these columns, a row for each record; of the state alone without any."""
        rows = max(map(len, columns), default=0)
        return cls(state).renewed(state, columns, range(0, rows, BLOCK))

    def renewed(self, state: bytes, columns: Sequence[Column], rows: Iterable[int]) -> "Checksums":
        """The same with new ones for the state and for the blocks that hold these rows.

        Args:
            rows: All that joined since must be among them.
        """
        made = replace(self, state=state)
        for block in sorted({row // BLOCK for row in rows}):
            made = made.with_block(block, _of_block(columns, block))
        return made

    def agree(self, state: bytes, columns: Sequence[Column], rows: Iterable[int]) -> bool:
        """Whether the state and the blocks of these rows are as they were."""
        blocks = {row // BLOCK for row in rows} if columns else set()
        same = (self[block] == _of_block(columns, block) for block in blocks)
        return self.state == state and all(same)

    def __getitem__(self, block: int) -> bytes:
        node = self.tree
        for level in reversed(range(self.depth)):
            node = node[block // FORKS**level % FORKS]
        return node

    def with_block(self, block: int, value: bytes) -> "Checksums":
        """With this checksum, of a block that is there or of the next one."""
        tree, depth = self.tree, self.depth
        if block == FORKS**depth:
            tree, depth = (tree,), depth + 1
        tree = _put(tree, depth - 1, block, value)
        return replace(self, tree=tree, depth=depth, blocks=max(self.blocks, block + 1))


def _put(node: Node, level: int, block: int, value: bytes) -> Node:
    place = block // FORKS**level % FORKS
    before = node[place] if place < len(node) else ()
    new = value if level == 0 else _put(before, level - 1, block, value)
    return (*node[:place], new, *node[place + 1 :])


def _of_block(columns: Iterable[Column], block: int) -> bytes:
    rows = slice(block * BLOCK, (block + 1) * BLOCK)
    return checksum(column[rows] for column in columns)


def checksum(values: Iterable[Rows]) -> bytes:
    """CRC-32 of the bytes of these values."""
    value = 0
    for tensor in chain.from_iterable(map(memory_of, values)):
        laid = tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        flat = laid.flatten().view(torch.uint8)  # a lone number may come with any stride
        value = zlib.crc32(flat.numpy().data, value)
    return value.to_bytes(4, "big")
