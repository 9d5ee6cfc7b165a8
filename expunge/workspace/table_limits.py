"""How large a table may become when it is read: bytes after inflation, columns after encoding.

A gzipped or Parquet file of kilobytes can hold gigabytes, and thirty columns of a thousand texts
become thirty thousand columns of numbers, whose solver takes minutes and gigabytes.
"""

import gzip
import io
from dataclasses import dataclass
from pathlib import Path

from expunge.errors import InvalidInput

__all__ = ["FEWEST", "OWN", "USUAL", "TableLimits", "check_width", "inflate"]

BLOCK = 1 << 20  # bytes inflated at a time
FEWEST = (
    8  # private rows, if no row of a table can be read, that are taken for a mistake of its maker
)


@dataclass(frozen=True)
class TableLimits:
    """How large a table may become.

    Args:
        width: Columns after encoding: one for a number, one for each text of a category.
        inflated: Bytes of a gzipped or Parquet file once it is read.
    """

    width: int = 5000
    inflated: int = 4 << 30

    def check_size(self, path: Path, size: int) -> None:
        """Refuse a table that is too large.

        Raises:
            InvalidInput: it is.
        """
        if size > self.inflated:
            raise InvalidInput(
                str(path),
                f"holds more than {self.inflated:,} bytes when it is read; "
                "--max-inflated raises the limit",
            )


USUAL = TableLimits()
OWN = TableLimits(inflated=1 << 62)  # what a workspace wrote may be as large as it is


def check_width(path: Path, widths: dict[str, int], limits: TableLimits) -> None:
    """Refuse an encoding that is too wide.

    Raises:
        InvalidInput: it is; the widest column is named.
    """
    total = sum(widths.values())
    if total > limits.width:
        widest = max(widths, key=lambda name: widths[name])
        raise InvalidInput(
            str(path),
            f"the columns become {total:,}, most of them ({widths[widest]:,}) from {widest!r}: "
            f"leave some out with --drop, or raise --max-width from {limits.width:,}",
        )


def inflate(path: Path, content: bytes, limits: TableLimits) -> bytes:
    """The content of a gzipped file.

    Raises:
        InvalidInput: it is too large.
        OSError, EOFError, zlib.error: it is not gzipped, or damaged.
    """
    inflated = io.BytesIO()
    with gzip.open(io.BytesIO(content)) as file:
        while block := file.read(BLOCK):
            limits.check_size(path, inflated.tell() + len(block))
            inflated.write(block)
    return inflated.getvalue()
