"""Which fit a state comes from, and which certificates it has issued since.

A state follows another when both come from one fit and the certificates of the earlier are the
first of the later. Only a state that follows the saved one may replace it: any other would undo a
request that was honoured.
"""

import secrets
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from expunge.accounting.certificate import Certificate
from expunge.accounting.stated import SHA256
from expunge.errors import InvalidInput

__all__ = ["Lineage"]


class Lineage(BaseModel):
    """The random name of a fit, and a hash for each of its models in order.

    Args:
        issued: Hashes of the certificates, of the last one where a model has several; before the
            first of them, of models that records joined while nothing was forgotten, which have
            none.
        beside: Hashes of the other certificates of models that have several.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    fit: str = Field(pattern=r"^[0-9a-f]{32}$")
    issued: tuple[Annotated[str, Field(pattern=SHA256)], ...] = ()
    beside: tuple[Annotated[str, Field(pattern=SHA256)], ...] = ()

    @classmethod
    def start(cls) -> "Lineage":
        """Name a new fit, which has issued nothing."""
        return cls(fit=secrets.token_hex(16))

    def after(self, certificate: Certificate) -> "Lineage":
        """The lineage once this certificate is issued."""
        return self.model_copy(update={"issued": (*self.issued, certificate.sha256)})

    def check_follows(self, earlier: "Lineage", folder: str) -> None:
        """Check that saving this state over the earlier one undoes no request.

        Raises:
            InvalidInput: it would undo a request; the folder is named.
        """
        if self.fit != earlier.fit and earlier.issued:
            raise InvalidInput(folder, "holds requests of another fit; choose another folder")
        if self.fit == earlier.fit and self.issued[: len(earlier.issued)] != earlier.issued:
            raise InvalidInput(
                folder, "holds a request that this state has not honoured; load it from there"
            )

    def check_issued(self, certificate: Certificate, folder: str) -> None:
        """Check that the state is no earlier than a certificate that was kept elsewhere.

        Raises:
            InvalidInput: it has not issued that certificate.
        """
        if certificate.sha256 not in {*self.issued, *self.beside}:
            raise InvalidInput(
                folder,
                "has not issued this certificate: it is from before that request, or of another "
                "fit; put back the folder that issued it",
            )
