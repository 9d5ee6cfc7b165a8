"""The ways in which expunge says no: used by every package, owned by none.

InvalidInput    the question makes no sense: a field is wrong, and it is named
Refused         the question is fine, but a theorem's hypotheses do not hold for it
Altered         a file was read, and is not what was written; it is named
MissingPackage  a document rests on a package that is not installed, and it is named
NoCertificate   something that voids the certificate was noticed; the model is untouched
NotConverged    no solver reached its tolerance

Two are warnings, and no refusals: SettingsWarning, of settings that public records or counts show
to be poor, and RecordsWarning, of private records that could not be used.
"""

__all__ = [
    "Altered",
    "InvalidInput",
    "MissingPackage",
    "NoCertificate",
    "NotConverged",
    "RecordsWarning",
    "Refused",
    "SettingsWarning",
]


class InvalidInput(ValueError):
    """A field of the input is wrong; `field` names it."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        """The same error in another process, which a worker's caller reads."""
        return type(self), (self.field, self.problem)


class Altered(InvalidInput):
    """A file was read and is not what was written, or what it came from; `field` names it."""


class MissingPackage(InvalidInput):
    """A document rests on what another package offers, and that package is not installed."""


class Refused(Exception):
    """A theorem's hypotheses do not hold for this history; other bounds may still answer."""


class NoCertificate(RuntimeError):
    """Something that voids the certificate was noticed; the model is untouched."""


class NotConverged(RuntimeError):
    """No solver reached the tolerance."""


class SettingsWarning(UserWarning):
    """Public records, or counts, show that these settings are poor; the message has the remedy."""


class RecordsWarning(UserWarning):
    """Some private records could not be used as they are; for the operator, not to be published."""
