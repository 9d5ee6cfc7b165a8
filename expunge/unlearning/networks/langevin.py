"""`langevin` on all parameters of a network: the paper's PNGD, every record's gradient clipped.

    learn     T noisy steps on all records, from a start that no private record touched
    unlearn   K noisy steps on what remains

Only these private steps count: whatever public records made of the start is common to both chains
(THEORY 5.4). Without a smoothness constant the accountant has the clipped regime, c = |1 - eta lam|
and s = 2 eta C in every step, unlearning included; with one that the user declares it may take the
nonconvex line, c = |1 - eta lam| + eta Lg and s = 2 eta C n_f/n, in any step (THEORY 2.4). Networks
are seldom certified by either; the certificate says "vacuous" where they are not.
"""

from dataclasses import dataclass, field, replace
from functools import partial

from torch import Tensor

from expunge.accounting.account import Account, account
from expunge.accounting.history import Phase
from expunge.core.checks import check_fields, choice, count, not_negative, optional, positive, share
from expunge.core.flops import training_flops
from expunge.errors import NoCertificate
from expunge.sampling.clipped_gradients import (
    MEMORY,
    clipped_gradients,
    sum_rounding,
)
from expunge.sampling.left_out import LeftOut
from expunge.unlearning.course import (
    Course,
    NoisyLearning,
    least_sigma,
    records_of_capacity,
    setting_for,
)
from expunge.unlearning.networks.network_job import NetworkJob
from expunge.unlearning.networks.network_strategy import (
    Foreseen,
    foreseen_words,
    rows_of_a_step,
)
from expunge.unlearning.networks.noisy_descent import (
    Around,
    Descent,
    Place,
    best_epsilon,
)
from expunge.unlearning.networks.not_finite import check_left_out
from expunge.unlearning.networks.retrain import PUBLIC_START, as_exact
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.schemes import FullBatch, Scheme, scheme_record

__all__ = ["NetworkLangevin"]

TRUSTED = ("shift", "contraction")


