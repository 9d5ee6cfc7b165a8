"""Files that nobody would write on purpose, and documents with one hostile value in them."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEEP = 10_000
CONTENTS: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n",
    "list": b"[]",
    "list of objects": b"[{}]",
    "null": b"null",
    "number": b"1",
    "NaN": b"NaN",
    "text": b'"x"',
    "object": b"{}",
    "half": b'{"a',
    "deep lists": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "huge integer": b'{"delta": ' + b"9" * DEEP + b"}",
    "infinite": b'{"delta": 1e999}',
    "twice": b'{"a": 1, "a": 2}',
    "lone surrogate": b'{"\\ud800": "\\udfff"}',
    "byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": json.dumps({"delta": 1}).encode("utf-16"),
    "Latin-1": '{"é": 1}'.encode("latin-1"),
    "binary": bytes(range(256)) * 8,
    "zeros": b"\0" * 100,
}
VALUES: tuple[Any, ...] = (
    None, True, -1, 1.5, float("nan"), 10**400, 2**63, "x", "\ud800", r"$\frac{1}{$", [], {},
    [[]], [{}], {"a": 1},
)  # fmt: skip


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a document, the document's own first; of lists the first item."""
    yield path
    inner = document.items() if isinstance(document, dict) else ()
    inner = list(enumerate(document))[:1] if isinstance(document, list) else inner
    for key, value in inner:
        yield from places(value, (*path, key))


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The document with this value in that place."""
    if not path:
        return value
    other = copy.deepcopy(document)
    place = other
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return other


def no_files(folder: Path) -> dict[str, Path]:
    """Paths that cannot be read as files: a folder, a link to itself, a link to nothing."""
    (folder / "folder.csv").mkdir()
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "dangling.csv").symlink_to("nothing.csv")
    return {path.stem: path for path in folder.iterdir()} | {"missing": folder / "missing.csv"}
