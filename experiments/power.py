"""An interval, and how many models would show an effect of its size."""

from dataclasses import dataclass

__all__ = ["Interval", "models_needed"]

POWER = 1.43  # (z_0.975 + z_0.8) / z_0.975: to be seen four times in five


@dataclass(frozen=True)
class Interval:
    """A value and the ends of its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.4f} [{self.low:+.4f}, {self.high:+.4f}]"


def models_needed(interval: Interval, models: int, against: float = 0.0) -> str:
    """How many models of each law would show the distance from `against` four times in five."""
    reach = (interval.high - interval.low) / 2
    count = models * (POWER * reach / max(abs(interval.value - against), 1e-9)) ** 2
    return "more than a million" if count > 1e6 else f"about {max(int(count), models + 1):,}"