@dataclass(frozen=True)
class NetworkLangevin(NoisyLearning, Foreseen):
    """The strategy `langevin` on all parameters of a network, every record's gradient clipped.

    Args:
        learn_steps: T.
        unlearn_steps: K; None takes the fewest that meet the target and refuses where none do. A
            number is run whatever it certifies, and the certificate says what that is.
        sigma: The paper's sigma; None takes the least that honours `capacity`.
        step_size: eta.
        clip: C, of every record's gradient, public ones too.
        weight_decay: lambda, towards the center.
        radius: R of the ball around the center that every step projects onto; None for none.
        around: The center: "start", the public start, or "zero".
        smoothness: Lg, a Lipschitz constant of every record's gradient, declared and not checked
            (but for one thing: a gradient that is not finite has none, and is refused at fit).
        gradient_error: With it: a bound on the arithmetic error of a record's computed gradient.
        capacity: Share of the private records that may be forgotten in all.
        scheme: How a step uses the records: `FullBatch()`, `Cyclic(batches)`, `PoissonBatch(rate)`.
        memory: Bytes for one chunk's per-record gradients.
        requests: How many requests that may depend on released models sigma provides for
            (`adaptive_requests=True`); otherwise it is not used.
    """

    name = "langevin"
    observers = ("final", "all")
    learn_steps: int = 20
    unlearn_steps: int | None = None
    sigma: float | None = None
    step_size: float = 0.5
    clip: float = 1.0
    weight_decay: float = 0.0
    radius: float | None = None
    around: Around = "start"
    smoothness: float | None = None
    gradient_error: float | None = None
    capacity: float = 0.1
    scheme: Scheme = field(default_factory=FullBatch)
    memory: int = MEMORY
    requests: int = 20

    def __post_init__(self) -> None:
        check_fields(
            self,
            learn_steps=count(1),
            unlearn_steps=optional(count(1)),
            sigma=optional(positive),
            step_size=positive,
            clip=positive,
            weight_decay=not_negative,
            radius=optional(positive),
            smoothness=optional(positive),
            around=choice("start", "zero"),
            gradient_error=optional(not_negative),
            capacity=share,
            scheme=scheme_record,
            memory=count(1),
            requests=count(1),
        )
        if (self.smoothness is None) != (self.gradient_error is None):
            raise ValueError(
                "smoothness and gradient_error: declare both, or neither; a smooth map counts "
                "only as far as it is computed"
            )
        Descent(self.step_size, self.clip, self.weight_decay, self.radius, self.smoothness)

    def fit(self, job: NetworkJob) -> Outcome:
        run = _Run.of(self, job)
        sigma = self._chosen_sigma(run)
        return run.advanced(run.place.beginning, self.learn_steps, sigma, "fit")

    def forget(self, job: NetworkJob, before: Outcome) -> Outcome:
        run = _Run.of(self, job, before)
        run.course.check_capacity()
        outcome = run.answered(before.secret["weights"], "request")
        return run.checked(outcome, strict=self.unlearn_steps is None or job.adaptive_requests)

    def placebo(self, job: NetworkJob, before: Outcome) -> Outcome:
        """The request's own steps from the start, which never saw a private record."""
        run = _Run.of(self, job, before)
        return as_exact(job, run.answered(run.place.beginning, "placebo"))

    def cost(self, job: NetworkJob) -> float:
        capacity = records_of_capacity(self.capacity, job.roster)
        _, steps = self._planned(job, max(job.roster.forgotten, capacity))
        rows = steps * rows_of_a_step(job, self.scheme)
        return rows * training_flops(job.module, job.inputs)

    def foreseen(self, job: NetworkJob, forget: int) -> Account:
        """What the certificate of a first request for so many records would say; counts only.

        Learning is taken as full batches: which batch the records will be in is not known before.
        """
        run, steps = self._planned(job, forget)
        history = run.course.history(run.phases(steps, run.sigma))
        return account(run.descent.assumptions, history, delta=job.target.delta)

    def _planned(self, job: NetworkJob, forget: int) -> tuple["_Run", int]:
        """A run that has learned, and of whose records so many are to go; and the steps it takes.

        Where none meet the target, those of retraining.
        """
        run = _Run.of(self, job)
        rows = job.roster.records
        learned = run.descent.phases(
            job,
            run.place.dimension,
            steps=self.learn_steps,
            sigma=self._chosen_sigma(run),
            reach=float(run.place.beginning.norm()),
        )
        gone = min(forget, rows - 1)
        past = [replace(phase, samples=rows, forgotten=gone) for phase in learned]
        past[-1] = replace(past[-1], released=job.counts_every_model)
        course = replace(run.course, past=tuple(past), rounds=(0,) * len(past))
        run = replace(run, course=course)
        try:
            return run, run.needed
        except NoCertificate:
            return run, self.learn_steps

    def _chosen_sigma(self, run: "_Run") -> float:
        """Return the sigma that was given, or the least that honours the capacity.

        Raises:
            Refused: no noise suffices.
        """
        if self.sigma is not None:
            return self.sigma
        job, steps = run.job, self.within(run.job)
        setting = setting_for(
            job,
            run.descent.assumptions,
            step_size=self.step_size,
            learn_steps=self.learn_steps,
            forget=records_of_capacity(self.capacity, job.roster),
            normaliser=self.scheme.normaliser,
        )
        bounds = ("shift",) if self.radius is None or not steps else TRUSTED
        return least_sigma(job, setting, unlearn_steps=steps, requests=self.requests, bounds=bounds)


