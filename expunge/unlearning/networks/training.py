"""Clean training of a whole network on what remains: fine-tuning, retraining, comparisons.

A function of the rows present, the starting parameters, settings fixed in advance and fresh
randomness. Optimiser, momentum, batch statistics and dropout are free here, because nothing of it
is certified step by step: the rows are those that everybody is allowed to keep.

A step whose gradient is not finite is left out, and a request whose training ends in values that
are not finite keeps the state that it began at: another function of the same rows. To refuse there
would tell something about them (THEORY 5.1 d). At fit, before anything was learned, it is refused.
"""

import copy
import hashlib
import math
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from expunge.core.checks import check_fields, count, function, positive
from expunge.core.flops import training_flops
from expunge.core.module_state import state_of, with_state
from expunge.errors import NoCertificate
from expunge.features.module_checks import refuse_half_precision, refuse_hidden_state
from expunge.losses.checked_loss import CheckedLoss
from expunge.unlearning.networks.network_job import NetworkJob
from expunge.unlearning.networks.not_finite import backward, tell_of_training

__all__ = ["Training", "drawing", "trained", "training_cost"]


@dataclass(frozen=True)
class Training:
    """How a network is trained without noise: epochs, step size, batches and optimiser.

    Args:
        epochs: Passes over what remains; fixed in advance, a fraction of one is allowed.
        step_size: At the first step; it falls linearly to nothing.
        batch_size: Rows of a step.
        optimiser: Called with (parameters, lr=step_size).
    """

    epochs: float = 1.0
    step_size: float = 2e-3
    batch_size: int = 64
    optimiser: Callable[..., Optimizer] = torch.optim.Adam

    def __post_init__(self) -> None:
        check_fields(
            self,
            epochs=_fixed_in_advance,
            step_size=positive,
            batch_size=count(1),
            optimiser=function,
        )

    def steps(self, rows: int) -> int:
        """How many steps a run over so many rows takes."""
        return max(1, round(self.epochs * math.ceil(rows / self.batch_size)))


def _fixed_in_advance(name: str, value: Any) -> float | int:
    try:
        return positive(name, value)
    except ValueError as error:
        raise ValueError(
            f"{error}: a positive number fixed in advance; stopping by what the records show is "
            "not covered"
        ) from error


def training_cost(job: NetworkJob, training: Training) -> float:
    """Nominal FLOPs: a function of counts and settings alone."""
    return training.epochs * job.roster.retained * training_flops(job.module, job.inputs)


def trained(
    job: NetworkJob, state: dict[str, Tensor], training: Training, stream: str
) -> dict[str, Tensor]:
    """The state after training on the rows present.

    Raises:
        InvalidInput: half precision, which steps would lose.
        NoCertificate: values that are not finite, at fit.
    """
    refuse_half_precision(job.module, "training")
    present, fitting = job.present, not job.roster.request
    with drawing(job, stream) as order:
        module = with_state(job.module, state, job.device).train()
        parameters = [p for p in module.parameters() if p.requires_grad]
        optimiser = training.optimiser(parameters, lr=training.step_size)
        steps = training.steps(len(present))
        batches = _batches(present, training.batch_size, order)
        # Whatever the loss remembers is of this run's records.
        loss, used = CheckedLoss(copy.deepcopy(job.loss)), 0
        for step in range(steps):
            for group in optimiser.param_groups:
                group["lr"] = training.step_size * (1 - step / steps)
            inputs, targets = job.batch(next(batches))
            optimiser.zero_grad()
            if backward(module, loss, inputs, targets, fitting):
                optimiser.step()
                used += 1
    refuse_hidden_state(job.module, module)
    made = state_of(module)
    finite = all(bool(torch.isfinite(value).all()) for value in made.values())
    if fitting and not (finite and 2 * used > steps):
        raise NoCertificate(
            "training produced NaN or infinity; lower step_size, or look for it in the records"
        )
    tell_of_training(finite, steps, steps - used)
    return made if finite else state_of(with_state(job.module, state, job.device))


@contextmanager
def drawing(job: NetworkJob, stream: str) -> Iterator[torch.Generator]:
    """A generator for orders, and torch's own (initial values, dropout) begun afresh inside.

    From the operating system, unless the job is a seeded experiment.
    """
    word = secrets.randbits(56)
    if job.seed is not None:
        word = int.from_bytes(hashlib.sha256(f"{stream} {job.seed}".encode()).digest()[:7], "big")
    cuda = torch.device(job.device).type == "cuda"
    with torch.random.fork_rng(devices=[torch.device(job.device)] if cuda else []):
        torch.manual_seed(word)
        yield torch.Generator().manual_seed(word)


def _batches(present: Tensor, size: int, order: torch.Generator) -> Iterator[Tensor]:
    """Fresh permutations, one after another; a last single row has no batch statistics."""
    while True:
        shuffled = present[torch.randperm(len(present), generator=order)]
        for rows in shuffled.split(size):
            if len(rows) > 1 or min(size, len(present)) == 1:
                yield rows
