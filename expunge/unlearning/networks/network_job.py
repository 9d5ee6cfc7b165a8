"""The learning problem of a network: the module as it was handed over, and the records."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from expunge.core.inputs import Inputs, joined, tensors_in
from expunge.core.module_state import state_of
from expunge.unlearning.job import Job

__all__ = ["NetworkJob", "NetworkLoss"]

NetworkLoss = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, repr=False, kw_only=True)
class NetworkJob(Job):
    """The learning problem of a network as it stands: what a strategy is given.

    Args:
        module: The template, in eval mode; nobody changes it (work on a copy, or by
            `torch.func.functional_call`). Its parameters never saw a private record: declared.
        loss: (outputs, targets) -> the batch's mean loss, as torch's losses compute it.
        inputs, targets: Private rows; those of forgotten records are zeroed. Several inputs are
            `Columns`, which the module takes as one argument (`inputs.taking_columns`).
        public_inputs, public_targets: Rows that never have to be forgotten; None where there are
            none.
        device: Where the module runs; rows stay where they are and travel by batches.
        head: Name of the last linear layer, for the strategies that certify it.
        start: Parameters by name where training begins: the module's own, or what public records
            alone made of them.
    """

    module: nn.Module
    loss: NetworkLoss
    inputs: Inputs
    targets: Tensor
    public_inputs: Inputs | None
    public_targets: Tensor | None
    device: str = "cpu"
    head: str | None = None
    start: dict[str, Tensor] = field(default_factory=dict)

    def stored_values(self) -> Iterator[Tensor]:
        for inputs, targets in (
            (self.inputs, self.targets),
            (self.public_inputs, self.public_targets),
        ):
            if inputs is not None and targets is not None:
                yield from (part for _, part in tensors_in(inputs))
                yield targets
        for named in (state_of(self.module), self.start):
            yield from (named[name] for name in sorted(named))

    def batch(self, rows: Tensor) -> tuple[Inputs, Tensor]:
        """Inputs and targets of these rows, public ones counted first, on the job's device."""
        inputs: list[Inputs] = []
        targets: list[Tensor] = []
        private = rows >= self.roster.public
        if self.public_inputs is not None and self.public_targets is not None:
            chosen = rows[~private]
            inputs.append(self.public_inputs[chosen])
            targets.append(self.public_targets[chosen])
        chosen = rows[private] - self.roster.public
        inputs.append(self.inputs[chosen])
        targets.append(self.targets[chosen])
        return joined(inputs).to(self.device), torch.cat(targets).to(self.device)

    @property
    def present(self) -> Tensor:
        """Row numbers to train on, public ones counted first."""
        return self.roster.present.nonzero()[:, 0]