@dataclass(frozen=True)
class _Run:
    """A strategy on a job: what steps do, and what has been done so far."""

    strategy: NetworkLangevin
    job: NetworkJob
    place: Place
    descent: Descent
    course: Course

    @classmethod
    def of(
        cls, strategy: NetworkLangevin, job: NetworkJob, before: Outcome | None = None
    ) -> "_Run":
        place, load = Place.of(job, strategy.around), strategy.scheme.load
        rounding = sum_rounding(
            rows=job.roster.records,
            parameters=place.dimension,
            clip=strategy.clip,
            divisor=job.roster.records / load,
            memory=strategy.memory,
        )
        descent = Descent(
            step_size=strategy.step_size,
            clip=strategy.clip,
            weight_decay=strategy.weight_decay,
            radius=strategy.radius,
            smoothness=strategy.smoothness,
            gradient_rounding=rounding + (strategy.gradient_error or 0.0) * load,
            load=load,
        )
        course = Course.of(job, strategy.scheme, before, strategy.capacity)
        return cls(strategy, job, place, descent, course)

    @property
    def sigma(self) -> float:
        """The sigma of the steps so far."""
        return self.course.past[0].sigma

    @property
    def needed(self) -> int:
        """The steps that a request takes.

        Raises:
            NoCertificate: none meet the target.
        """
        return self.strategy.steps_of_request(self.job, self.meets)

    def answered(self, offset: Tensor, what: str) -> Outcome:
        """A request's steps from here."""
        return self.advanced(offset, self.needed, self.sigma, what)

    def advanced(self, offset: Tensor, steps: int, sigma: float, what: str) -> Outcome:
        """Take so many further steps, and return the model with their history.

        Args:
            what: They are taken for, a name of their noise.
        """
        left_out = LeftOut(fitting=not self.job.roster.request)
        gradient = partial(self._gradient, steps, left_out)
        moved = self.descent.run(
            self.job,
            gradient,
            offset,
            steps=steps,
            sigma=sigma,
            stream=f"{what} {self.job.roster.request}",
            reach=self.descent.reach(
                self.place.dimension, sigma, self._start, self.course.done + steps
            ),
        )
        smooth = self.strategy.smoothness is not None
        check_left_out(left_out, self.job.roster.records, smooth=smooth)
        phases = self.phases(steps, sigma)
        phases[-1] = replace(phases[-1], released=self.job.counts_every_model)
        rows = rows_of_a_step(self.job, self.strategy.scheme)
        return self.course.outcome(
            self.place.state(moved),
            self.descent.assumptions,
            phases,
            flops=steps * rows * training_flops(self.job.module, self.job.inputs),
            declared=(
                PUBLIC_START,
                "all parameters, each record's gradient clipped before it is summed; the network "
                "ran in evaluation mode (no dropout), without momentum",
                *self._declared_smooth(),
            ),
            retained=("the parameters before they were cast to the model's own precision",),
            secret={"weights": moved},
        )

    def checked(self, outcome: Outcome, *, strict: bool) -> Outcome:
        """The outcome, with the word where it misses the target.

        Raises:
            NoCertificate: it misses the target and the number of steps was ours to choose.
        """
        assert outcome.history is not None
        assert outcome.assumptions is not None
        target = self.job.target
        judged = account(outcome.assumptions, outcome.history, delta=target.delta)
        words = foreseen_words(judged, target.level)
        if words and strict:
            raise NoCertificate(f"{words[0]}; retrain, or fit with more sigma or capacity")
        return replace(outcome, declared=(*outcome.declared, *words))

    def meets(self, steps: int) -> bool:
        """Whether so many further steps meet the target."""
        target = self.job.target
        history = self.course.history(self.phases(steps, self.sigma))
        epsilon = best_epsilon(self.descent.assumptions, history, target.delta, TRUSTED)
        return epsilon <= target.level

    def phases(self, steps: int, sigma: float) -> list[Phase]:
        """The phases of so many steps from here, as the accountant sees them."""
        reach = self.descent.farthest(self.place.dimension, sigma, self._start, self.course.done)
        bare = self.descent.phases(
            self.job, self.place.dimension, steps=steps, sigma=sigma, reach=reach
        )
        return self.course.count(bare)

    @property
    def _start(self) -> float:
        """How far from the center training begins."""
        return float(self.place.beginning.norm())

    def _gradient(self, steps: int, left_out: LeftOut, offset: Tensor, index: int) -> Tensor:
        """The gradient at step `index`; the last step is its own phase, where cycles restart."""
        strategy, in_phase = self.strategy, 0 if index == steps - 1 else index
        batch = strategy.scheme.batch(self.job.roster, self.course.done + index, in_phase)
        return clipped_gradients(
            self.place.network,
            self.place.center + offset,
            self.job.batch,
            batch.members.nonzero()[:, 0],
            clip=strategy.clip,
            divisor=batch.divisor,
            memory=strategy.memory,
            left_out=left_out,
        )

    def _declared_smooth(self) -> tuple[str, ...]:
        if self.strategy.smoothness is None:
            return ()
        return (
            "declared, not checked: smoothness of every record's gradient, and gradient_error "
            f"{self.strategy.gradient_error:g}, which the rounding of every step contains",
        )
