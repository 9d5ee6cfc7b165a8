"""`retrain`: the whole network on what remains. Exact, epsilon = 0; `epochs` is the cost dial.

The new parameters are a function of the retained records, of a start that no private record ever
touched, and of fresh randomness. In the accountant it is the identity map from distance 0.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.history import History, Phase
from expunge.accounting.prices import Price, retrain_price
from expunge.core.checks import check_fields, choice, instance
from expunge.core.module_state import fresh_state
from expunge.unlearning.model_file import add_salt
from expunge.unlearning.networks.network_job import NetworkJob
from expunge.unlearning.networks.network_strategy import NetworkStrategy, passes
from expunge.unlearning.networks.training import Training, drawing, trained, training_cost
from expunge.unlearning.outcome import Outcome

__all__ = ["RetrainNetwork", "as_exact", "exact_records"]

PUBLIC_START = (
    "declared by the user, not checked: the parameters that training starts from never saw a "
    "private record"
)
KEPT = (
    "declared by the user, not checked: the buffers {}, which no layer draws anew, never saw a "
    "private record"
)


@dataclass(frozen=True)
class RetrainNetwork(NetworkStrategy):
    """The strategy `retrain`: train the whole network anew on what remains.

    Args:
        start: "public" begins at the model as it was handed over, which the user declares never saw
            private records; "scratch" draws every layer's initial values anew.
        training: Epochs, step size, batches, optimiser.
    """

    start: Literal["public", "scratch"] = "public"
    training: Training = field(default_factory=lambda: Training(epochs=20))
    name = "retrain"

    def __post_init__(self) -> None:
        check_fields(
            self,
            start=choice("public", "scratch"),
            training=instance(Training, "a Training record"),
        )

    def fit(self, job: NetworkJob) -> Outcome:
        start, declared = job.start, (PUBLIC_START,)
        if self.start == "scratch":
            with drawing(job, "initial values"):
                start, kept = fresh_state(job.module)
            declared = (KEPT.format(", ".join(kept)),) if kept else ()
        assumptions, history = exact_records(job)
        return Outcome(
            trained(job, start, self.training, "retrain"),
            assumptions,
            history,
            flops=self.cost(job),
            noise_free=True,
            secret=add_salt(),
            declared=(
                "retrained on the retained records, epochs fixed in advance; the phase stands for "
                "it: the identity map from distance 0",
                *declared,
            ),
        )

    def forget(self, job: NetworkJob, before: Outcome) -> Outcome:
        return self.fit(job)

    placebo = forget  # nothing is carried over

    def cost(self, job: NetworkJob) -> float:
        return training_cost(job, self.training)

    def price(self, job: NetworkJob, forget: int) -> Price:
        return retrain_price(passes(job, self.cost(job)), job.observer)

    @property
    def starts_anew(self) -> bool:
        return self.start == "scratch"


def as_exact(job: NetworkJob, outcome: Outcome) -> Outcome:
    """A network that carries nothing over, as the exact deletion that it is."""
    assumptions, history = exact_records(job)
    return replace(
        outcome,
        assumptions=assumptions,
        history=history,
        rounds=(),
        declared=(PUBLIC_START,),
        secret={},
    )


def exact_records(job: NetworkJob) -> tuple[Assumptions, History]:
    """An exact deletion as the accountant sees it: nothing to tell apart."""
    names = ("strong_convexity", "smoothness", "lipschitz", "initial_distance")
    assumptions = Assumptions(
        strong_convexity=0.0,
        smoothness=0.0,
        lipschitz=1.0,  # any bound is true of the identity map, whose gradient is 0
        marks=dict.fromkeys(names, "enforced"),
    )
    return assumptions, History((Phase(1, 0.5, 0.0, max(1, job.roster.retained)),))
