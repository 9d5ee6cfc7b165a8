"""The two ways in which accounting says no.

`InvalidInput` means the question makes no sense: a field is wrong, and no bound
can be asked about it. `Refused` means the question is fine but one theorem's
hypotheses do not hold for it; other bounds may still answer.
"""

__all__ = ["LARGEST", "SMALLEST", "InvalidInput", "Refused"]

# Products of a few numbers in this range do not overflow; those that vanish are handled.
SMALLEST, LARGEST = 1e-300, 1e100


class InvalidInput(ValueError):
    """A field of the input is wrong; `field` names it."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class Refused(Exception):
    """A theorem's hypotheses do not hold for this history."""
