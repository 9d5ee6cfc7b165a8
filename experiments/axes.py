"""Axes that several figures share."""

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

__all__ = ["mark_below", "set_volume_axis"]


def set_volume_axis(axes: Axes, volumes: list[float]) -> None:
    """Set public volumes, zero included, as the ticks of a logarithmic axis."""
    axes.set_xscale("symlog", linthresh=0.5, linscale=0.5)
    axes.set_xticks(volumes, [f"{volume:.2g}" for volume in volumes], minor=False)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(min(volumes) - 0.1, 1.15 * max(volumes))
    axes.set_xlabel("public rows for each retained private row")


def mark_below(axes: Axes, places: Iterable[float], values: Iterable[float], colour: Any) -> None:
    """Show values that are not above 0, which a logarithmic axis has no place for, at its foot."""
    below = [place for place, value in zip(places, values, strict=True) if value <= 0]
    if below:
        axes.plot(
            below, [0.03] * len(below), transform=axes.get_xaxis_transform(), ls="none",
            marker=11, ms=7, color=colour, label="not above 0",
        )  # fmt: skip
