"""What capacity costs: less of it, less noise, a better model; the public-only model beside it."""

import numpy as np
import pytest

from expunge.errors import InvalidInput
from expunge.unlearning import CertifiedClassifier, CertifiedRegressor, Langevin, Residual
from expunge.unlearning.linear.capacity_curve import CAPACITIES, with_capacity
from expunge.unlearning.linear.rehearsal import FEWEST
from tests.unlearning.records import labelled, measured

pytestmark = pytest.mark.filterwarnings("ignore::expunge.errors.SettingsWarning")


def fitted(private=2000, public=600, seed=1, **settings):
    X, y = labelled(public, noise=0.1)
    P, t = labelled(private, seed=seed, noise=0.1)
    given = {"observer": "all", "epsilon": 5.0} | settings
    return CertifiedClassifier(**given).fit(P, t, public=(X, y))


def test_scores_fall_from_the_public_only_model_to_a_constant_as_capacity_grows():
    curve = fitted().capacity_curve()
    scores = [point.score for point in curve.points]
    assert curve.measure == "accuracy"
    assert curve.public_only > 0.9
    assert curve.constant == pytest.approx(0.5, abs=0.1)
    assert abs(scores[0] - curve.public_only) < 0.05
    assert scores[-1] < 0.75
    assert max(np.diff(scores)) < 0.06  # the same noise, more and more of it


def test_noise_grows_with_what_may_be_forgotten_and_is_what_a_fit_draws():
    clf = fitted(capacity=0.01)
    curve = clf.capacity_curve()
    sigmas = [point.sigma for point in curve.points]
    assert sigmas == sorted(sigmas)
    (here,) = (point for point in curve.points if point.capacity == 0.01)
    assert here.records == 20
    assert here.sigma == clf.history_.phases[0].sigma


def test_a_point_does_not_depend_on_the_others():
    clf = fitted()
    alone = clf.capacity_curve([0.03]).points
    assert alone == tuple(point for point in clf.capacity_curve().points if point.capacity == 0.03)


def test_capacities_that_name_as_many_records_are_one_point():
    curve = fitted(private=100).capacity_curve()
    assert [point.records for point in curve.points] == [1, 3, 10, 30]
    assert len(CAPACITIES) == 6


def test_private_records_change_a_curve_by_their_number_alone():
    curves = [fitted(seed=seed).capacity_curve() for seed in (1, 5)]
    assert curves[0] == curves[1]
    assert fitted(private=400).capacity_curve() != curves[0]


def test_a_model_of_any_strategy_can_be_asked():
    clf = fitted(observer="final")
    assert clf.fitted_.strategy.name == "residual"
    final, everyone = clf.capacity_curve(), fitted().capacity_curve()
    assert [a.sigma < b.sigma for a, b in zip(final.points, everyone.points, strict=True)] == [
        True
    ] * len(final.points)


@pytest.mark.parametrize("reference", ["start", "center"])
def test_a_reference_is_learned_from_the_learned_half_alone(reference):
    """A center that had seen the rows held out would look better than it is."""
    X, y = labelled(FEWEST, features=60, noise=3.0)
    curve = CertifiedClassifier(observer="all", l2=1e-5, reference=reference).fit(
        X, y, public=(X, y)
    )
    (least, *_) = curve.capacity_curve([1e-3]).points
    assert least.score < 0.75


def test_a_regression_has_its_share_of_variance_explained():
    X, y = measured(600)
    clf = CertifiedRegressor(strategy=Langevin(learn_steps=60), radius=4.0, l2=1e-3).fit(
        X[500:], y[500:], public=(X[:500], y[:500])
    )
    curve = clf.capacity_curve([0.01, 1.0])
    assert (curve.measure, curve.constant) == ("R2", 0.0)
    assert 0 < curve.public_only < 1
    assert curve.points[1].score < curve.points[0].score < 1


@pytest.mark.parametrize("bad", [[0.0], [1.5], ["x"], [np.nan], [-0.1]])
def test_what_is_no_share_is_refused(bad):
    with pytest.raises(ValueError, match="capacity"):
        fitted().capacity_curve(bad)


def test_too_few_public_records_are_refused():
    with pytest.raises(InvalidInput, match=f"public: .* at least {FEWEST} are needed"):
        fitted(public=FEWEST - 1).capacity_curve()


def test_the_document_holds_every_figure():
    document = fitted().capacity_curve([0.1]).document()
    assert set(document) == {"measure", "constant", "public_only", "points"}
    assert set(document["points"][0]) == {"capacity", "records", "sigma", "score"}


def test_a_capacity_is_taken_by_a_strategy_whose_noise_depends_on_one_and_by_no_other():
    assert with_capacity(Langevin(), 0.3) == Langevin(capacity=0.3)
    assert with_capacity(Langevin(), None) == Langevin()
    assert with_capacity(Residual(), 0.3) == Residual()
