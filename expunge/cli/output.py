"""One JSON document on stdout, or tables for people; one line of bounded length for complaints."""

import io
import json
import logging
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from expunge.accounting.json_text import JsonLimits

__all__ = [
    "MESSAGE_LENGTH",
    "QUIET",
    "Address",
    "EngineName",
    "MaxDepth",
    "MaxKeys",
    "MaxWidth",
    "Memory",
    "json_limits",
    "number",
    "one_line",
    "print_json",
    "print_unseen",
    "print_whatever_comes",
    "read_text",
    "start_logging",
    "tell",
]

MESSAGE_LENGTH: ContextVar[int] = ContextVar("message_length", default=500)
QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
LOG = logging.getLogger("expunge")
MaxKeys = Annotated[int | None, typer.Option(min=1, help="Most keys of the JSON that is read.")]
MaxWidth = Annotated[
    int | None, typer.Option(min=1, help="Most columns after encoding, one for each category.")
]
Memory = Annotated[float, typer.Option(help="GiB that rows may take at a time.")]
EngineName = Annotated[
    Literal["local", "ray"], typer.Option(help="Where passes over the rows are computed.")
]
Address = Annotated[
    str | None, typer.Option(help="Of a running Ray cluster; without it one is started here.")
]
MaxDepth = Annotated[int | None, typer.Option(min=1, max=200, help="Deepest nesting of that JSON.")]


def print_whatever_comes() -> None:
    """Let stdout and stderr write a character that they cannot encode as its escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def start_logging(*, quiet: bool, verbose: bool) -> None:
    """Send what the package logs to stderr: notices usually, progress as well, or nothing.

    Logs name files, requests by their number, and counts; never an id or a value of a record.
    """
    QUIET.set(quiet)
    LOG.handlers = [logging.StreamHandler(sys.stderr)]
    LOG.handlers[0].setFormatter(logging.Formatter("expunge: %(message)s"))
    LOG.setLevel(logging.ERROR if quiet else logging.INFO if verbose else logging.WARNING)


def tell(line: str) -> None:
    """Tell the operator something on stderr that is no error; not with --quiet."""
    LOG.warning("%s", line)


def print_json(document: object) -> None:
    """Print a document as JSON on stdout.

    Raises:
        ValueError: a NaN or an infinity got this far.
    """
    unicode = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=not unicode)
    sys.stdout.write(f"{text}\n")


def json_limits(keys: int | None, depth: int | None) -> "JsonLimits":
    """The usual limits on JSON, but for those that were given."""
    from expunge.accounting.json_text import USUAL, JsonLimits

    return JsonLimits(keys or USUAL.keys, depth or USUAL.depth)


def print_unseen(counts: dict[str, int]) -> None:
    """Say how many texts of a table are none of the categories that the model knows."""
    for name, count in counts.items():
        texts = (
            "1 text that the model does not know counts"
            if count == 1
            else (f"{count:,} texts that the model does not know count")
        )
        print(f"column {name!r}: {texts} as missing")


def number(value: float | int | None) -> str:
    """A figure for a table: five digits, and a dash for what is not known."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.5g}"


def one_line(text: str) -> str:
    """A complaint on one line; what is too long, say an id, is cut in the middle.

    >>> token = MESSAGE_LENGTH.set(20)
    >>> one_line("ids: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is unknown")
    "ids: 'aa ... unknown"
    >>> MESSAGE_LENGTH.reset(token)
    """
    line, most = " ".join(text.split()), MESSAGE_LENGTH.get()
    if len(line) <= most:
        return line
    half = (most - 3) // 2
    return f"{line[:half].rstrip()} ... {line[-half:].lstrip()}"


def read_text(path: str) -> str:
    """The file's text, which is UTF-8 whatever the terminal's is; `-` is standard input.

    Raises:
        InvalidInput: not UTF-8.
    """
    from expunge.errors import InvalidInput

    try:
        if path != "-":
            return Path(path).read_text(encoding="utf-8")
        content = getattr(sys.stdin, "buffer", sys.stdin).read()
        return content if isinstance(content, str) else content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(path, "not UTF-8 text") from error
