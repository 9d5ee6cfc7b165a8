"""What a fitted estimator knows, fixed when it was made.

A request reads this record and replaces it as a whole. Nothing that a certificate rests on is read
from an estimator's parameters after `fit`: they may change, this does not.
"""

import secrets
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from expunge.accounting.certificate import Certificate
from expunge.accounting.reservations import Origin, Provenance
from expunge.errors import NoCertificate
from expunge.unlearning.choice import Strategy
from expunge.unlearning.job import Job, Outcome
from expunge.unlearning.linear_head import LinearHead
from expunge.unlearning.secrecy import Secret

__all__ = ["Circumstances", "Fitted", "checksum", "fresh_lineage"]


class Circumstances:
    """What certificates say of the fit that they belong to; linear models and networks alike."""

    job: Any
    strategy: Any
    outcome: Any
    released: bool
    released_before: bool
    copied: bool
    certificate: Certificate | None
    labels: Origin | None = None

    @property
    def strategy_name(self) -> str:
        return self.strategy.name

    @property
    def delta(self) -> float:
        return self.job.target.delta

    @property
    def budget(self) -> float:
        return self.job.target.level

    @property
    def records(self) -> int:
        return self.job.public + self.job.private

    @property
    def covered(self) -> bool:
        """Whether the history accounts for every earlier model that was handed out."""
        if self.released_before:
            return False
        if self.job.observer == "all" or self.outcome.capacity is not None:
            return True
        return not self.released and self.certificate is None

    @property
    def provenance(self) -> Provenance:
        return Provenance(
            noise="operating system" if self.job.seed is None else "seeded",
            labels=self.labels,
            state="copied" if self.copied else "sole",
        )


@dataclass(frozen=True, repr=False)
class Fitted(Circumstances, Secret):
    """The state of a fitted estimator.

    Args:
        ids: Row of each private id.
        classes: Labels of a classifier, sorted; None for a regression.
        released: Models of this fit are handed out.
        released_before: So was a model of an earlier fit, and nothing accounts for it.
        labels: Where the label set came from.
        lineage: A random name of the fit, the same after every request.
        copied: This state was saved, loaded or copied, so that another one may exist.
        certificate: Of the last request.
        fingerprint: A checksum of all that is stored, taken at fit and at every request and
            carried by copies; never published.
    """

    job: Job
    strategy: Strategy
    outcome: Outcome
    ids: Mapping[Any, int]
    classes: np.ndarray | None
    released: bool
    released_before: bool
    lineage: str
    labels: Origin | None = None
    copied: bool = False
    certificate: Certificate | None = None
    fingerprint: bytes | None = None

    def __post_init__(self) -> None:
        if self.fingerprint is None:
            object.__setattr__(self, "fingerprint", self._digest())

    def after(self, job: Job, outcome: Outcome, certificate: Certificate) -> "Fitted":
        """The state once a request has been honoured, with a fingerprint of its own."""
        return replace(self, job=job, outcome=outcome, certificate=certificate, fingerprint=None)

    def check_unchanged(self) -> None:
        """Check that the stored rows are those that this state was made with.

        Raises:
            NoCertificate: the stored rows are not those that this was made with.
        """
        if self._digest() != self.fingerprint:
            raise NoCertificate("the stored records changed since fit; fit again")

    def _digest(self) -> bytes:
        """A checksum of records, model and secret state, to notice accidental changes."""
        job, outcome = self.job, self.outcome
        records = (job.features, job.targets, job.keep, job.left, job.keys)
        points = (point for point in (job.start, job.center) if point is not None)
        secret = (outcome.secret[name] for name in sorted(outcome.secret))
        return checksum((*records, *points, outcome.theta, *secret))

    @property
    def head(self) -> LinearHead:
        """What predictions need."""
        return LinearHead(self.outcome.theta, self.job.loss, self.classes)


def checksum(tensors: Iterable[Tensor]) -> bytes:
    """CRC-32 of the bytes of these tensors."""
    value = 0
    for tensor in tensors:
        flat = tensor.detach().cpu().contiguous().flatten().view(torch.uint8)
        value = zlib.crc32(flat.numpy().data, value)
    return value.to_bytes(4, "big")


def fresh_lineage() -> str:
    """A random name for a fit; of seeded ones too, because others may hold another data set."""
    return secrets.token_hex(16)
