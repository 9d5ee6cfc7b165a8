"""`head+finetune`: the certified head, then clean fine-tuning of the whole network.

Fine-tuning starts at the frozen backbone with the certified head, sees retained records only, and
has its length fixed in advance: it is post-processing of the certified head, so the certificate is
the head's. A fine-tuned network is no certified start: the next request begins at the head again,
which is kept as separate state.
"""

from dataclasses import dataclass, field, replace

from expunge.accounting.prices import Price
from expunge.core.checks import check_fields, instance
from expunge.unlearning.networks.head import Head
from expunge.unlearning.networks.network_job import NetworkJob
from expunge.unlearning.networks.network_strategy import NetworkStrategy, passes
from expunge.unlearning.networks.training import Training, trained, training_cost
from expunge.unlearning.outcome import Outcome

__all__ = ["HeadFinetune"]


@dataclass(frozen=True)
class HeadFinetune(NetworkStrategy):
    """The strategy `head+finetune`: a certified head, then clean training of the whole network.

    Args:
        training: Of the whole network, epochs fixed in advance.
        head: What is certified.
    """

    training: Training = field(default_factory=Training)
    head: Head = field(default_factory=Head)
    name = "head+finetune"
    keeps_backbone = True

    def __post_init__(self) -> None:
        check_fields(
            self,
            training=instance(Training, "a Training record"),
            head=instance(Head, "a Head record"),
        )

    def fit(self, job: NetworkJob) -> Outcome:
        return self._finetuned(job, self.head.fit(job))

    def forget(self, job: NetworkJob, before: Outcome) -> Outcome:
        return self._finetuned(job, self.head.forget(job, before))

    def placebo(self, job: NetworkJob, before: Outcome) -> Outcome:
        return self._finetuned(job, self.head.placebo(job, before))

    def cost(self, job: NetworkJob) -> float:
        return self.head.cost(job) + training_cost(job, self.training)

    def price(self, job: NetworkJob, forget: int) -> Price:
        """The head's price, and what training costs."""
        steps = passes(job, self.cost(job))
        return replace(self.head.price(job, forget), name=self.name, steps=steps)

    def _finetuned(self, job: NetworkJob, head: Outcome) -> Outcome:
        """Nothing but the head's released state, the rows present and fresh randomness goes in."""
        lines = (
            f"fine-tuned after the release, {self.training.epochs:g} epochs fixed in advance, on "
            "retained records alone and from the certified head: post-processing; the network "
            "is no start for another request, the head is",
        )
        return replace(
            head,
            state=trained(job, head.state, self.training, "finetune"),
            flops=head.flops + training_cost(job, self.training),
            read_every_row=True,
            declared=(*head.declared, *lines) if head.declared else (),
        )
