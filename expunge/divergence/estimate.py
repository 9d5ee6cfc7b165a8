"""The record of an estimate: a number, its interval, and in words which kind of number it is."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Estimate", "Kind"]

Kind = Literal["unbiased estimate", "lower estimate", "upper estimate", "prediction"]


@dataclass(frozen=True)
class Estimate:
    """An estimate of D_order(of || against), and how it was made.

    Args:
        value: May be negative: then the samples are consistent with 0. Never clipped.
        interval: At confidence `level`; None if the method gives none.
        model: What the laws are taken to be; an estimate is only as good as that.
        notes: What the samples say against the model, and what the value leaves out.
    """

    value: float
    interval: tuple[float, float] | None
    method: str
    kind: Kind
    order: float
    level: float
    model: str
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        interval = ""
        if self.interval is not None:
            low, high = self.interval
            interval = f" [{low:.4g}, {high:.4g}] at {self.level:.0%}"
        return f"D_{self.order:g} = {self.value:.4g}{interval} ({self.kind}, {self.method})"
