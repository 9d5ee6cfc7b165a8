"""What an unlearner knows: everything that a request changes, all at once.

`issued` is the chain of certificates since `fit`, by hash: whoever saves or loads can tell a later
state from an earlier one by it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from expunge.accounting.certificate import Certificate
from expunge.unlearning.fitted import Circumstances, checksum
from expunge.unlearning.networks.comparison import Comparison
from expunge.unlearning.networks.inputs import Inputs, tensors_in
from expunge.unlearning.networks.job import NetworkJob, NetworkOutcome, NetworkStrategy
from expunge.unlearning.networks.retrain import RetrainNetwork
from expunge.unlearning.networks.weights import state_of
from expunge.unlearning.secrecy import Secret

__all__ = ["Fitted", "records_of"]


@dataclass(frozen=True, repr=False)
class Fitted(Circumstances, Secret):
    """The state of a fitted unlearner: a request reads it and replaces it as a whole.

    Nothing that a certificate rests on is read from the unlearner's attributes after `fit`.

    Args:
        strategy, retraining: As they were at fit.
        earlier: Assumptions, history and rounds that the last request started from; its
            parameters are not kept.
        released: Models of this fit are handed out.
        released_before: So was a model of an earlier fit, and nothing accounts for it.
        lineage: A random name of the fit, the same after every request.
        copied: This state was saved or loaded, so that another one may exist.
        issued: Hashes of the certificates since, in order.
        fingerprint: A checksum of all that is stored, taken at fit and at every request and
            carried by copies; never published.
    """

    job: NetworkJob
    strategy: NetworkStrategy
    retraining: RetrainNetwork
    outcome: NetworkOutcome
    earlier: dict[str, Any]
    ids: Mapping[Any, int]
    held_out: tuple[Inputs, Tensor] | None
    released: bool
    released_before: bool
    lineage: str
    copied: bool = False
    issued: tuple[str, ...] = ()
    certificate: Certificate | None = None
    comparison: Comparison | None = None
    fingerprint: bytes | None = None

    def __post_init__(self) -> None:
        if self.fingerprint is None:
            object.__setattr__(self, "fingerprint", self._digest())

    @property
    def unchanged(self) -> bool:
        """Whether records and template are still those that this was made with."""
        return self._digest() == self.fingerprint

    def _digest(self) -> bytes:
        """A checksum of records, start and secret state, to notice accidental changes."""
        job, outcome = self.job, self.outcome
        tensors = [part for _, part in tensors_in(job.inputs)]
        tensors += [job.targets, job.keep, job.left, job.keys]
        if job.public_inputs is not None and job.public_targets is not None:
            tensors += [part for _, part in tensors_in(job.public_inputs)] + [job.public_targets]
        for named in (state_of(job.module), job.start, outcome.state, outcome.secret):
            tensors += [named[name] for name in sorted(named)]
        return checksum(tensors)


def records_of(outcome: NetworkOutcome) -> dict[str, Any]:
    return {name: getattr(outcome, name) for name in ("assumptions", "history", "rounds")}
