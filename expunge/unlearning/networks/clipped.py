"""`clipped`: published baselines whose certificate holds for any starting model in a ball.

    v_0 = the trained model, clipped to norm C_0 around a public center
    v  <- Proj( (1 - eta lam) v - eta clip(g(v), C) + N(0, 2 eta sigma^2 I) ),  K times

    gradient clipping   no projection: shift from z_0 = 2 C_0 with s = 2 eta C a step, that is
                        S = c^K 2 C_0 + 2 eta C (1 - c^K)/(1 - c), V = nu^2 (1 - c^2K)/(1 - c^2),
                        mu^2 = S^2/V, c = 1 - eta lam (Koloskova et al. 2025; THEORY 2.4)
    model clipping      every step projects: hockey-stick contraction with
                        Dm = 2 (1 - eta lam) C_0 + 2 eta C (Asoodeh et al. 2020, Balle et al. 2019)
    hybrid              the same, the recursion started where the shift bound is smaller

The accountant always takes the smaller of recursion and hybrid. Both chains see the same retained
records, so that the mean gradient is clipped as a whole and nothing is counted by record.
Whatever holds for any start holds for the center: the placebo costs the same and carries nothing
over, and no certificate of this kind has been seen to beat it.
"""

import math
from dataclasses import dataclass, field, replace

from torch import Tensor

from expunge.accounting.account import Account, account
from expunge.accounting.assumptions import Assumptions
from expunge.accounting.history import History
from expunge.accounting.search import least_scale
from expunge.core.checks import (
    check_fields,
    choice,
    count,
    flag,
    instance,
    not_negative,
    optional,
    positive,
)
from expunge.core.flops import training_flops
from expunge.core.projection import l2_ball
from expunge.errors import NoCertificate
from expunge.losses.objective import UNIT
from expunge.sampling.clipped_gradients import clipped_mean
from expunge.sampling.left_out import LeftOut
from expunge.unlearning.model_file import add_salt
from expunge.unlearning.networks.network_job import NetworkJob
from expunge.unlearning.networks.network_strategy import (
    Foreseen,
    rows_of_a_step,
)
from expunge.unlearning.networks.noisy_descent import (
    Around,
    Descent,
    Place,
    best_epsilon,
)
from expunge.unlearning.networks.retrain import PUBLIC_START, as_exact
from expunge.unlearning.networks.training import Training, trained, training_cost
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.schemes import FullBatch, Scheme, scheme_record

__all__ = ["GRADIENT_CLIPPING", "HYBRID", "MODEL_CLIPPING", "Clipped"]

SMALLEST_SIGMA, LARGEST_SIGMA = 1e-12, 1e12


