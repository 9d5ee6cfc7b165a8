"""What a fitted unlearner knows: its state, and what its requests are compared with."""

from dataclasses import dataclass, replace
from typing import Self

from torch import Tensor

from expunge.core.inputs import Inputs
from expunge.core.module_state import with_state
from expunge.unlearning.fitted import Fitted
from expunge.unlearning.job import Job
from expunge.unlearning.networks.comparison import Comparison, compared
from expunge.unlearning.networks.network_job import NetworkJob
from expunge.unlearning.networks.network_strategy import NetworkStrategy
from expunge.unlearning.networks.retrain import RetrainNetwork
from expunge.unlearning.networks.weights import network_bytes
from expunge.unlearning.outcome import Outcome

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
        return replace(after, comparison=after.compare(self.outcome, self.held_out))

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
