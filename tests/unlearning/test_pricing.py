"""One list for every kind of model: shares of the same retraining, and why one is excluded."""

import pytest

from expunge.accounting.prices import EXPOSED, Price
from expunge.errors import InvalidInput, NoCertificate
from expunge.unlearning.pricing import check_observer, price_each
from expunge.unlearning.strategy import registered_strategies
from tests.unlearning.networks.problems import job_of as network_job
from tests.unlearning.problems import job_of as linear_job

JOBS = {"linear": linear_job, "network": network_job}


class Fixed:
    """A strategy with one price."""

    observers = ("final",)

    def __init__(self, name, price):
        self.name, self.given = name, price

    def price(self, job, forget):
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


@pytest.mark.parametrize("models", JOBS)
@pytest.mark.parametrize("observer", ["final", "all"])
def test_costs_are_shares_of_retraining_in_the_same_list(models, observer):
    rows = price_each(registered_strategies(models), JOBS[models](observer=observer), 3)
    assert {row.name for row in rows} == set(registered_strategies(models))
    (retraining,) = (row.steps for row in rows if row.name == "retrain")
    for row in rows:
        if row.steps is not None:
            assert row.cost_of_retraining * retraining == pytest.approx(row.steps)
    taken = [row.steps for row in rows if row.excluded is None]
    assert taken == sorted(taken)
    for row in rows:
        if observer not in registered_strategies(models)[row.name].observers:
            assert row.excluded is not None


def test_what_cannot_be_priced_is_excluded_with_its_reason():
    retrain = Price("retrain", steps=10)
    for error in (ValueError("no ball"), NoCertificate("no noise"), TypeError("a plugin's")):
        rows = price_each({"a": Fixed("a", error), "r": Fixed("retrain", retrain)}, linear_job(), 1)
        assert rows[-1].excluded == str(error)
        assert rows[0].cost_of_retraining == 1


def test_an_observer_that_a_strategy_is_not_for_excludes_it_and_refuses_it():
    fixed = {"a": Fixed("a", Price("a", steps=1, epsilon=0.5)),
             "r": Fixed("retrain", Price("retrain", steps=10))}  # fmt: skip
    rows = {row.name: row for row in price_each(fixed, linear_job(observer="all"), 1)}
    assert (rows["a"].excluded, rows["a"].epsilon) == (EXPOSED, None)
    with pytest.raises(InvalidInput, match="a is for observer 'final'"):
        check_observer(fixed["a"], "all")
    check_observer(fixed["a"], "final")


@pytest.mark.parametrize("nonsense", [None, 3, Price("retrain", steps=1)])
def test_what_is_no_price_of_its_own_is_excluded(nonsense):
    known = {"a": Fixed("a", nonsense), "r": Fixed("retrain", Price("retrain", steps=10))}
    rows = {row.name: row for row in price_each(known, linear_job(), 1)}
    assert "is no price of a" in rows["a"].excluded
