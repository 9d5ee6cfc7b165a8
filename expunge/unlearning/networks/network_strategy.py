"""What strategies for networks answer beside the verbs that all strategies have."""

from typing import ClassVar, Protocol

from expunge.accounting.account import Account
from expunge.accounting.prices import Price
from expunge.core.flops import training_flops
from expunge.errors import NoCertificate
from expunge.unlearning.networks.network_job import NetworkJob
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.schemes import Scheme
from expunge.unlearning.strategy import Strategy

__all__ = ["Foreseen", "NetworkStrategy", "foreseen_words", "passes", "rows_of_a_step"]


class NetworkStrategy(Strategy[NetworkJob], Protocol):
    """A strategy for networks; those that inherit from it need not answer the last three.

    Nor need they add records, which none of ours can.
    """

    keeps_backbone: ClassVar[bool] = False  # every request starts from the layers as handed over
    runs_the_loss: ClassVar[bool] = True  # if not, it reads what kind of loss it is

    def cost(self, job: NetworkJob) -> float:
        """Nominal FLOPs of one request: a function of counts and settings alone."""
        ...

    def add(self, job: NetworkJob, before: Outcome) -> Outcome:
        raise NoCertificate(
            f"add: {self.name} takes no further records into a network; fit again with all of them"
        )

    @property
    def starts_anew(self) -> bool:
        """Whether it draws all initial values itself, whatever the module holds."""
        return False


class Foreseen(NetworkStrategy, Protocol):
    """A strategy whose certificates can be told before a request: by counts and settings alone."""

    def foreseen(self, job: NetworkJob, forget: int) -> Account:
        """What the certificate of a request for so many records would say."""
        ...

    def price(self, job: NetworkJob, forget: int) -> Price:
        """Its cost, with what a request's certificate would say."""
        judged = self.foreseen(job, forget)
        words = foreseen_words(judged, job.target.level)
        return Price(
            self.name,
            steps=passes(job, self.cost(job)),
            epsilon=None if judged.vacuous else judged.epsilon,
            guarantee=judged.best or "none",
            excluded=words[0] if words else None,
        )


def passes(job: NetworkJob, flops: float) -> float:
    """FLOPs as passes over the records that are there: forward and backward through the network."""
    return flops / (job.roster.retained * training_flops(job.module, job.inputs))


def rows_of_a_step(job: NetworkJob, scheme: Scheme) -> float:
    """How many of the records that are there a step sees, typically."""
    share = getattr(scheme, "rate", 1.0) / getattr(scheme, "batches", 1)
    return job.roster.retained * share


def foreseen_words(judged: Account, target: float) -> tuple[str, ...]:
    """What a plan or a certificate says when the target is missed."""
    if judged.vacuous:
        return ("vacuous: the history of noisy steps supports no claim that means anything",)
    if judged.epsilon is not None and judged.epsilon > target:
        return (f"misses the target: epsilon {judged.epsilon:.4g} is above {target:g}",)
    return ()
