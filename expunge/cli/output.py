"""One JSON document on stdout, or tables for people; files appear whole or not at all."""

import errno
import json
import os
import sys
import tempfile
from pathlib import Path

__all__ = ["number", "print_json", "read_text", "write_whole"]


def print_json(document: object) -> None:
    """Raises: ValueError: a NaN or an infinity got this far."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n")


def number(value: float | int | None) -> str:
    """A figure for a table: five digits, and a dash for what is not known."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.5g}"


def read_text(path: str) -> str:
    """The file's text; `-` is standard input.

    Raises:
        InvalidInput: not UTF-8.
    """
    from expunge.accounting.refusal import InvalidInput

    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(path, "not UTF-8 text") from error


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the target, then rename: an interrupted run leaves no half file."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", str(path))
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)  # as any other file; temporary ones are private
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
