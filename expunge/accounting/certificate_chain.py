"""The certificates of one fit in their order, and what their models say together.

Every certificate names the one before it by its digest, so the last one refers to all of them and
none repeats what the others say. To whoever has all r models, they say together

    mu^2 = mu_1^2 + ... + mu_r^2     where every request draws fresh noise around a solution
                                     (residual, head): THEORY 5.1 a, sqrt(r) mu for equal ones
    mu = 0                           where every model is trained anew (retrain)
    mu of the last one               where its history counts every release (observer all): 2.7

Where a model honours several requests at once, each of them may have a certificate. They follow
each other, say the same of the same model, and the model counts once.

Elsewhere noise of earlier requests is still in the later models, and no theorem here says what all
of them tell: that is refused.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from expunge.accounting.bounds import GDP
from expunge.accounting.canonical import Difference
from expunge.accounting.certificate import Certificate
from expunge.accounting.conversions import outward
from expunge.accounting.issue import round_up_text
from expunge.accounting.kinds import KINDS, RELEASE
from expunge.errors import Refused

__all__ = ["Joint", "chain_differences", "joint", "joint_document"]

ANEW = (
    "as many models, each retrained by the same rule on the records that were left after its "
    "request: a record that was asked for later was used by the models before, and nothing is "
    "claimed about it there"
)
OWN = ("batch", "sequence", "previous", "requests")  # of each certificate of a model
NEVER = "the models of the same procedure without any forgotten record, at every release"


@dataclass(frozen=True)
class Joint:
    """What several models say together: mu-GDP against the comparator, in both directions.

    Args:
        models: How many; the model before the first request is among them only if its history
            counts it (observer all).
    """

    models: int
    mu: float
    epsilon: float
    delta: float
    comparator: str

    @property
    def statement(self) -> str:
        """The claim as a sentence, its epsilon rounded up."""
        return (
            f"Whoever has all {self.models} models cannot tell them, beyond epsilon = "
            f"{round_up_text(self.epsilon)} at delta = {self.delta:g}, from {self.comparator}."
        )


def chain_differences(certificates: Sequence[Certificate]) -> list[Difference]:
    """What is wrong with the order of certificates that are said to follow each other.

    Args:
        certificates: In their order; the first need not be the first of its fit.
    """
    faults = []
    for before, after in pairwise(certificates):
        place = f"certificate {after.sequence}"
        if after.workspace != before.workspace or after.workspace is None:
            faults.append(Difference(f"{place}: workspace", "is that of another fit, or none"))
        elif after.sequence != before.sequence + 1:
            faults.append(Difference(f"{place}: sequence", f"does not follow {before.sequence}"))
        elif after.previous != before.sha256:
            problem = f"is not the digest of certificate {before.sequence}"
            faults.append(Difference(f"{place}: previous", problem))
        elif _continues_batch(after):
            faults += [
                Difference(f"{place}: {field}", problem)
                for field, problem in _unlike_in_batch(before, after)
            ]
        elif _continues_batch(before, onwards=True):
            told = f"certificate {before.sequence} is not the last of its model"
            faults.append(Difference(f"{place}: batch", f"begins another model, but {told}"))
        else:
            faults += [
                Difference(f"{place}: {field}", problem)
                for field, problem in (*_miscounted(before, after), *_unlike(before, after))
            ]
    return faults


def _continues_batch(certificate: Certificate, *, onwards: bool = False) -> bool:
    """Whether the certificate before is of the same model; `onwards`: whether the one after is."""
    batch = certificate.batch
    if batch is None or batch.place is None:
        return False
    return batch.place < batch.of if onwards else batch.place > 1


def _unlike_in_batch(before: Certificate, after: Certificate) -> list[tuple[str, str]]:
    """What certificates of one model have otherwise than their requests and places."""
    assert after.batch is not None
    assert after.batch.place is not None
    earlier = f"certificate {before.sequence}"
    if before.batch != after.batch.model_copy(update={"place": after.batch.place - 1}):
        return [("batch", f"does not go on from that of {earlier}")]
    said, known = ({**one.body()} for one in (after, before))
    return [
        (field, f"is not that of {earlier}, which is of the same model")
        for field in said
        if field not in OWN and said[field] != known.get(field)
    ]


def _miscounted(before: Certificate, after: Certificate) -> list[tuple[str, str]]:
    """Counts of records that contradict those of the certificate before."""
    faults, earlier = [], f"certificate {before.sequence}"
    if _at_fit(after) != _at_fit(before):
        faults.append(("records", f"has {_at_fit(after)} at fit, {earlier} {_at_fit(before)}"))
    for name in ("joined", "forgotten", "generation"):
        least, counted = getattr(before, name) or 0, getattr(after, name) or 0
        if counted < least:
            faults.append((name, f"is {counted}, but {earlier} had {least} already"))
    models, moved = after.generation - before.generation, _moved(after) - _moved(before)
    if not faults and not 1 <= models <= moved:
        faults.append(("generation", f"{models} more models than {earlier}, for {moved} records"))
    return faults


def _moved(certificate: Certificate) -> int:
    """How many records have joined or left: at least one for every model."""
    return (certificate.forgotten or 0) + (certificate.joined or 0)


def _unlike(before: Certificate, after: Certificate) -> list[tuple[str, str]]:
    """What a fit fixes, or what cannot be undone, and the certificate before has otherwise."""
    faults, earlier = [], f"certificate {before.sequence}"
    fixed = {
        "strategy": lambda one: one.strategy,
        "claim.delta": lambda one: one.delta,
        "capacity": lambda one: one.capacity,
        "budget": lambda one: one.budget,
        "provenance.noise": lambda one: one.provenance.noise,
        "provenance.labels": lambda one: one.provenance.labels,
        "history.normaliser_count": lambda one: one.history.normaliser_count,
    }
    for field, of in fixed.items():
        if of(after) != of(before):
            faults.append((field, f"is {of(after)}, {earlier} has {of(before)}"))
    if (before.provenance.state, after.provenance.state) == ("copied", "sole"):
        faults.append(("provenance.state", f"is sole, but {earlier} says that it was copied"))
    kind = KINDS.get(after.strategy)
    if kind is not None and kind.learns and not faults and not _goes_on(before, after):
        faults.append(("history", f"does not go on from that of {earlier}"))
    return faults


def _goes_on(before: Certificate, after: Certificate) -> bool:
    """Whether a history of learning and requests begins with the phases of the one before.

    Records that left since count as forgotten in the same phases, whose batches hold the same.
    """
    (known, phases), (later, more) = (
        (made[0], made[1].phases)
        for made in (before.records_of_history(), after.records_of_history())
    )
    lasting = ("strong_convexity", "smoothness", "lipschitz", "radius", "clip", "weight_decay")
    if any(getattr(known, name) != getattr(later, name) for name in lasting):
        return False
    if len(more) <= len(phases):
        return False
    same = ("steps", "step_size", "sigma", "samples", "rounding", "batch_size")
    return all(
        all(getattr(one, name) == getattr(other, name) for name in same)
        and one.forgotten <= other.forgotten
        for one, other in zip(phases, more, strict=False)
    )


def _at_fit(certificate: Certificate) -> int:
    return (certificate.records or 0) - (certificate.joined or 0)


def joint(certificates: Sequence[Certificate]) -> Joint:
    """What the models of these certificates say together, to whoever has them all.

    Args:
        certificates: Of one fit, in their order, each of them verified.

    Raises:
        Refused: they do not follow each other, or no theorem says what their models say together.
    """
    for field, problem in chain_differences(certificates):
        raise Refused(f"{field} {problem}")
    last, certificates = certificates[-1], _one_a_model(certificates)
    strategies = {certificate.strategy for certificate in certificates}
    if len(strategies) > 1:
        raise Refused(f"models of several strategies: {', '.join(sorted(strategies))}")
    if last.observer == "all":
        return _joint(len(certificates), _mu(last), last.delta, NEVER)
    kind = KINDS.get(last.strategy)
    if kind is not RELEASE and not (kind is not None and kind.noise_free):
        raise Refused(
            f"noise of earlier requests is still in the models of {last.strategy}, and nothing is "
            "known of what they say together; observer 'all' counts every model"
        )
    if any(certificate.provenance.noise != "operating system" for certificate in certificates):
        raise Refused("the noise is seeded, so that two models may share it")
    total = math.sqrt(math.fsum(_mu(certificate) ** 2 for certificate in certificates))
    return _joint(len(certificates), outward(total), last.delta, ANEW)


def joint_document(certificates: Sequence[Certificate]) -> dict[str, Any] | None:
    """The joint statement as JSON, or why there is none; None for fewer than two models."""
    if len(certificates) < 2:
        return None
    try:
        together = joint(certificates)
    except Refused as error:
        return {"refused": str(error)}
    if together.models < 2:
        return None
    return {**asdict(together), "statement": together.statement}


def _one_a_model(certificates: Sequence[Certificate]) -> list[Certificate]:
    """One certificate of each model, of certificates that follow each other."""
    return [one for at, one in enumerate(certificates) if not (at and _continues_batch(one))]


def _joint(models: int, mu: float, delta: float, comparator: str) -> Joint:
    return Joint(models, mu, GDP(mu).epsilon(delta), delta, comparator)


def _mu(certificate: Certificate) -> float:
    """The certificate's mu.

    Raises:
        Refused: its bound has none.
    """
    if certificate.claim.mu is None:
        raise Refused(f"the bound {certificate.claim.bound} does not add up over models")
    return certificate.claim.mu
