"""Did the certificate buy anything? The request beside two exact deletions of the same cost.

    placebo        the same procedure from a point that never saw a private record
    warm start     the whole network trained from its public start, as long as the FLOPs last

Differences are paired, on the held-out records: with b and c the records that one of two networks
alone gets right, (b - c)/rows has standard error sqrt(b + c)/rows. Costs are nominal (functions of
counts and settings), because a certificate must not show how long a solver took.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from expunge.core.flops import training_flops
from expunge.core.inputs import Inputs
from expunge.core.module_state import with_state
from expunge.errors import InvalidInput
from expunge.unlearning.networks.network_job import NetworkJob
from expunge.unlearning.networks.network_strategy import NetworkStrategy
from expunge.unlearning.networks.retrain import RetrainNetwork
from expunge.unlearning.outcome import Outcome

__all__ = ["Arm", "Comparison", "compared", "correct"]

CLEAR = 2.0  # standard errors
BATCH = 1024


@dataclass(frozen=True)
class Arm:
    """One network of a comparison: how accurate it is, and what it cost.

    Args:
        accuracy: On the held-out records.
        flops: Nominal.
        gain: Of the certified network over this one.
        error: The gain's standard error.
    """

    accuracy: float
    flops: float
    gain: float = 0.0
    error: float = 0.0


@dataclass(frozen=True)
class Comparison:
    """The certified network beside two exact deletions of the same cost.

    Args:
        retraining: FLOPs of retraining in full.
        rows: Held-out records.
    """

    strategy: str
    certified: Arm
    placebo: Arm
    warm_start: Arm
    retraining: float
    rows: int

    @property
    def bought(self) -> bool:
        """Whether the certified network is clearly better than both exact deletions."""
        arms = (self.placebo, self.warm_start)
        return all(arm.gain > CLEAR * arm.error and arm.gain > 0 for arm in arms)

    @property
    def sentence(self) -> str:
        if self.strategy == "retrain":
            return "retraining is an exact deletion: there is no certificate to pay for"
        if self.bought:
            least = min(self.placebo.gain, self.warm_start.gain)
            return (
                f"the certificate bought {100 * least:.1f} points of accuracy over exact deletions "
                "of the same cost"
            )
        best = "placebo" if self.placebo.accuracy >= self.warm_start.accuracy else "warm start"
        return (
            f"the certificate bought nothing measurable: the {best}, an exact deletion of the same "
            "cost, does as well"
        )

    @property
    def line(self) -> str:
        """The comparison as a line for the certificate."""

        def told(arm: Arm) -> str:
            return f"{arm.accuracy:.4f} at {arm.flops:.2g} FLOPs"

        return (
            f"accuracy on {self.rows} records declared held out: this model {told(self.certified)} "
            f"({100 * self.certified.flops / self.retraining:.2g} % of retraining), placebo "
            f"{told(self.placebo)}, warm-start retraining {told(self.warm_start)}; {self.sentence}"
        )


def compared(
    job: NetworkJob,
    strategy: NetworkStrategy,
    outcome: Outcome,
    before: Outcome,
    held_out: tuple[Inputs, Tensor],
    retraining: RetrainNetwork,
) -> Comparison:
    """Compare a request's network with its placebo and with warm-start retraining.

    Args:
        job: After the deletion.
        before: What the request started from.
    """
    cost = strategy.cost(job)
    warm_start, spent = _warm_start(job, retraining, cost)
    hits = correct(job, outcome.state, held_out)
    arms = []
    for state, flops in (
        (strategy.placebo(job, before).state, cost),
        (warm_start.state, spent),
    ):
        other = correct(job, state, held_out)
        alone, missed = int((hits & ~other).sum()), int((other & ~hits).sum())
        rows = len(hits)
        gain, error = (alone - missed) / rows, math.sqrt(alone + missed) / rows
        arms.append(Arm(float(other.double().mean()), flops, gain, error))
    return Comparison(
        strategy=strategy.name,
        certified=Arm(float(hits.double().mean()), cost),
        placebo=arms[0],
        warm_start=arms[1],
        retraining=retraining.cost(job),
        rows=len(hits),
    )


def correct(job: NetworkJob, state: dict[str, Tensor], held_out: tuple[Inputs, Tensor]) -> Tensor:
    """Which records the network with this state gets right: (records,).

    Raises:
        InvalidInput: the targets are no classes.
    """
    module = with_state(job.module, state, job.device).eval()
    parts = []
    with torch.no_grad():
        for inputs, targets in zip(*(part.split(BATCH) for part in held_out), strict=True):
            scores = module(inputs.to(job.device)).cpu()
            if scores.ndim == 2 and scores.shape[1] > 1 and not targets.is_floating_point():
                parts.append(scores.argmax(1) == targets)
            elif scores.numel() == targets.numel() and bool(
                ((targets == 0) | (targets == 1)).all()
            ):
                parts.append((scores.flatten() > 0) == (targets.flatten() > 0))
            else:
                raise InvalidInput("evaluate", "accuracy needs classes as targets")
    return torch.cat(parts)


def _warm_start(
    job: NetworkJob, retraining: RetrainNetwork, budget: float
) -> tuple[Outcome, float]:
    """Whole-network training from the public start for this many FLOPs, one step at least."""
    whole = job.roster.retained * training_flops(job.module, job.inputs)
    epochs = max(budget / whole, retraining.training.batch_size / job.roster.retained)
    truncated = RetrainNetwork("public", replace(retraining.training, epochs=epochs))
    return truncated.fit(job), truncated.cost(job)
