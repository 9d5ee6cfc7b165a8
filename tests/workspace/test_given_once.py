"""Ids of a long table: one that is there twice is found, equal digests mislead nobody."""

from pathlib import Path

import pytest

from expunge.errors import InvalidInput
from expunge.workspace import given_once as module
from expunge.workspace.given_once import GivenOnce

BLOCKS = [["a", "b"], ["c"], ["d", "e"]]


def given(blocks):
    known = GivenOnce()
    for ids in blocks:
        known.add(ids)
    return known


def test_ids_that_are_there_once_pass_and_are_not_read_again():
    given(BLOCKS).check(Path("t.csv"), pytest.fail)  # pyright: ignore[reportArgumentType]
    given([]).check(Path("t.csv"), [])


def test_an_id_in_two_blocks_is_named():
    blocks = [*BLOCKS, ["f", "b"]]
    with pytest.raises(InvalidInput, match=r"t\.csv: id 'b' is there twice"):
        given(blocks).check(Path("t.csv"), blocks)


def test_two_ids_with_one_digest_are_two_ids(monkeypatch):
    real = module.blake2b
    monkeypatch.setattr(module, "blake2b", lambda _, **given: real(b"any", **given))
    given(BLOCKS).check(Path("t.csv"), BLOCKS)
    with pytest.raises(InvalidInput, match="'a' is there twice"):
        given([*BLOCKS, ["a"]]).check(Path("t.csv"), [*BLOCKS, ["a"]])
