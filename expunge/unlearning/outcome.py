"""A model with what its certificate is a function of, and secret state for the next request."""

from dataclasses import dataclass, field, replace

from torch import Tensor

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.history import History
from expunge.unlearning.model_file import SALT, salt_of
from expunge.unlearning.secrecy import Secret

__all__ = ["ROWS", "Outcome"]

ROWS = "rows."  # secret tensors under these names have one row for each record


@dataclass(frozen=True, repr=False)
class Outcome(Secret):
    """What a strategy returns, for every kind of model.

    Whoever makes it gives the salt (`model_file.add_salt`): making a record draws no randomness.

    Args:
        state: The model by name, on the CPU: `theta` (outputs, features) of a linear one; what a
            module's `state_dict` holds, where training moved it, of a network.
        assumptions, history: What the certificate is a function of; None before any deletion
            where the model carries no noise.
        declared: Lines for the certificate about what the history cannot say.
        rounds: For each phase, how many requests had been honoured before it.
        capacity: Records that may be forgotten in all, where the history counts all of them at
            every model handed out, so that requests may depend on models.
        noise_free: The model carries no noise: without a salt in its file, the file's hash would be
            a membership oracle.
        retained: What of `secret` outlives the request, in words.
        secret: Never released, never published: un-noised solutions and the like. Those whose
            names begin with "rows." have one row for each record, public ones first; those of
            forgotten records are zeroed once a request has succeeded.
        flops: What it cost, counted; for the operator alone, never printed in a certificate,
            because a solver's iterations depend on what is forgotten.
        read_every_row: Records beyond the request's own may have been read; for the operator alone.
    """

    state: dict[str, Tensor]
    assumptions: Assumptions | None
    history: History | None
    declared: tuple[str, ...] = ()
    rounds: tuple[int, ...] = ()
    capacity: int | None = None
    noise_free: bool = False
    retained: tuple[str, ...] = ()
    secret: dict[str, Tensor] = field(default_factory=dict)
    flops: float = 0.0
    read_every_row: bool = True

    def __post_init__(self) -> None:
        if self.noise_free and SALT not in self.secret:
            raise ValueError("a model without noise, and no salt for its file")

    def lay_out(self) -> "Outcome":
        """Lay tensors out as a file does, so that a loaded state gives the same bits."""
        secret = {name: value.contiguous() for name, value in self.secret.items()}
        return replace(self, secret=secret)

    @property
    def by_record(self) -> list[Tensor]:
        """The secret tensors that have a row for each record."""
        return [values for name, values in self.secret.items() if name.startswith(ROWS)]

    @property
    def theta(self) -> Tensor:
        """The weights of a linear model: (outputs, features) float64."""
        return self.state["theta"]

    @property
    def salt(self) -> str | None:
        """The salt of the model's file; None for a model that carries noise."""
        return salt_of(self.secret) if self.noise_free else None
