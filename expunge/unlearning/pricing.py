"""What every strategy costs for a job, and which observers it is sound for."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from expunge.accounting.prices import EXPOSED, Price, list_prices
from expunge.accounting.target import Observer
from expunge.errors import InvalidInput
from expunge.unlearning.strategy import Strategy

__all__ = ["check_observer", "price_each"]


def check_observer(strategy: Strategy[Any], observer: Observer) -> None:
    """Check that a strategy is sound for an observer.

    Raises:
        InvalidInput: the strategy is not sound for this observer.
    """
    if observer not in strategy.observers:
        raise InvalidInput("strategy", f"{strategy.name} is for observer 'final': {EXPOSED}")


def price_each(strategies: Mapping[str, Any], job: Any, forget: int) -> list[Price]:
    """Price every strategy for forgetting so many records; those that can be taken come first."""
    rows = []
    for strategy in strategies.values():
        try:
            price = strategy.price(job, forget)
            if not isinstance(price, Price) or price.name != strategy.name:
                raise InvalidInput("price", f"{price!r} is no price of {strategy.name}")
        except Exception as error:  # of another package it may be anything
            price = Price(strategy.name, guarantee="none", excluded=str(error))
        if job.observer not in strategy.observers and price.excluded is None:
            price = replace(price, epsilon=None, excluded=EXPOSED)
        rows.append(price)
    return list_prices(rows)
