"""Which strategy: every one priced for a job, and the cheapest sound one for `auto`."""

from typing import Any

from expunge.accounting.prices import Price, list_prices
from expunge.unlearning.linear.langevin import Langevin
from expunge.unlearning.linear.linear_job import LinearJob, attainable
from expunge.unlearning.pricing import price_each
from expunge.unlearning.strategy import registered_strategies

__all__ = ["CAPACITY", "cheapest", "prices"]

CAPACITY = Langevin.capacity  # share of the private records, where nothing is said


def prices(job: LinearJob, forget: int) -> list[Price]:
    """Every strategy for forgetting so many records; those that can be taken first, by cost."""
    rows = price_each(registered_strategies("linear"), job, forget)
    (langevin,) = (row for row in rows if row.name == "langevin")
    if job.observer == "all" and langevin.excluded is None:
        alone = Langevin().price_without_public(job, forget)
        rows += [] if alone is None else [alone]
    return list_prices(rows)


def cheapest(job: LinearJob, forget: int) -> Any:
    """What `auto` takes; langevin last, whose noise is in every model before any deletion.

    Strategies of other packages are listed, and taken by name alone.

    Raises:
        ValueError: no strategy is sound for this observer and target.
    """
    ours, listed = registered_strategies("linear", foreign=False), prices(job, forget)
    for price in sorted(listed, key=lambda price: price.name == "langevin"):
        if price.excluded is None and price.name in ours:
            return attainable(ours[price.name], job)
    reasons = "; ".join(f"{price.name}: {price.excluded}" for price in listed)
    raise ValueError(f"strategy: none can be taken for observer {job.observer!r} ({reasons})")
