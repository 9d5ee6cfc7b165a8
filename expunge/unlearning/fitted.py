"""What a fitted model knows, fixed when it was made; public as `fitted_`.

A request reads this record and replaces it as a whole (`requests.honour`). Nothing that a
certificate rests on is read from an estimator's parameters after `fit`: they may change, this does
not.
"""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Self

from torch import Tensor

from expunge.accounting.certificate import Certificate
from expunge.accounting.reservations import Origin, Provenance
from expunge.core.checksums import Checksums, RowsFrom, checksum
from expunge.core.sparse_rows import SparseRows
from expunge.errors import NoCertificate
from expunge.unlearning.job import Job
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.row_store import RowStore
from expunge.unlearning.secrecy import Secret

__all__ = ["Fitted", "fresh_lineage"]

CHANGED = "the stored records changed since fit; fit again"


@dataclass(frozen=True, repr=False, kw_only=True)
class Fitted(Secret):
    """The state of a fitted model: a request reads it and replaces it as a whole.

    Args:
        rows: Where the values of the records lie; a request erases them there.
        strategy: As it was at fit.
        released: Models of this fit are handed out.
        released_before: A model of an earlier fit was handed out, and no history accounts for it.
        lineage: A random name of the fit, the same after every request.
        copied: This state was saved, loaded or copied, so that another one may exist.
        certificate: The certificate of the last request.
        issued: A hash for each model since fit, in order: of its certificate, of the last one where
            it has several, or of the model's file where records joined before any was forgotten,
            which needs no certificate.
        beside: Hashes of the other certificates of models that have several.
        labels: Where the label set came from; None without labels, or if the module fixes them.
        fingerprint: Checksums of all that is stored, taken at fit and at every request and
            carried by copies; never published. A request renews that of model and secret state, and
            those of the blocks of its own rows. Rows on disk have none: their chunks have digests,
            which whoever reads one checks.
    """

    job: Job
    rows: RowStore
    strategy: Any
    outcome: Outcome
    released: bool
    released_before: bool
    lineage: str
    copied: bool = False
    certificate: Certificate | None = None
    issued: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    labels: Origin | None = None
    fingerprint: Checksums | None = None

    def __post_init__(self) -> None:
        if self.fingerprint is None:
            object.__setattr__(self, "fingerprint", self._digest())

    def _rebuild(self, values: dict[str, Any]) -> Self:
        """A copy, shallow or deep; both say from now on that another one may exist."""
        other = super()._rebuild(values)
        for state in (self, other):
            object.__setattr__(state, "copied", True)
        return other

    def after(self, job: Job, outcome: Outcome) -> Self:
        """The state after a request, before its certificate is issued."""
        return replace(self, job=job, outcome=outcome.lay_out())

    def with_certificates(self, certificates: Sequence[Certificate], rows: Iterable[int]) -> Self:
        """The state once its certificates are issued, with a fingerprint of its own.

        Args:
            certificates: None where nothing has been forgotten, so that there is nothing to
                certify.
            rows: The request's, which have been erased or have joined.
        """
        hashes = [each.sha256 for each in certificates]
        *beside, last = hashes or [sha256(self.model_bytes).hexdigest()]
        columns, state = self._columns, self._state_checksum()
        return replace(
            self,
            certificate=certificates[-1] if certificates else None,
            issued=(*self.issued, last),
            beside=(*self.beside, *beside),
            fingerprint=self._known.renewed(state, columns, rows if columns else ()),
        )

    def check_unchanged(self) -> None:
        """Check that this is the last state, and that the stored values are those it was made with.

        Raises:
            NoCertificate: a later request has erased records, or the stored values have changed.
        """
        self._check_last()
        if self._digest() != self.fingerprint:
            raise NoCertificate(CHANGED)

    def check_request(self, rows: Iterable[int]) -> None:
        """Check the same of what a request reads in any case: its own rows, and the state.

        Its cost does not depend on how many records there are.

        Raises:
            NoCertificate: as `check_unchanged`.
        """
        self._check_last()
        if not self._known.agree(self._state_checksum(), self._columns, rows):
            raise NoCertificate(CHANGED)

    def _check_last(self) -> None:
        if self.rows.erasures != self.job.roster.request:
            raise NoCertificate(
                "a later request has erased records of this state, or added some; go on from the "
                "state after it"
            )

    def _digest(self) -> Checksums:
        """Checksums of records, model and secret state, to notice accidental changes."""
        return Checksums.of(self._state_checksum(), self._columns)

    @property
    def _known(self) -> Checksums:
        assert self.fingerprint is not None
        return self.fingerprint

    @property
    def checksum(self) -> bytes:
        """The checksum of model and secret state, without the records."""
        return self._known.state

    @property
    def _columns(self) -> tuple[Tensor | SparseRows | RowsFrom, ...]:
        """What has a row for each record; empty where chunks on disk have it."""
        columns = self.job.row_columns
        return (*columns, self.job.roster.keys) if columns else ()

    def _state_checksum(self) -> bytes:
        """A checksum of all that is not checked by blocks."""
        named = (self.outcome.state, self.outcome.secret)
        kept = (values[name] for values in named for name in sorted(values))
        columns = self._columns
        apart = {id(each.values if isinstance(each, RowsFrom) else each) for each in columns}
        stored = (*self.job.stored_values(), *kept)
        return checksum(value for value in stored if id(value) not in apart)

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
        """Where noise, labels and state came from, for the certificate."""
        return Provenance(
            noise="operating system" if self.job.seed is None else "seeded",
            labels=self.labels,
            state="copied" if self.copied else "sole",
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Lines for the certificate about what the caller is responsible for."""
        raise NotImplementedError

    @property
    def model_bytes(self) -> bytes:
        """The model's file; certificates name its hash."""
        raise NotImplementedError


def fresh_lineage() -> str:
    """A random name for a fit; random for seeded fits too, whose data sets may differ."""
    return secrets.token_hex(16)
