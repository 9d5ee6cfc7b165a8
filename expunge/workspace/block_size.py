"""How many rows of a table are read at a time, so that they keep within a budget of memory."""

import math
from pathlib import Path

from pyarrow import ArrowException, parquet

from expunge.errors import InvalidInput
from expunge.workspace.encoding import Encoding
from expunge.workspace.table_blocks import BLOCK, table_files
from expunge.workspace.tables import kind_of

__all__ = ["MEMORY", "block_rows", "rows_known"]

MEMORY = 0.5  # GiB, unless told otherwise
COLUMN = 64  # bytes of a cell as it was given, twice while a block is put together
NUMBER = 40  # of an encoded one: float32, float64 while it is made, and in products with weights
LEAST = 256


def block_rows(encoding: Encoding, memory: float, under_way: int = 1) -> int:
    """How many rows are read at a time.

    Args:
        memory: GiB for all of them.
        under_way: How many blocks are in memory at once.

    Raises:
        InvalidInput: the memory is no number of GiB.
    """
    if not 0 < memory < math.inf:
        raise InvalidInput("memory", f"{memory} is no number of GiB")
    each = COLUMN * len(encoding.rules) + NUMBER * min(encoding.width, 4096)
    return max(LEAST, min(BLOCK, int(memory * 2**30 / each / under_way)))


def rows_known(path: Path) -> int | None:
    """How many rows a table has, where its files say so: Parquet, not gzipped."""
    rows = 0
    for file in table_files(path):
        if file.suffix == ".gz" or kind_of(file) != "parquet":
            return None
        try:
            rows += parquet.read_metadata(file).num_rows
        except (ArrowException, OSError):
            return None  # whoever reads it says what is wrong
    return rows
