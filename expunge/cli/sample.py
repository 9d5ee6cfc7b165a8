"""`expunge sample WORKSPACE`: an ensemble of models from one law."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from expunge.cli.output import print_json, read_text

__all__ = ["sample"]


def sample(
    workspace: Annotated[Path, typer.Argument()],
    output: Annotated[Path, typer.Option(help="A .safetensors file, or a folder for shards.")],
    id: Annotated[list[str] | None, typer.Argument(help="Records to forget.")] = None,  # noqa: A002
    ids: Annotated[str | None, typer.Option(help="File with one id a line.")] = None,
    regime: Annotated[
        Literal["learned", "unlearned", "retrained"], typer.Option(help="The law to sample from.")
    ] = "unlearned",
    models: Annotated[int, typer.Option(help="How many models.")] = 1000,
    learn_steps: Annotated[int, typer.Option(help="Learning steps T.")] = 500,
    unlearn_steps: Annotated[int, typer.Option(help="Unlearning steps K.")] = 50,
    sigma: Annotated[float | None, typer.Option(help="By default what langevin takes.")] = None,
    seed: Annotated[int, typer.Option()] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    engine: Annotated[Literal["local", "ray"], typer.Option()] = "local",
    address: Annotated[str | None, typer.Option(help="Address of a Ray cluster.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Sample models by noisy descent on a workspace's records; for experiments, never released."""
    from expunge.workspace.given_ids import trim_ids
    from expunge.workspace.sample import Sampling
    from expunge.workspace.sample import sample as draw
    from expunge.workspace.tables import read_ids

    wanted, _ = trim_ids([*(id or ()), *(read_ids(read_text(ids)) if ids is not None else ())])
    sampling = Sampling(
        regime, models, learn_steps, unlearn_steps, sigma, seed, device, engine, address
    )
    document = draw(workspace, output, wanted, sampling, progress=sys.stderr.isatty())
    if json:
        print_json(document)
    else:
        print(f"{document['models']:,} {document['regime']} models: {document['output']}")
