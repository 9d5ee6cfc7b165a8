"""Every strategy is priced for its observer, and `auto` takes the cheapest sound one."""

from dataclasses import replace

import pytest

from expunge.errors import InvalidInput, NoCertificate
from expunge.losses import Logistic, Squared
from expunge.unlearning import CertifiedClassifier
from expunge.unlearning.linear.budget import metered
from expunge.unlearning.linear.choice import CAPACITY, cheapest, prices
from expunge.unlearning.linear.langevin import Langevin
from expunge.unlearning.linear.residual import Residual
from tests.unlearning.problems import job_of, without
from tests.unlearning.records import labelled

NAMES = {"residual", "langevin", "noise_first", "retrain"}


@pytest.mark.parametrize("loss", [Logistic(l2=0.1), Squared(l2=0.1), Squared(l2=0.1, radius=1.0)])
@pytest.mark.parametrize("observer", ["final", "all"])
def test_every_strategy_is_listed_once_those_that_can_be_taken_first_by_cost(loss, observer):
    listed = prices(job_of(loss, observer=observer), 6)
    assert {price.name for price in listed} - {"langevin without public data"} == NAMES
    assert len(listed) == len({price.name for price in listed})
    excluded = [price.excluded is not None for price in listed]
    assert excluded == sorted(excluded)
    taken = [price.steps for price in listed if price.excluded is None]
    assert taken == sorted(taken)
    assert all(price.excluded for price, out in zip(listed, excluded, strict=True) if out)


def test_for_observer_all_only_langevin_can_be_taken():
    listed = prices(job_of(observer="all"), 6)
    assert [price.name for price in listed if price.excluded is None] == ["langevin"]
    for price in listed:
        if not price.name.startswith("langevin"):
            assert "base model" in price.excluded
    assert isinstance(cheapest(job_of(observer="all"), 6), Langevin)


def test_for_the_final_observer_residual_is_the_cheapest():
    assert cheapest(job_of(), 6) == Residual()
    first = prices(job_of(), 6)[0]
    assert first.name == "residual"
    assert first.release_noise_std == Residual().noise(job_of())[0]


def test_the_price_of_a_solve_is_about_the_passes_that_it_takes():
    """Cold, and warm after a tenth of the records left, at the ridge that prices are for.

    Passes are products of a gradient's size; a price within a third of what was measured.
    """
    job = job_of(Logistic(l2=1e-3), private=600, public=400)
    listed = {price.name: price.steps for price in prices(job, 60)}
    (cold, learning), (warm, request) = metered(job), metered(without(job, range(400, 460)))
    Residual().fit(cold)
    Residual().forget(warm, Residual().fit(job))
    assert 2 / 3 < learning.flops / (4 * 1000 * 5) / listed["retrain"] < 4 / 3
    assert 2 / 3 < request.flops / (4 * 940 * 5) / listed["residual"] < 4 / 3


@pytest.mark.parametrize("loss", [Logistic(l2=0.1), Squared(l2=0.1), Squared(l2=0.1, radius=1.0)])
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("observer", ["final", "all"])
@pytest.mark.parametrize("forget", [1, 6, 29, 30])
def test_every_cost_is_a_share_of_what_retrain_costs_in_the_same_list(
    loss, adaptive, observer, forget
):
    job = job_of(loss, private=30, public=20, observer=observer)
    listed = prices(replace(job, adaptive_requests=adaptive), forget)
    (retrain,) = (price for price in listed if price.name == "retrain")
    assert retrain.cost_of_retraining == 1
    for price in listed:
        if price.steps is None:
            assert price.cost_of_retraining is None
        else:
            assert price.cost_of_retraining * retrain.steps == pytest.approx(price.steps, rel=1e-12)


def test_fifty_noisy_steps_cost_more_than_retraining_by_a_solver():
    """They were listed at a tenth of retraining, beside a retraining of 24 passes."""
    listed = {price.name: price for price in prices(job_of(), 6)}
    assert listed["langevin"].steps > listed["retrain"].steps
    assert listed["langevin"].cost_of_retraining > 1


def test_retraining_is_exact_for_every_loss():
    for loss in (Logistic(l2=0.1), Squared(l2=0.1)):
        retrain = {price.name: price for price in prices(job_of(loss), 6)}["retrain"]
        assert (retrain.epsilon, retrain.guarantee, retrain.excluded) == (0.0, "exact", None)


