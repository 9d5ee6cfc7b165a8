"""Checksums notice any change, and renewing a few makes nothing as large as all of them."""

import sys

import pytest
import torch

from expunge.core.checksums import BLOCK, FORKS, Checksums, checksum

STATE = b"\0\1\2\3"


def columns_of(rows):
    generator = torch.Generator().manual_seed(rows)
    return [
        torch.randn(rows, 3, generator=generator),
        torch.randint(5, (rows,), generator=generator),
    ]


@pytest.mark.parametrize("rows", [0, 1, BLOCK, BLOCK + 1, BLOCK * (FORKS + 1) + 7])
def test_renewed_checksums_are_those_that_would_be_made_now(rows):
    columns = columns_of(rows + 300)
    shorter = [column[:rows] for column in columns]
    known = Checksums.of(STATE, shorter)
    assert known.blocks == -(-rows // BLOCK)
    longer = known.renewed(STATE, columns, [max(0, rows - 1), *range(rows, rows + 300)])
    assert longer == Checksums.of(STATE, columns)
    columns[0][rows // 2] += 1
    assert longer != Checksums.of(STATE, columns)
    assert longer.renewed(STATE, columns, [rows // 2]) == Checksums.of(STATE, columns)


@pytest.mark.parametrize("column", [0, 1])
def test_a_change_in_a_block_is_seen_by_who_asks_for_one_of_its_rows(column):
    columns = columns_of(1000)
    known = Checksums.of(STATE, columns)
    columns[column][300] += 1
    assert known.agree(STATE, columns, [5, 600])
    assert not known.agree(STATE, columns, [5, 511])
    assert not known.agree(b"\0\0\0\0", columns, [5])


def test_a_state_without_rows_has_one_checksum():
    known = Checksums.of(STATE, ())
    assert known.agree(STATE, (), [3, 4])
    assert not known.agree(b"", (), [3, 4])
    assert known.renewed(b"new!", (), ()).state == b"new!"


def nodes(tree):
    return {id(tree)}.union(*map(nodes, tree)) if isinstance(tree, tuple) else set()


def test_what_is_made_anew_is_a_path_of_the_tree():
    """Of 1,093 blocks, two nodes of at most 64 pointers."""
    known = Checksums(STATE)
    for block in range(70_000 // FORKS):
        known = known.with_block(block, STATE)
    changed = known.with_block(500, b"else")
    made = nodes(changed.tree) - nodes(known.tree)
    assert len(made) == known.depth == 2
    assert sum(sys.getsizeof((None,) * FORKS) for _ in made) < 2000


def test_a_lone_number_counts_by_its_bytes_whatever_its_stride():
    """As the places of one non-zero, cut out of a table of sparse rows, may lie."""
    lone = torch.as_strided(torch.tensor([5], dtype=torch.int32), (1,), (0,))
    assert checksum([lone]) == checksum([torch.tensor([5], dtype=torch.int32)])
    assert checksum([lone]) != checksum([torch.tensor([6], dtype=torch.int32)])
