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
from types import MappingProxyType

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.history import History, Phase
from expunge.errors import InvalidInput

__all__ = [
    "KINDS",
    "RELEASE",
    "Kind",
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
        formerly: What certificates of earlier versions call the comparator; they still verify.
    """

    comparator: str | None
    learns: bool
    holds: Callable[[Assumptions, History], bool]
    noise_free: bool = False
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


def forgotten_in(kind: Kind, history: History, records: int) -> int:
    """How many records this history says have been forgotten.

    Args:
        records: How many records the first model was trained on, public ones included.
    """
    if kind.learns:
        return max(phase.forgotten for phase in history.phases)
    return records - history.phases[-1].samples


def check_retained(history: History) -> None:
    """Refuse phases that do not leave the same records: no record has joined since the first fit.

    Raises:
        InvalidInput: a phase leaves other records; the first such phase is named.
    """
    left = history.phases[-1].samples - history.phases[-1].forgotten
    for i, phase in enumerate(history.phases):
        if phase.samples - phase.forgotten != left:
            raise InvalidInput(
                f"history.phases[{i}].samples",
                f"leaves {phase.samples - phase.forgotten} records, the last phase {left}",
            )


def check_capacity(history: History, *, capacity: int, records: int) -> None:
    """Refuse a history that does not count a whole capacity at every model handed out.

    Requests that look at models are covered if z = 0 at each of them and every phase counts all
    records that may still be asked for: forgotten = capacity - (records - samples)  (THEORY 8 b).

    Raises:
        InvalidInput: a phase counts less; it is named.
    """
    for i, phase in enumerate(history.phases):
        place = f"history.phases[{i}]"
        if phase.batches is not None or phase.poisson is not None:
            raise InvalidInput(place, "a capacity is counted for full batches only")
        if phase.forgotten != capacity - (records - phase.samples):
            raise InvalidInput(f"{place}.forgotten", "is not what is left of the capacity")
        later = history.phases[i + 1 : i + 2]
        if later and later[0].samples != phase.samples and not phase.released:
            raise InvalidInput(f"{place}.released", "a model handed out must count as released")
