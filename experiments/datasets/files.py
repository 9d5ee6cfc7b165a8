"""Files of data sets: where they are looked for, how they are opened, what is said when absent."""

import csv
import gzip
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

__all__ = ["VARIABLE", "BadData", "DataMissing", "arrays", "data_folder", "find", "rows"]

VARIABLE = "EXPUNGE_DATA"
OPENERS = {".xz": lzma.open, ".gz": gzip.open}
LONGEST = 2**24  # characters of a field


class DataMissing(FileNotFoundError):
    """A file that the experiment needs is not there; the message says what to do."""


class BadData(ValueError):
    """A file is there and is not what its name says."""


def data_folder(folder: Path | str | None, what: str) -> Path:
    """The given folder, or the environment's.

    Raises:
        DataMissing: neither is given.
    """
    if folder is not None:
        return Path(folder)
    named = os.environ.get(VARIABLE)
    if not named:
        raise DataMissing(f"{VARIABLE} is not set; set it to a folder with {what}")
    return Path(named)


def find(folder: Path | str | None, names: Sequence[str], layout: str) -> Path:
    """The first of these paths that exists in the folder.

    Args:
        layout: What the folder should hold; part of the message.

    Raises:
        DataMissing: none does.
    """
    place = data_folder(folder, layout)
    for name in names:
        if (place / name).exists():
            return place / name
    raise DataMissing(
        f"{place}: no {' or '.join(names)}; set {VARIABLE} to a folder with {layout} (docs/data.md)"
    )


def rows(path: Path, columns: Sequence[str] | None = None) -> Iterator[dict[str, str]]:
    """Of a CSV file in UTF-8, plain, .gz or .xz.

    Args:
        columns: Names that its first line must hold; None where the first line is a row, and
            columns are called "0", "1", ...

    Raises:
        BadData: another first line, a row of another width, or half a file.
    """
    usual = csv.field_size_limit(LONGEST)  # of the whole process: put back at the end
    try:
        with _opened(path) as file:
            lines = csv.reader(file)
            header = None
            if columns is not None:
                header = next(lines, [])
                missing = [name for name in columns if name not in header]
                if missing:
                    raise BadData(f"{path}: no column {missing[0]!r}; it has {', '.join(header)}")
            for line in lines:
                header = header or [str(number) for number in range(len(line))]
                if len(line) != len(header):
                    raise BadData(
                        f"{path}, line {lines.line_num}: {len(line)} fields, expected {len(header)}"
                    )
                yield dict(zip(header, line, strict=True))
    except (lzma.LZMAError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadData(f"{path}: not a whole compressed file; fetch it again") from error
    except UnicodeDecodeError as error:
        raise BadData(f"{path}: not UTF-8 text") from error
    finally:
        csv.field_size_limit(usual)


def arrays(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Named arrays of an .npz file, never pickled objects.

    Raises:
        BadData: something else, or a name that is not there.
    """
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            missing = [name for name in names if name not in file.files]
            if missing:
                raise BadData(f"{path}: no array {missing[0]!r}; it has {', '.join(file.files)}")
            return {name: file[name] for name in names}
    except BadData:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        raise BadData(f"{path}: not a whole .npz file of plain arrays; fetch it again") from error


def _opened(path: Path) -> TextIO:
    opener = OPENERS.get(path.suffix, open)
    return opener(path, "rt", encoding="utf-8", newline="")
