"""The options of every command that reads a table: how it is written, and how large it may become.

    @reads_tables
    def predict(workspace: ..., file: ..., tables: Tables) -> None: ...

has `--max-inflated`, `--separator`, `--decimal` and `--text-encoding` on the command line.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from expunge.workspace.csv_tables import CsvForm
    from expunge.workspace.table_limits import TableLimits

__all__ = ["Tables", "reads_tables"]

OPTIONS: dict[str, tuple[Any, Any]] = {
    "max_inflated": (
        Annotated[
            int | None,
            typer.Option(min=1, help="Most bytes of a gzipped or Parquet table once read."),
        ],
        None,
    ),
    "separator": (
        Annotated[
            str, typer.Option(help="Between the cells of a CSV: one character, or the word tab.")
        ],
        ",",
    ),
    "decimal": (
        Annotated[str, typer.Option(help="In front of a CSV's fractions: a point or a comma.")],
        ".",
    ),
    "text_encoding": (
        Annotated[str, typer.Option(help="Of a CSV's text: latin-1, cp1252, utf-16 ...")],
        "utf-8",
    ),
}


@dataclass(frozen=True)
class Tables:
    """How tables are written, and how large they may become; as the options say."""

    max_inflated: int | None
    separator: str
    decimal: str
    text_encoding: str

    @property
    def form(self) -> "CsvForm":
        """How CSV files are written.

        Raises:
            InvalidInput: an option that says nothing of the kind.
        """
        from expunge.workspace.csv_tables import CsvForm

        tab = self.separator in ("tab", "\\t")
        return CsvForm("\t" if tab else self.separator, self.decimal, self.text_encoding)

    def limits(self, width: int | None = None) -> "TableLimits":
        """The usual limits, but for those that were given.

        Args:
            width: Most columns after encoding.
        """
        from expunge.workspace.table_limits import USUAL, TableLimits

        return TableLimits(width or USUAL.width, self.max_inflated or USUAL.inflated)


def reads_tables(command: Callable[..., None]) -> Callable[..., None]:
    """Put the options in the place of a command's parameter `tables`, behind all but `json`."""

    @wraps(command)
    def reading(**given: Any) -> None:
        tables = Tables(**{name: given.pop(name) for name in OPTIONS})
        command(**given, tables=tables)

    named = inspect.Parameter.KEYWORD_ONLY
    own = inspect.signature(command).parameters
    shown = [own[name].replace(kind=named) for name in own if name not in ("tables", "json")]
    shown += [
        inspect.Parameter(option, named, default=usual, annotation=kind)
        for option, (kind, usual) in OPTIONS.items()
    ]
    shown += [own[name].replace(kind=named) for name in own if name == "json"]  # the last, as ever
    vars(reading)["__signature__"] = inspect.Signature(shown)
    reading.__annotations__ = {each.name: each.annotation for each in shown}
    return reading
