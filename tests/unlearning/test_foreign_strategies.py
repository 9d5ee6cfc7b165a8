"""What other packages may and may not register."""

import pytest

from expunge.accounting.prices import Price
from expunge.errors import InvalidInput
from expunge.unlearning import foreign_strategies
from expunge.unlearning.linear.choice import cheapest, prices
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.strategy import (
    OURS,
    registered_name,
    registered_strategies,
    registered_type,
    strategy_names,
    strategy_of,
)
from tests.unlearning.problems import job_of
from tests.unlearning.test_strategy import Other


class Entry:
    """An entry point of another package."""

    def __init__(self, name, loaded):
        self.name, self.value, self.loaded = name, "theirs:record", loaded

    def load(self):
        if isinstance(self.loaded, BaseException):
            raise self.loaded
        return self.loaded


@pytest.fixture
def offer(monkeypatch):
    """Registers entry points as an installed package would."""

    def offered(*entries):
        monkeypatch.setattr(foreign_strategies.metadata, "entry_points", lambda **_: entries)
        foreign_strategies.foreign_entries.cache_clear()

    yield offered
    monkeypatch.undo()
    foreign_strategies.foreign_entries.cache_clear()


def test_a_record_that_names_no_comparator_is_refused():
    class Silent(Other):
        comparator = None

    with pytest.raises(InvalidInput, match="lacks comparator"):
        strategy_of("linear", Silent())


def test_a_record_may_not_take_the_name_of_one_of_ours():
    class Taken(Other):
        name = "residual"

    with pytest.raises(InvalidInput, match="'residual' is a strategy of expunge"):
        strategy_of("linear", Taken())


def test_another_packages_strategy_is_one_of_the_names(offer):
    offer(Entry("linear.other", Other), Entry("network.another", Other))
    assert strategy_names("linear") == [*OURS["linear"], "other"]
    assert strategy_of("linear", "other") == Other()
    assert registered_name(Other(3)) == "linear.other"
    assert registered_type("linear.other") is Other


def test_it_cannot_override_one_of_ours(offer):
    offer(Entry("linear.residual", Other))
    assert strategy_names("linear") == list(OURS["linear"])
    assert strategy_of("linear", "residual") == Residual()


@pytest.mark.parametrize(
    ("loaded", "said"),
    [
        (ImportError("gone"), "does not load: gone"),
        (object, "lacks name, observers"),
        (type("Renamed", (Other,), {"name": "else"}), "calls itself 'else'"),
    ],
)
def test_what_goes_wrong_in_it_is_one_line_that_names_it(offer, loaded, said):
    offer(Entry("linear.other", loaded))
    with pytest.raises(InvalidInput, match=said):
        strategy_of("linear", "other")


def test_a_plugin_that_does_not_load_breaks_nobodys_plan(offer):
    offer(Entry("linear.other", ImportError("gone")), Entry("linear.exit", SystemExit(3)))
    assert set(registered_strategies("linear")) == set(OURS["linear"])
    with pytest.raises(InvalidInput, match="does not load"):
        strategy_of("linear", "exit")


def test_auto_takes_one_of_ours_however_cheap_another_is(offer):
    class Cheap(Other):
        name = "cheap"

        def price(self, job, forget):
            return Price("cheap", steps=0, epsilon=0.0)

    offer(Entry("linear.cheap", Cheap))
    assert cheapest(job_of(), 6) == Residual()
    assert "cheap" in [price.name for price in prices(job_of(), 6)]
