"""What exact release noise costs, in seconds for 100,000 coordinates."""

import time

import numpy as np

from expunge.core.release import draw

__all__ = ["measure"]


def measure() -> list[dict[str, object]]:
    """Measure the exact draws of release noise."""
    start = time.perf_counter()
    draw(np.zeros(100_000), 1.0, 2.0**-20)
    seconds = time.perf_counter() - start
    return [{"name": "seconds for 100,000 exact draws", "ratio": seconds, "limit": 1.0}]
