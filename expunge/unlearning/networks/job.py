"""What a strategy for networks is given, and what it hands back.

A `NetworkJob` describes the learning problem as it stands: the module as it was handed over, the
records, which of them are still there, the target and the observer. A `NetworkOutcome` is the
parameters with the history that their certificate is a function of. Mirrors `unlearning/job.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from expunge.accounting.account import Account
from expunge.accounting.assumptions import Assumptions
from expunge.accounting.history import History
from expunge.accounting.target import EpsilonDelta, Observer
from expunge.unlearning.model_file import Salted
from expunge.unlearning.networks.inputs import Inputs, joined
from expunge.unlearning.secrecy import Secret

__all__ = ["Foreseeing", "NetworkJob", "NetworkLoss", "NetworkOutcome", "NetworkStrategy"]

NetworkLoss = Callable[[Tensor, Tensor], Tensor]
ROWS = "rows."  # secret tensors under these names have one row for each record


@dataclass(frozen=True, repr=False)
class NetworkJob(Secret):
    """The learning problem of a network as it stands: what a strategy is given.

    Args:
        module: The template, in eval mode; nobody changes it (work on a copy, or by
            `torch.func.functional_call`). Its parameters never saw a private record: declared.
        loss: (outputs, targets) -> the batch's mean loss, as torch's losses compute it.
        inputs, targets: Private rows; those of forgotten records are zeroed. Several inputs are
            `Columns`, which the module takes as one argument (`inputs.taking_columns`).
        keep: (private rows,) which are still there.
        left: (private rows,) the request, counted from 1, at which a record left; 0 for those
            there.
        keys: (private rows,) 64-bit keys of the records' ids, for batches.
        public_inputs, public_targets: Rows that never have to be forgotten; None where there are
            none.
        seed: None draws from the operating system; an integer is for experiments only.
        device: Where the module runs; rows stay where they are and travel by batches.
        head: Name of the last linear layer, for the strategies that certify it.
        start: Parameters by name where training begins: the module's own, or what public records
            alone made of them.
        adaptive_requests: Whoever asks may have looked at models that were handed out (THEORY 8).
    """

    module: nn.Module
    loss: NetworkLoss
    inputs: Inputs
    targets: Tensor
    keep: Tensor
    left: Tensor
    keys: Tensor
    public_inputs: Inputs | None
    public_targets: Tensor | None
    target: EpsilonDelta
    observer: Observer
    seed: int | None = None
    device: str = "cpu"
    head: str | None = None
    start: dict[str, Tensor] = field(default_factory=dict)
    adaptive_requests: bool = False

    @property
    def private(self) -> int:
        """Private rows at fit."""
        return len(self.inputs)

    @property
    def public(self) -> int:
        return 0 if self.public_inputs is None else len(self.public_inputs)

    @property
    def forgotten(self) -> int:
        """Private rows that are gone since fit."""
        return self.private - int(self.keep.sum())

    @property
    def request(self) -> int:
        """How many requests have been honoured, this one included; 0 at fit."""
        return int(self.left.max()) if len(self.left) else 0

    @property
    def retained(self) -> int:
        """Rows to train on: the public ones and the private ones still there."""
        return self.public + self.private - self.forgotten

    def batch(self, rows: Tensor) -> tuple[Inputs, Tensor]:
        """Inputs and targets of these rows, public ones counted first, on the job's device."""
        inputs: list[Inputs] = []
        targets: list[Tensor] = []
        private = rows >= self.public
        if self.public_inputs is not None and self.public_targets is not None:
            chosen = rows[~private]
            inputs.append(self.public_inputs[chosen])
            targets.append(self.public_targets[chosen])
        chosen = rows[private] - self.public
        inputs.append(self.inputs[chosen])
        targets.append(self.targets[chosen])
        return joined(inputs).to(self.device), torch.cat(targets).to(self.device)

    @property
    def present(self) -> Tensor:
        """Row numbers to train on, public ones counted first."""
        everyone = torch.cat([torch.ones(self.public, dtype=torch.bool), self.keep])
        return everyone.nonzero()[:, 0]

    @property
    def counts_every_model(self) -> bool:
        """Whether every model handed out, the learned one too, counts in the history."""
        return self.observer == "all" or self.adaptive_requests


@dataclass(frozen=True, repr=False)
class NetworkOutcome(Salted, Secret):
    """Parameters, what their certificate rests on, and secret state for the next request.

    Args:
        state: What the module's `state_dict` holds after this: its parameters by name, and
            buffers where training moved them. On the CPU.
        assumptions, history: What the certificate is a function of; None before any deletion
            where the model carries no noise.
        flops: What it cost, counted; the operator's business alone, never printed in a
            certificate, because a solver's iterations depend on what is forgotten.
        rounds: For each phase, how many requests had been honoured before it.
        capacity: Records that may be forgotten in all, where the history counts all of them at
            every model handed out, so that requests may depend on models.
        noise_free: The model carries no noise: without a salt in its file, the file's hash would be
            a membership oracle.
        declared: Lines for the certificate about what the history cannot say.
        retained: What of `secret` outlives the request, in words.
        secret: Never released, never published. A tensor whose name begins with "rows." has one
            row for each record, public ones first; whoever installs the outcome zeroes those of
            forgotten records once the request has succeeded.
    """

    state: dict[str, Tensor]
    assumptions: Assumptions | None
    history: History | None
    flops: float = 0.0
    declared: tuple[str, ...] = ()
    rounds: tuple[int, ...] = ()
    capacity: int | None = None
    noise_free: bool = False
    retained: tuple[str, ...] = ()
    secret: dict[str, Tensor] = field(default_factory=dict)


class NetworkStrategy(Protocol):
    """A way to learn and to honour requests.

    An implementation must satisfy: nothing of the job is changed; whatever the history says was
    done was done; sizes, noise and numbers of steps are functions of counts and targets, never of
    records; anything off raises `NoCertificate` (or `ValueError` for a setting) before anything
    is handed back. `placebo` runs the request's own procedure from a point that never saw a
    private record, at the request's nominal cost: an exact deletion.
    """

    @property
    def name(self) -> str: ...

    @property
    def observers(self) -> tuple[Observer, ...]:
        """The observers for whom it is sound."""
        ...

    def fit(self, job: NetworkJob) -> NetworkOutcome: ...

    def forget(self, job: NetworkJob, before: NetworkOutcome) -> NetworkOutcome: ...

    def placebo(self, job: NetworkJob, before: NetworkOutcome) -> NetworkOutcome:
        """Run the same procedure from a point that never saw a private record.

        Args:
            before: For counts and settings of its history only, never its parameters.
        """
        ...

    def cost(self, job: NetworkJob) -> float:
        """Nominal FLOPs of one request: a function of counts and settings alone."""
        ...


@runtime_checkable
class Foreseeing(Protocol):
    """A strategy whose certificate is not known to meet the target before it is looked at."""

    def foreseen(self, job: NetworkJob, forget: int) -> Account:
        """What the certificate of a request for so many records would say; counts only."""
        ...
