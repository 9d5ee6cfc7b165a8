"""One JSON document on stdout, or tables for people."""

import json
import sys
from pathlib import Path

__all__ = ["number", "print_json", "read_text"]


def print_json(document: object) -> None:
    """Print a document as JSON on stdout.

    Raises:
        ValueError: a NaN or an infinity got this far.
    """
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
    from expunge.errors import InvalidInput

    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(path, "not UTF-8 text") from error
