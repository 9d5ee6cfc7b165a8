"""Noisy steps on all parameters of a network, seen from a public center.

    v <- Proj_R( v - eta (g(v) + lam v) + N(0, 2 eta sigma^2 I) ),  ||g|| <= C,  v = theta - center

Paper: [alg:pngd_training], [alg:langevin_unlearning], with clipped gradients (THEORY 2.4). v is
float64; g may be computed in any precision, because the clipped regime asks for nothing but its
length. Plain steps only: there is no momentum and no adaptive optimiser, whose state the bounds do
not know. Every step draws noise of its own; the last before a release is exact (`core/release`).
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from expunge.accounting.assumptions import Assumptions, Mark
from expunge.accounting.bounds import BOUNDS
from expunge.accounting.history import History, Phase
from expunge.core.checks import check_fields, not_negative, optional, positive
from expunge.core.module_state import saturated, with_state
from expunge.core.projection import l2_ball, whole_space
from expunge.errors import Refused
from expunge.features.module_checks import SOME, refuse_mixing, refuse_remembering
from expunge.losses.checked_loss import CheckedLoss
from expunge.sampling import pngd
from expunge.sampling.networks import Network
from expunge.sampling.recurrent import LSTMClassifier, Recurrent
from expunge.unlearning.course import (
    LARGEST_NORMAL,
    take_steps,
    with_exact_last,
)
from expunge.unlearning.networks.network_job import NetworkJob

__all__ = [
    "Around",
    "Descent",
    "Place",
    "best_epsilon",
    "in_one_vector",
]

Around = Literal["start", "zero"]
Gradient = Callable[[Tensor, int], Tensor]  # (offset, step of this run) -> at most C long


@dataclass(frozen=True)
class Descent:
    """What every noisy step is; public constants only.

    Args:
        step_size: eta.
        clip: C.
        weight_decay: lambda, towards the center.
        radius: R of the ball around the center that every step projects onto; None for none.
        smoothness: Lg, of every record's gradient; declared by the user, None for none.
        gradient_rounding: A bound on the arithmetic error of g, where smoothness is used, and of
            its length, otherwise.
        load: The most that the weights of a step's clipped gradients add up to.
    """

    step_size: float
    clip: float
    weight_decay: float = 0.0
    radius: float | None = None
    smoothness: float | None = None
    gradient_rounding: float = 0.0
    load: float = 1.0

    def __post_init__(self) -> None:
        check_fields(
            self,
            step_size=positive,
            clip=positive,
            weight_decay=not_negative,
            radius=optional(positive),
            smoothness=optional(positive),
            gradient_rounding=not_negative,
            load=positive,
        )
        if not 0 <= self.weight_decay * self.step_size <= 1:
            raise ValueError(
                f"weight_decay: {self.weight_decay} must be from 0 to 1/step_size = "
                f"{1 / self.step_size:g}"
            )

    @property
    def assumptions(self) -> Assumptions:
        marks: dict[str, Mark] = dict.fromkeys(("clip", "weight_decay", "radius"), "enforced")
        smoothness = None if self.smoothness is None else self.smoothness + self.weight_decay
        return Assumptions(
            clip=self.clip,
            smoothness=smoothness,
            weight_decay=self.weight_decay,
            radius=self.radius,
            marks={**marks, "smoothness": "assumed"},
        )

    def run(
        self,
        job: NetworkJob,
        gradient: Gradient,
        offset: Tensor,
        *,
        steps: int,
        sigma: float,
        stream: str,
        reach: float,
    ) -> Tensor:
        """The offset after so many steps, the last of them with exact noise.

        Args:
            reach: A bound on the norm of any step before its projection, by public constants.

        Raises:
            ValueError: noise too small to be exact, by public constants.
            NoCertificate: values that are not finite.
        """
        project = whole_space if self.radius is None else l2_ball(self.radius)

        def steepest(stacked: Tensor, index: int) -> Tensor:
            return (gradient(stacked[0], index) + self.weight_decay * stacked[0])[None]

        kernel = pngd.build(steepest, step_size=self.step_size, sigma=sigma, project=project)
        return take_steps(job, kernel, offset, steps=steps, stream=stream, reach=reach)

    def phases(
        self, job: NetworkJob, dimension: int, *, steps: int, sigma: float, reach: float
    ) -> list[Phase]:
        """`steps` noisy steps, the last of them, whose noise is exact, a phase of its own.

        Args:
            reach: A bound on the offset's norm before the first of them.
        """
        rounding = pngd.step_rounding(
            step_size=self.step_size,
            gradient=self.gradient_rounding,
            noise_std=math.sqrt(2 * self.step_size) * sigma,
            dimension=dimension,
            operations=16 if self.radius is None else 2 * (dimension + 16),
            farthest=self.farthest(dimension, sigma, reach, steps),
        )
        bare = Phase(steps, self.step_size, sigma, job.roster.retained, rounding=rounding)
        return with_exact_last(job, bare, dimension)

    def farthest(self, dimension: int, sigma: float, reach: float, steps: int) -> float:
        """A bound on the norm that so many steps can reach before their projection."""
        noise_std = math.sqrt(2 * self.step_size) * sigma
        each = self.step_size * self.clip * self.load + LARGEST_NORMAL * noise_std * math.sqrt(
            dimension
        )
        if self.radius is not None:
            return max(self.radius, reach) + each
        return reach + steps * each

    def reach(self, dimension: int, sigma: float, start: float, steps: int) -> float:
        """How far from the center steps come, from a norm of `start` on, but for one run in 1e24.

        Where nothing projects, independent noises add up like the root of their number: a network
        of 1e8 parameters keeps noise that is exact, which `farthest` would take from it.
        """
        if self.radius is not None:
            return self.farthest(dimension, sigma, start, 1)
        noise_std = math.sqrt(2 * self.step_size * steps) * sigma
        drift = steps * self.step_size * self.clip * self.load
        return start + drift + LARGEST_NORMAL * noise_std * math.sqrt(dimension)


@dataclass(frozen=True)
class Place:
    """The network on its device, and the center in one vector."""

    network: Network
    center: Tensor  # (parameters,) float64
    beginning: Tensor  # where training begins, as an offset from the center

    @classmethod
    def of(cls, job: NetworkJob, around: Around) -> "Place":
        """Put a job's network on its device, and find the center and the start seen from there.

        Raises:
            InvalidInput: a layer mixes records; it is named.
        """
        if around not in get_args(Around):
            raise ValueError(f"around: {around!r} must be 'start' or 'zero'")
        refuse_mixing(job.module)
        first = job.roster.present[job.roster.public :][:SOME]  # what was forgotten is blank
        refuse_remembering(
            with_state(job.module, {}, job.device).eval(), job.inputs[: len(first)][first]
        )
        module = with_state(job.module, job.start, job.device).eval().requires_grad_(True)
        kind = Recurrent if isinstance(module, LSTMClassifier) else Network
        start = in_one_vector(dict(module.named_parameters()))
        center = start if around == "start" else torch.zeros_like(start)
        # Whatever the loss remembers is of this run's records.
        loss = CheckedLoss(copy.deepcopy(job.loss))
        return cls(kind(module, loss), center, start - center)

    @property
    def dimension(self) -> int:
        return len(self.center)

    def offset_of(self, state: dict[str, Tensor]) -> Tensor:
        names = self.network.shapes
        return in_one_vector({name: state[name] for name in names}) - self.center

    def state(self, offset: Tensor) -> dict[str, Tensor]:
        """Parameters by name in the module's own precision, on the CPU."""
        own = dict(self.network.module.named_parameters())
        kinds = {name: parameter.dtype for name, parameter in own.items()}
        named = self.network.split(self.center + offset)
        return {name: saturated(part, kinds[name]).to(kinds[name]) for name, part in named.items()}


def in_one_vector(named: dict[str, Tensor]) -> Tensor:
    """All parameters in one vector: (parameters,) float64 on the CPU."""
    return torch.cat([part.detach().double().cpu().flatten() for part in named.values()])


def best_epsilon(
    assumptions: Assumptions, history: History, delta: float, names: Sequence[str]
) -> float:
    """The least epsilon of these bounds; infinite where none answers."""
    epsilons = [math.inf]
    for name in names:
        try:
            epsilons.append(BOUNDS[name](assumptions, history).epsilon(delta))
        except (Refused, ArithmeticError):
            continue
    return min(epsilons)
