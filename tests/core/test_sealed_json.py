"""JSON with its own seal: it comes back, and no flipped bit does."""

import json
import math

import pytest

from expunge.core.sealed_json import read_sealed_json, sealed_json
from expunge.errors import Altered

DOCUMENT = {"model": 3, "epsilon": math.inf, "text": "ä\n", "curve": [[0.1, 1], [None, True]]}


def test_what_was_sealed_comes_back_and_is_plain_json(tmp_path):
    path = tmp_path / "audit.json"
    path.write_bytes(sealed_json(DOCUMENT))
    assert read_sealed_json(path, "make it again") == DOCUMENT
    assert json.loads(path.read_text()).keys() == DOCUMENT.keys() | {"seal"}


def test_any_flipped_bit_is_refused_by_the_files_name(tmp_path):
    path, content = tmp_path / "audit.json", sealed_json(DOCUMENT)
    for place in range(8 * len(content)):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        with pytest.raises(Altered, match=r"audit\.json: .*make it again"):
            read_sealed_json(path, "make it again")


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"3", b"{}", b'{"seal": 1}', b"[" * 100_000, b'{"model": 3}', b"\xff\xfe"],
)
def test_what_was_never_sealed_is_refused(tmp_path, content):
    path = tmp_path / "audit.json"
    path.write_bytes(content)
    with pytest.raises(Altered, match="its seal does not fit"):
        read_sealed_json(path, "make it again")


def test_a_file_that_is_not_there_is_not_called_altered(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_sealed_json(tmp_path / "nothing.json", "make it again")
