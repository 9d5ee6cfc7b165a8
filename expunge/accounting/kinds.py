"""Which kind of history each strategy leaves, and what its model is compared with.

    descent   learning and unlearning steps: langevin, noise_first
    release   one exact draw around a solution: residual, head, head+finetune (THEORY 5.1)
    ball      noisy steps from any point of a ball: clipped (THEORY 2.4)
    exact     trained anew on what remains: retrain

A certificate that names a strategy must have its kind of history, its comparator and its count of
forgotten records. Strategies of other packages are not listed here: they state their comparator.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.history import History, Phase
from expunge.errors import InvalidInput

__all__ = [
    "KINDS",
    "RELEASE",
    "Kind",
    "arrivals_in",
    "check_capacity",
    "check_retained",
    "descent_of",
    "forgotten_in",
]


@dataclass(frozen=True)
class Kind:
    """What a strategy's certificates have in common.

    Args:
        comparator: What the model is hard to tell from; None where the history itself says it.
        learns: The history holds the learning steps too, so that it counts the forgotten records.
        holds: Whether a history is of this kind.
        noise_free: The model carries no noise, so that only a salted file may be named.
        keeps_secrets: A fit keeps secret state for the next request, which its certificate lists.
        formerly: What certificates of earlier versions call the comparator; they still verify.
    """

    comparator: str | None
    learns: bool
    holds: Callable[[Assumptions, History], bool]
    noise_free: bool = False
    keeps_secrets: bool = False
    formerly: tuple[str, ...] = ()


def _learns_without_noise(_assumptions: Assumptions, history: History) -> bool:
    """Whether the first steps on records that were forgotten carried no noise."""
    learning = [phase for phase in history.phases if phase.forgotten > 0]
    return bool(learning) and learning[0].sigma == 0


def _learns_with_noise(assumptions: Assumptions, history: History) -> bool:
    return not _learns_without_noise(assumptions, history)


def _is_release(assumptions: Assumptions, history: History) -> bool:
    """Whether the history is one noisy step of the identity map."""
    (first, *others) = history.phases
    identity = assumptions.smoothness == 0 and assumptions.strong_convexity == 0
    apart = assumptions.initial_distance > 0
    return (
        identity
        and apart
        and not others
        and first.steps == 1
        and first.sigma > 0
        and _equal_data(first)
    )


def _is_ball(assumptions: Assumptions, history: History) -> bool:
    clipped = assumptions.clip is not None and assumptions.initial_distance > 0
    return clipped and all(_equal_data(phase) for phase in history.phases)


def _is_exact(assumptions: Assumptions, history: History) -> bool:
    (first, *others) = history.phases
    same_start = assumptions.initial_distance == 0
    return same_start and not others and first.sigma == 0 and _equal_data(first)


def _equal_data(phase: Phase) -> bool:
    return phase.forgotten == 0


RELEASE = Kind(
    "retraining by the same rule on the records without any forgotten one: any solver to a point "
    "proven to be within the same distance of the minimiser, then one draw of the same noise",
    learns=False,
    holds=_is_release,
    keeps_secrets=True,
    formerly=(
        "retraining by the same rule on the records without any forgotten one: any solver to the "
        "same gradient norm, then one draw of the same noise",
    ),
)

KINDS: MappingProxyType[str, Kind] = MappingProxyType(
    {
        "langevin": Kind(None, learns=True, holds=_learns_with_noise),
        "noise_first": Kind(None, learns=True, holds=_learns_without_noise),
        "residual": RELEASE,
        "head": RELEASE,
        "head+finetune": RELEASE,
        "clipped": Kind(
            "any training on the records without any forgotten one, its model clipped to the same "
            "ball around the same center, then the same noisy steps",
            learns=False,
            holds=_is_ball,
        ),
        "retrain": Kind(
            "the same model: it is trained anew on the records without any forgotten one",
            learns=False,
            holds=_is_exact,
            noise_free=True,
        ),
    }
)


def descent_of(assumptions: Assumptions, history: History) -> str:
    """The strategy that leaves this history of learning and unlearning steps."""
    return "noise_first" if _learns_without_noise(assumptions, history) else "langevin"


def arrivals_in(history: History) -> int:
    """How many records a fit's history says have joined since: whenever there were more of them."""
    return sum(_arrivals(history))


def _arrivals(history: History) -> list[int]:
    """How many records joined before each phase; none before the first."""
    samples = [phase.samples for phase in history.phases]
    return [0, *(max(0, after - before) for before, after in pairwise(samples))]


def forgotten_in(kind: Kind, history: History, records: int) -> int:
    """How many records this history says have been forgotten.

    Args:
        records: How many records there have been at any time, public ones included.
    """
    last = history.phases[-1]
    if not kind.learns:
        return records - last.samples
    if records > history.phases[0].samples:  # some have joined, and need not be in any one phase
        return records - (last.samples - last.forgotten)
    return max(phase.forgotten for phase in history.phases)


def check_retained(history: History) -> None:
    """Refuse phases that leave records which no later phase has, or which never joined.

    What a phase leaves is what it had, less what has been forgotten since. It is the same in all
    phases, but for records that joined in between and are still there.

    Raises:
        InvalidInput: a phase leaves other records; the first such phase is named.
    """
    left = [phase.samples - phase.forgotten for phase in history.phases]
    arrivals = _arrivals(history)
    for i, (here, after) in enumerate(pairwise(left)):
        if not here <= after <= here + arrivals[i + 1]:
            raise InvalidInput(
                f"history.phases[{i}].samples",
                f"leaves {here} records, the next phase {after}, and {arrivals[i + 1]} joined",
            )


def check_capacity(history: History, *, capacity: int, records: int) -> None:
    """Refuse a history that does not count a whole capacity at every model handed out.

    Requests that look at models are covered if z = 0 at each of them and every phase counts all
    records that may still be asked for: forgotten = capacity less those that had left by then
    (THEORY 8 b).

    Args:
        records: How many records there have been at any time, public ones included.

    Raises:
        InvalidInput: a phase counts less; it is named.
    """
    arrivals = _arrivals(history)
    for i, phase in enumerate(history.phases):
        place, there = f"history.phases[{i}]", records - sum(arrivals[i + 1 :])
        if phase.batches is not None or phase.poisson is not None:
            raise InvalidInput(place, "a capacity is counted for full batches only")
        if phase.forgotten != capacity - (there - phase.samples):
            raise InvalidInput(f"{place}.forgotten", "is not what is left of the capacity")
        later = history.phases[i + 1 : i + 2]
        if later and later[0].samples != phase.samples and not phase.released:
            raise InvalidInput(f"{place}.released", "a model handed out must count as released")
