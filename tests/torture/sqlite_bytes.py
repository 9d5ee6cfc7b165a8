"""Bytes of a SQLite file that hold nothing: which they are, and why a flip of them is harmless.

Follows the file format (sqlite.org/fileformat2.html): the header, the pages of trees with the gap
between pointers and cells, free blocks in it, tails of overflow pages, and free pages.
"""

from collections.abc import Iterator

__all__ = ["GAP", "harmless_bytes"]

GAP = "unallocated space within a page"
FREE = "a free page"
TAIL = "padding after the end of a long value"
SEPARATOR = "a key between two pages of a tree, which still separates them"
HEADER = {  # fields that no reader of the rows depends on; those not named here are not harmless
    range(18, 20): "header: file format version",
    range(24, 28): "header: change counter",
    range(28, 32): "header: size in pages, where the change counter makes it void",
    range(36, 40): "header: number of free pages",
    range(40, 44): "header: schema cookie",
    range(44, 48): "header: schema format",
    range(48, 52): "header: suggested cache size",
    range(60, 64): "header: user version",
    range(68, 72): "header: application id",
    range(72, 92): "header: reserved for expansion",
    range(92, 96): "header: version-valid-for",
    range(96, 100): "header: version of the library",
}
LEAF_TABLE, INNER_TABLE, LEAF_INDEX, INNER_INDEX = 13, 5, 10, 2


class _File:
    """A SQLite file, read page by page."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.size = int.from_bytes(content[16:18]) or 1
        self.size = 65536 if self.size == 1 else self.size
        self.usable = self.size - content[20]
        self.pages = len(content) // self.size

    def number(self, place: int, width: int = 4) -> int:
        return int.from_bytes(self.content[place : place + width])

    def varint(self, place: int) -> tuple[int, int]:
        """A number of variable length, and how many bytes it takes."""
        value = 0
        for taken in range(8):
            byte = self.content[place + taken]
            value = value << 7 | byte & 127
            if byte < 128:
                return value, taken + 1
        return value << 8 | self.content[place + 8], 9

    def free_pages(self) -> Iterator[int]:
        trunk = self.number(32)
        while trunk:
            start = (trunk - 1) * self.size
            yield trunk
            for place in range(self.number(start + 4)):
                yield self.number(start + 8 + 4 * place)
            trunk = self.number(start)

    def local_size(self, payload: int, kind: int) -> int:
        """How much of a cell's payload lies in its page."""
        most = self.usable - 35 if kind == LEAF_TABLE else (self.usable - 12) * 64 // 255 - 23
        if payload <= most:
            return payload
        least = (self.usable - 12) * 32 // 255 - 23
        kept = least + (payload - least) % (self.usable - 4)
        return kept if kept <= most else least


def harmless_bytes(content: bytes) -> dict[int, str]:
    """Places of bytes that hold nothing, with the reason."""
    file, reasons = _File(content), {}
    for places, reason in HEADER.items():
        reasons |= dict.fromkeys(places, reason)
    free = set(file.free_pages())
    for page in free:
        start = (page - 1) * file.size
        reasons |= dict.fromkeys(range(start, start + file.size), FREE)
    for page in range(1, file.pages + 1):
        if page not in free and _kind(file, page) is not None:
            reasons |= _within(file, page)
    return reasons


def _kind(file: _File, page: int) -> int | None:
    """The kind of a page of a tree; None for others, such as overflow pages."""
    kind = file.content[(page - 1) * file.size + (100 if page == 1 else 0)]
    return kind if kind in (LEAF_TABLE, INNER_TABLE, LEAF_INDEX, INNER_INDEX) else None


def _within(file: _File, page: int) -> dict[int, str]:
    start = (page - 1) * file.size
    head = start + (100 if page == 1 else 0)
    kind = file.content[head]
    cells = file.number(head + 3, 2)
    pointers = head + (12 if kind in (INNER_TABLE, INNER_INDEX) else 8)
    first = start + (file.number(head + 5, 2) or 65536)
    reasons = dict.fromkeys(range(pointers + 2 * cells, first), GAP)
    block = file.number(head + 1, 2)
    while block:
        place = start + block
        reasons |= dict.fromkeys(range(place + 4, place + file.number(place + 2, 2)), GAP)
        block = file.number(place, 2)
    for cell in range(cells):
        reasons |= _cell(file, start + file.number(pointers + 2 * cell, 2), kind)
    return reasons


def _cell(file: _File, place: int, kind: int) -> dict[int, str]:
    """What of a cell holds nothing: a separator of pages, and the tail of its last page."""
    if kind == INNER_TABLE:
        _, taken = file.varint(place + 4)
        return dict.fromkeys(range(place + 4, place + 4 + taken), SEPARATOR)
    place += 4 if kind == INNER_INDEX else 0
    payload, taken = file.varint(place)
    place += taken
    place += file.varint(place)[1] if kind == LEAF_TABLE else 0
    local = file.local_size(payload, kind)
    if local == payload:
        return {}
    page, left = file.number(place + local), payload - local
    while left > file.usable - 4:
        page, left = file.number((page - 1) * file.size), left - (file.usable - 4)
    start = (page - 1) * file.size
    return dict.fromkeys(range(start + 4 + left, start + file.size), TAIL)
