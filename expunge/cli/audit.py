"""`expunge audit WORKSPACE`: attack the certificate, and say what that proves."""

from pathlib import Path
from typing import Annotated, Any

import typer

from expunge.cli.output import print_json
from expunge.cli.stages import stages

__all__ = ["audit"]


def audit(
    workspace: Annotated[Path, typer.Argument()],
    models: Annotated[
        int | None,
        typer.Option(
            help="Models of each law; half choose the test. By default what the strategy needs."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Make the audit repeatable, without the exact sampler.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Attack the certificate; print lower bound and estimate beside it; exit 1 if contradicted."""
    from expunge.workspace.audit import audit as attack

    with stages("audit") as progress:
        document = attack(workspace, models=models, seed=seed, progress=progress)
    if json:
        print_json(document)
    else:
        _print(document)
    raise typer.Exit(document["exit_status"])


def _print(document: dict[str, Any]) -> None:
    bound, certified = document["lower_bound"], document["certified"]
    print(f"strategy {document['strategy']}, {document['models']:,} models of each law")
    decided = f"{document['decision']['epsilon']:.4g} at {document['decision']['level']:.4%}"
    shown = f"epsilon {bound['value']:.4g} at {bound['level']:.0%}"
    print(f"  lower bound   {shown}; {decided}, which decides")
    low, high = document["estimate"]["interval"]
    value = document["estimate"]["value"]
    print(f"  estimate      D_2 {value:.4g} [{low:.4g}, {high:.4g}] along one direction")
    print(f"  certificate   epsilon {certified['epsilon']:.4g}, D_2 {certified['renyi_2']:.4g}")
    null, positive = document["null_control"], document["positive_control"]
    heard = "quiet" if null["quiet"] else "LOUD"
    print(f"  null control  epsilon {null['decision']['epsilon']:.4g}: {heard}")
    caught = "caught" if positive["caught"] else "NOT CAUGHT"
    print(f"  {positive['fault']}: epsilon {positive['decision']['epsilon']:.4g}, {caught}")
    needed = document["models_to_catch_noise_over_10"]
    number = "no number of models" if needed is None else f"{needed:,} models of each law"
    reach = f"canaries reach {document['canaries_reach']:.0%} of the certified mu"
    print(f"  {reach}; {number} would catch a tenth of the noise")
    print(document["verdict"])
