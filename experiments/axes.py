"""Axes that several figures share."""

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

__all__ = ["set_volume_axis"]


def set_volume_axis(axes: Axes, volumes: list[float]) -> None:
    """Set public volumes, zero included, as the ticks of a logarithmic axis."""
    axes.set_xscale("symlog", linthresh=0.5, linscale=0.5)
    axes.set_xticks(volumes, [f"{volume:.2g}" for volume in volumes], minor=False)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("public rows for each retained private row")