def test_without_a_ball_noisy_descent_on_squares_is_excluded_with_the_reason():
    excluded = {p.name: p.excluded for p in prices(job_of(Squared(l2=0.1)), 6)}
    assert "give a radius" in excluded["langevin"]
    assert "give a radius" in excluded["noise_first"]
    assert excluded["residual"] is None
    assert excluded["retrain"] is None


def test_no_sound_strategy_is_an_error():
    with pytest.raises(ValueError, match="none can be taken for observer"):
        cheapest(job_of(Squared(l2=0.1), observer="all"), 6)


def test_prices_do_not_depend_on_what_the_records_hold():
    job = job_of()
    before = prices(job, 6)
    job.features[:] = 0.2
    job.targets[:] = 1
    assert prices(job, 6) == before


def test_public_records_lower_the_noise_by_their_share():
    """Observer all: sigma is proportional to 1/(private + public)."""
    listed = prices(job_of(private=50, public=150, observer="all"), 5)
    sigma = {price.name: price.sigma for price in listed}
    assert sigma["langevin without public data"] / sigma["langevin"] == pytest.approx(4, rel=1e-9)


def test_without_public_records_there_is_nothing_to_compare_with_when_all_others_leave():
    listed = [price.name for price in prices(job_of(private=3, public=5, observer="all"), 3)]
    assert "langevin" in listed
    assert "langevin without public data" not in listed


def test_where_requests_may_look_at_models_noise_first_is_out_and_langevin_takes_more_noise():
    job = job_of(private=200, public=100)
    plain = {price.name: price for price in prices(job, 5)}
    read = {price.name: price for price in prices(replace(job, adaptive_requests=True), 5)}
    assert plain["noise_first"].excluded is None
    assert "nothing covers requests" in read["noise_first"].excluded
    assert read["langevin"].sigma > plain["langevin"].sigma
    assert read["residual"] == plain["residual"]
    assert read["langevin"].steps == 1
    assert cheapest(replace(job, adaptive_requests=True), 5) == cheapest(job, 5) == Residual()


def test_a_capacity_is_for_a_strategy_that_is_only_named():
    X, y = labelled(200)
    named = {"observer": "all", "capacity": 0.02}
    for strategy in ("auto", "langevin"):
        clf = CertifiedClassifier(strategy=strategy, **named).fit(X, y)
        assert clf.fitted_.strategy == Langevin(capacity=0.02)
    plain = CertifiedClassifier(observer="all").fit(X, y)
    assert plain.fitted_.strategy.capacity == CAPACITY == 0.1
    own = CertifiedClassifier(observer="all", strategy=Langevin(capacity=0.3)).fit(X, y)
    assert own.fitted_.strategy.capacity == 0.3


def test_a_capacity_in_two_places_is_refused():
    X, y = labelled(200)
    clf = CertifiedClassifier(strategy=Langevin(), capacity=0.1)
    with pytest.raises(InvalidInput, match=r"capacity: .* write Langevin\(capacity=\.\.\.\)"):
        clf.fit(X, y)


@pytest.mark.parametrize("strategy", ["residual", "retrain", Residual()])
def test_strategies_whose_noise_is_not_fixed_at_fit_do_not_use_it(strategy):
    X, y = labelled(100)
    clf = CertifiedClassifier(strategy=strategy, capacity=0.01).fit(X, y)
    assert clf.forget(range(50)).forgotten == 50


def test_a_capacity_bounds_what_may_be_forgotten_in_all():
    X, y = labelled(200)
    clf = CertifiedClassifier(observer="all", capacity=0.02).fit(X, y)
    assert clf.forget([0, 1, 2, 3]).claim.epsilon <= 1
    with pytest.raises(NoCertificate, match="larger capacity"):
        clf.forget([4])


def test_noise_falls_with_the_capacity():
    X, y = labelled(200)
    sigmas = [
        CertifiedClassifier(observer="all", capacity=share).fit(X, y).history_.phases[0].sigma
        for share in (0.01, 0.1)
    ]
    assert sigmas[1] == pytest.approx(10 * sigmas[0], rel=0.01)
