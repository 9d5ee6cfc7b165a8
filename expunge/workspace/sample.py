"""`sample`: many models from one law, for estimates and audits. Seeded: never for release."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from safetensors.torch import save

from expunge.core.whole_file import check_writable, write_whole
from expunge.errors import InvalidInput
from expunge.unlearning.linear.ensemble import problem_of, sampled
from expunge.unlearning.linear.langevin import Langevin
from expunge.workspace.current_model import loaded
from expunge.workspace.folder import Folder
from expunge.workspace.given_ids import known_ids

__all__ = ["Sampling", "sample"]


@dataclass(frozen=True)
class Sampling:
    """What to sample.

    Args:
        regime: The law: after learning, after unlearning, or of retraining.
        unlearn_steps: K of the last two.
        sigma: None takes what `langevin` would.
        engine: "local", or "ray" with the `address` of a cluster.
    """

    regime: Literal["learned", "unlearned", "retrained"] = "unlearned"
    models: int = 1000
    learn_steps: int = 500
    unlearn_steps: int = 50
    sigma: float | None = None
    seed: int = 0
    device: str = "cpu"
    engine: Literal["local", "ray"] = "local"
    address: str | None = None


def sample(
    workspace: Path,
    output: Path,
    forget: Sequence[str],
    sampling: Sampling,
    *,
    progress: bool = False,
) -> dict[str, Any]:
    """Weights (models, outputs, features) in one .safetensors file, or in a folder of shards.

    A folder bounds memory and takes up an interrupted run.

    Raises:
        InvalidInput: ids that cannot be forgotten, or settings that make no sense.
    """
    shards = output.suffix != ".safetensors"
    if not shards:
        check_writable(output)
    folder = Folder.opened(workspace)
    job, places = folder.steady(
        lambda entries, model: (model, entries.places(known_ids(entries, forget))),
        lambda said: (loaded(folder, said[0], on_disk=False).fitted_.job, said[1]),
    )
    folder.ledger.close()
    try:
        strategy = Langevin(sampling.learn_steps, sampling.sigma)
        numbers = [place - job.roster.public for place in places]
        rows = job.roster.rows_of(numbers) if forget else []
        if not rows and sampling.regime != "learned":
            raise ValueError("ids: name the records that are forgotten")
        ensemble = sampled(
            problem_of(job, rows, strategy),
            sampling.regime,
            unlearn_steps=0 if sampling.regime == "learned" else sampling.unlearn_steps,
            models=sampling.models,
            device=sampling.device,
            engine=sampling.engine,
            address=sampling.address,
            seed=sampling.seed,
            folder=output if shards else None,
            progress=progress,
        )
    except (ValueError, RuntimeError, ArithmeticError, ImportError) as error:
        raise InvalidInput("sample", str(error)) from error
    if not shards:
        write_whole(output, save({"weights": ensemble.weights.contiguous()}))
    return {
        "output": str(output),
        "regime": sampling.regime,
        "models": sampling.models,
        "forgotten": len(rows),
        "sigma": strategy.chosen_sigma(job),
        "shape": list(job.objective.shape),
    }
