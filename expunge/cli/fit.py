"""`expunge fit WORKSPACE`: learn from your own tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from expunge.cli.output import Address, EngineName, MaxWidth, print_json
from expunge.cli.stages import notices, stages
from expunge.cli.status import show, show_understood
from expunge.cli.table_options import Tables, reads_tables
from expunge.cli.unfinished import may_stay_unfinished
from expunge.unlearning.strategy import strategy_names

if TYPE_CHECKING:
    from expunge.workspace.fit_again import Forgotten

__all__ = ["fit"]


@reads_tables
def fit(
    workspace: Annotated[Path, typer.Argument(help="Folder to make.")],
    private: Annotated[
        Path, typer.Option(help="Records that may be deleted: CSV or Parquet, or a folder of them.")
    ],
    id: Annotated[str, typer.Option(help="Column of record ids.")],  # noqa: A002
    label: Annotated[str, typer.Option(help="Column to predict.")],
    tables: Tables,
    public: Annotated[
        Path | None, typer.Option(help="Records that are never deleted; fits the encoding.")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Epsilon of every certificate.")] = 1.0,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Delta of every certificate; by default 1e-5 or 1/(10 n), whichever is less."
        ),
    ] = None,
    strategy: Annotated[
        str, typer.Option(help=f"auto, {', '.join(strategy_names('linear'))}.")
    ] = "auto",
    observer: Annotated[
        Literal["final", "all"],
        typer.Option(
            help="final sees only the model after deletion; all sees earlier models as well."
        ),
    ] = "final",
    l2: Annotated[
        str,
        typer.Option(help="Ridge on every coordinate: a number, or public to have it chosen."),
    ] = "1e-3",
    row_norm: Annotated[
        str | None, typer.Option(help="Norm that rows are scaled down to: a number, or public.")
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(help="All labels, separated by commas; by default the public ones."),
    ] = None,
    encoding: Annotated[
        Path | None, typer.Option(help="JSON with scales and categories that you declare.")
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(help="JSON or TOML with ranges and categories of columns that you declare."),
    ] = None,
    features: Annotated[
        str,
        typer.Option(
            help="linear: columns as they are. trees: leaves of trees, public ones'. text: the "
            "words of a column, hashed."
        ),
    ] = "linear",
    text_column: Annotated[
        list[str] | None,
        typer.Option(help="A column whose words count; the only one of texts by default."),
    ] = None,
    text_width: Annotated[
        int, typer.Option(help="How many numbers the words of a column become.", min=2, max=2**18)
    ] = 65_536,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out.")] = None,
    task: Annotated[Literal["classification", "regression"], typer.Option()] = "classification",
    target_norm: Annotated[
        float | None, typer.Option(help="Largest |label| of a regression.")
    ] = None,
    unreleased: Annotated[
        bool, typer.Option("--unreleased", help="The fitted model is never handed out.")
    ] = False,
    adaptive_requests: Annotated[
        bool,
        typer.Option(
            "--adaptive-requests",
            help="Requests may depend on released models: count every model, or refuse.",
        ),
    ] = False,
    capacity: Annotated[
        float | None,
        typer.Option(help="Share of private records that may go under langevin; 0.1 by default."),
    ] = None,
    max_width: MaxWidth = None,
    memory: Annotated[
        float, typer.Option(help="GiB that may grow with the rows; the others stay on disk.")
    ] = 0.5,
    engine: EngineName = "local",
    address: Address = None,
    publish_names: Annotated[
        bool,
        typer.Option(
            "--publish-names", help="Certificates state the names of requests, which you give them."
        ),
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Learn anew in this workspace: these tables take the place of its own."
        ),
    ] = False,
    skip_forgotten: Annotated[
        bool,
        typer.Option("--skip-forgotten", help="With --again: leave out who was forgotten before."),
    ] = False,
    take_back: Annotated[
        bool, typer.Option("--take-back", help="With --again: whoever was forgotten comes back.")
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(help="With --again: what to call the request of records that left."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Learn from private and public records, and make a workspace, or fit again in one."""
    from expunge.workspace.fit import fit as fit_anew
    from expunge.workspace.fit_again import fit_again
    from expunge.workspace.options import Options, number_or_public

    options = Options(
        id=id,
        label=label,
        epsilon=epsilon,
        delta=delta,
        strategy=strategy,
        observer=observer,
        l2=number_or_public("l2", l2),
        row_norm=None if row_norm is None else number_or_public("row_norm", row_norm),
        classes=None if classes is None else tuple(name.strip() for name in classes.split(",")),
        drop=tuple(drop or ()),
        task=task,
        target_norm=target_norm,
        released=not unreleased,
        adaptive_requests=adaptive_requests,
        publish_names=publish_names,
        capacity=capacity,
        features=features,
        text=tuple(text_column or ()),
        text_width=text_width,
    )
    given: dict[str, Any] = {
        "encoding": encoding,
        "schema": schema,
        "limits": tables.limits(max_width),
        "form": tables.form,
        "memory": memory,
        "engine": engine,
        "address": address,
    }
    make = fit_anew
    if again:
        make = fit_again
        given |= {"forgotten": _forgotten(skip_forgotten, take_back), "name": name}
    elif skip_forgotten or take_back or name is not None:
        raise typer.BadParameter("needs --again", param_hint=_hint(skip_forgotten, take_back))
    with may_stay_unfinished(json=json), notices() as notice, stages("fit") as progress:
        document = make(
            workspace, private, public, options, **given, progress=progress, notice=notice
        )
    if json:
        print_json(document)
    else:
        show(document)
        show_understood(document)


def _forgotten(skip: bool, take_back: bool) -> "Forgotten":
    """What becomes of private records that were forgotten before.

    Raises:
        BadParameter: both are wanted.
    """
    if skip and take_back:
        raise typer.BadParameter("is the opposite of --take-back", param_hint="--skip-forgotten")
    return "skip" if skip else "take back" if take_back else "refuse"


def _hint(skip: bool, take_back: bool) -> str:
    return "--skip-forgotten" if skip else "--take-back" if take_back else "--name"