@dataclass(frozen=True)
class Clipped(Foreseen):
    """The strategy `clipped`: clip the trained model, then take noisy steps with clipped gradients.

    Args:
        training: How the model is learned, without noise.
        radius: C_0, to which the trained model is clipped around the center.
        unlearn_steps: K.
        step_size: eta.
        clip: C, of a step's whole gradient.
        weight_decay: lambda, towards the center.
        project: Clip the model after every step too.
        around: The center: "start", the public start, or "zero".
        scheme: Which of the retained records a step sees.
        finetune: Clean training after the release, which is post-processing; None for none.
    """

    training: Training = field(default_factory=lambda: Training(epochs=20))
    radius: float = 1.0
    unlearn_steps: int = 10
    step_size: float = 0.5
    clip: float = 1.0
    weight_decay: float = 0.0
    project: bool = False
    around: Around = "start"
    scheme: Scheme = field(default_factory=FullBatch)
    finetune: Training | None = None
    name = "clipped"

    def __post_init__(self) -> None:
        check_fields(
            self,
            training=instance(Training, "a Training record"),
            radius=positive,
            unlearn_steps=count(1),
            step_size=positive,
            clip=positive,
            weight_decay=not_negative,
            project=flag,
            around=choice("start", "zero"),
            scheme=scheme_record,
            finetune=optional(instance(Training, "a Training record")),
        )
        if self.project and self.unlearn_steps < 2:
            raise ValueError("unlearn_steps: the contraction begins after the first of two steps")
        self._descent()

    def fit(self, job: NetworkJob) -> Outcome:
        """Clean training from the start; noise enters with the first request."""
        Place.of(job, self.around)  # refused now rather than at the first request
        state = trained(job, job.start, self.training, "clipped")
        cost = training_cost(job, self.training)
        return Outcome(state, None, None, flops=cost, noise_free=True, secret=add_salt())

    def forget(self, job: NetworkJob, before: Outcome) -> Outcome:
        place = Place.of(job, self.around)
        # A hair inside the ball: room for the norm's own rounding.
        inside = self.radius * (1 - (place.dimension + 16) * UNIT)
        start = l2_ball(inside)(place.offset_of(before.state)[None])[0]
        assumptions, history = self._records(job, place)
        outcome = self._ran(job, place, start, history, f"request {job.roster.request}")
        return replace(
            outcome,
            assumptions=assumptions,
            history=history,
            declared=(
                PUBLIC_START,
                f"the model was clipped to norm {self.radius:g} around "
                f"{'its public start' if self.around == 'start' else 'zero'} before the first "
                "step: initial_distance is the ball's diameter, whatever was learned before",
                "clip bounds a step's whole gradient, of records that both sides share; the "
                "network ran in evaluation mode (no dropout), without momentum",
                *self._finetuned_words(),
            ),
        )

    def placebo(self, job: NetworkJob, before: Outcome) -> Outcome:
        """The request's own steps from the ball's center, which saw no private record."""
        place = Place.of(job, self.around)
        _, run = self._records(job, place)
        stream = f"placebo {job.roster.request}"
        return as_exact(job, self._ran(job, place, place.center * 0, run, stream))

    def cost(self, job: NetworkJob) -> float:
        rows = self.unlearn_steps * rows_of_a_step(job, self.scheme)
        after = 0.0 if self.finetune is None else training_cost(job, self.finetune)
        return rows * training_flops(job.module, job.inputs) + after

    def foreseen(self, job: NetworkJob, forget: int) -> Account:
        """What the certificate of a request would say; the same however many are forgotten."""
        place = Place.of(job, self.around)
        assumptions, history = self._records(job, place)
        return account(assumptions, history, delta=job.target.delta)

    def _descent(self) -> Descent:
        return Descent(
            self.step_size, self.clip, self.weight_decay, self.radius if self.project else None
        )

    def _records(self, job: NetworkJob, place: Place) -> tuple[Assumptions, History]:
        """What certificates are a function of, with the least sigma that meets the target.

        By counts and public constants only.

        Raises:
            NoCertificate: none does.
        """
        descent, target = self._descent(), job.target
        marks = {**descent.assumptions.marks, "initial_distance": "enforced"}
        assumptions = replace(descent.assumptions, initial_distance=2 * self.radius, marks=marks)
        bounds = ("shift", "contraction") if self.project else ("shift",)

        def history(sigma: float) -> History:
            phases = descent.phases(
                job, place.dimension, steps=self.unlearn_steps, sigma=sigma, reach=self.radius
            )
            return History(tuple(phases))

        def met(sigma: float) -> bool:
            epsilon = best_epsilon(assumptions, history(sigma), target.delta, bounds)
            return epsilon <= target.level

        low, high = math.log(SMALLEST_SIGMA), math.log(LARGEST_SIGMA)
        if not met(math.exp(high)):
            raise NoCertificate("no noise meets the target")
        return assumptions, history(least_scale(met, low, high, 1e-6))

    def _ran(
        self, job: NetworkJob, place: Place, start: Tensor, run: History, stream: str
    ) -> Outcome:
        """The noisy steps of this history, and what may follow them."""
        left_out = LeftOut(fitting=not job.roster.request)

        def gradient(offset: Tensor, index: int) -> Tensor:
            batch = self.scheme.batch(job.roster, index, index)
            return clipped_mean(
                place.network,
                place.center + offset,
                job.batch,
                batch.members.nonzero()[:, 0],
                clip=self.clip,
                divisor=batch.divisor,
                left_out=left_out,
            )

        descent, sigma, steps = self._descent(), run.phases[0].sigma, self.unlearn_steps
        reach = descent.reach(place.dimension, sigma, self.radius, steps)
        moved = descent.run(
            job, gradient, start, steps=steps, sigma=sigma, stream=stream, reach=reach
        )
        left_out.warn(job.roster.records)
        state = place.state(moved)
        if self.finetune is not None:
            state = trained(job, {**job.start, **state}, self.finetune, f"after {stream}")
        return Outcome(state, None, None, flops=self.cost(job))

    def _finetuned_words(self) -> tuple[str, ...]:
        if self.finetune is None:
            return ()
        return (
            f"fine-tuned after the release, {self.finetune.epochs:g} epochs fixed in advance, on "
            "retained records alone: post-processing",
        )


GRADIENT_CLIPPING = Clipped()
MODEL_CLIPPING = Clipped(project=True)
HYBRID = Clipped(project=True, weight_decay=0.1)
