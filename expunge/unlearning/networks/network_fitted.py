"""What a fitted unlearner knows: its state, and what its requests are compared with."""

from dataclasses import dataclass, replace
from typing import Self

from torch import Tensor

from expunge.core.checksums import RowsFrom
from expunge.core.inputs import Inputs, tensors_in
from expunge.core.module_state import with_state
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.job import Job
from expunge.unlearning.networks.comparison import Comparison, compared
from expunge.unlearning.networks.network_job import NetworkJob
from expunge.unlearning.networks.network_strategy import NetworkStrategy
from expunge.unlearning.networks.retrain import RetrainNetwork
from expunge.unlearning.networks.weights import network_bytes
from expunge.unlearning.outcome import ROWS, Outcome

__all__ = ["NetworkFitted"]

CALLERS = (
    "preprocessing before fit, what the loss remembers outside itself, and the choice of all "
    "parameters, are the caller's"
)
UNTRIED = "no placebo was run: fit(..., evaluate=(inputs, targets)) tells what a certificate buys"


@dataclass(frozen=True, repr=False, kw_only=True)
class NetworkFitted(Fitted):
    """The state of a fitted unlearner.

    Args:
        retraining: The yardstick, as it was at fit.
        held_out: Records that every request is compared on; None for none.
        comparison: The last request beside exact deletions of the same cost.
    """

    job: NetworkJob
    strategy: NetworkStrategy
    retraining: RetrainNetwork
    held_out: tuple[Inputs, Tensor] | None = None
    comparison: Comparison | None = None

    def after(self, job: Job, outcome: Outcome) -> Self:
        """The state that a request leads to, compared with its placebo where that can be had."""
        after = replace(super().after(job, outcome), comparison=None)
        if self.held_out is None:
            return after
        comparison = after.compare(self.outcome, self.held_out)  # which reads every record
        outcome = replace(after.outcome, read_every_row=True)
        return replace(after, outcome=outcome, comparison=comparison)

    @property
    def _columns(self) -> tuple[Tensor | RowsFrom, ...]:
        """Keys and what a strategy keeps of each record, then the records, public ones first."""
        job, secret = self.job, self.outcome.secret
        kept = (secret[name] for name in sorted(secret) if name.startswith(ROWS))
        tables = (
            (job.public_inputs, job.public_targets, 0),
            (job.inputs, job.targets, job.roster.public),
        )
        return (
            job.roster.keys,
            *kept,
            *(
                RowsFrom(part, first)
                for inputs, targets, first in tables
                if inputs is not None and targets is not None
                for part in (*(column for _, column in tensors_in(inputs)), targets)
            ),
        )

    @property
    def before(self) -> Outcome:
        """What the last request started from, as far as it is known: counts of the old history.

        With the new parameters and secrets, because the old ones are gone.
        """
        outcome, last = self.outcome, self.job.roster.request
        if outcome.history is None or not outcome.rounds:
            return outcome
        both = zip(outcome.history.phases, outcome.rounds, strict=True)
        past = tuple(phase for phase, request in both if request < last)
        history = replace(outcome.history, phases=past)
        return replace(outcome, history=history, rounds=outcome.rounds[: len(past)])

    def compare(self, before: Outcome, held_out: tuple[Inputs, Tensor]) -> Comparison:
        """Compare this state's network with exact deletions of the same cost.

        Args:
            before: What its request started from.
        """
        return compared(self.job, self.strategy, self.outcome, before, held_out, self.retraining)

    @property
    def remarks(self) -> tuple[str, ...]:
        return (CALLERS, UNTRIED if self.comparison is None else self.comparison.line)

    @property
    def model_bytes(self) -> bytes:
        return network_bytes(with_state(self.job.module, self.outcome.state), self.outcome.salt)
