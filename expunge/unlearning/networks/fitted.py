"""What an unlearner knows: everything that a request changes, all at once.

`issued` is the chain of certificates since `fit`, by hash: whoever saves or loads can tell a later
state from an earlier one by it.
"""

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from expunge.accounting.certificate import Certificate
from expunge.unlearning.networks.comparison import Comparison
from expunge.unlearning.networks.inputs import Inputs, tensors_in
from expunge.unlearning.networks.job import NetworkJob, NetworkOutcome
from expunge.unlearning.networks.weights import state_of

__all__ = ["Fitted", "certificate_sha256", "records_of"]


@dataclass(frozen=True)
class Fitted:
    """Args:
    earlier: Assumptions, history and rounds that the last request started from; its parameters
        are not kept.
    lineage: A random name of the fit, the same after every request.
    issued: Hashes of the certificates since, in order.
    fingerprint: Of the stored records and the template when this was made; never published.
    """

    job: NetworkJob
    outcome: NetworkOutcome
    earlier: dict[str, Any]
    ids: Mapping[Any, int]
    held_out: tuple[Inputs, Tensor] | None
    covered: bool
    lineage: str
    issued: tuple[str, ...] = ()
    certificate: Certificate | None = None
    comparison: Comparison | None = None
    fingerprint: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fingerprint", _digest(self.job))

    @property
    def unchanged(self) -> bool:
        """Whether records and template are still those that this was made with."""
        return _digest(self.job) == self.fingerprint


def records_of(outcome: NetworkOutcome) -> dict[str, Any]:
    return {name: getattr(outcome, name) for name in ("assumptions", "history", "rounds")}


def certificate_sha256(certificate: Certificate) -> str:
    return hashlib.sha256(certificate.canonical().encode()).hexdigest()


def _digest(job: NetworkJob) -> int:
    """A checksum of the stored records and the start, to notice accidental changes."""
    checksum = 0
    tensors = [part for _, part in tensors_in(job.inputs)] + [job.targets, job.keep]
    if job.public_inputs is not None and job.public_targets is not None:
        tensors += [part for _, part in tensors_in(job.public_inputs)] + [job.public_targets]
    for tensor in (*tensors, *state_of(job.module).values()):
        flat = tensor.contiguous().flatten().view(torch.uint8)
        checksum = zlib.crc32(flat.numpy().data, checksum)
    return checksum
