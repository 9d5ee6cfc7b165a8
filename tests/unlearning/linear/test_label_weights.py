"""Weights of labels are fixed in advance, and those of records are refused."""

import numpy as np
import pytest

from expunge import CertifiedClassifier, CertifiedRegressor
from expunge.errors import InvalidInput
from expunge.unlearning import Langevin, NoiseFirst, Residual, Retrain, load
from expunge.unlearning.linear.label_weights import label_weights
from tests.unlearning.records import labelled


@pytest.mark.parametrize("estimator", [CertifiedClassifier, CertifiedRegressor])
def test_weights_of_single_records_are_refused_with_the_reason(estimator):
    X, y = labelled(60)
    with pytest.raises(InvalidInput, match=r"sample_weight: .* change when one goes") as refused:
        estimator().fit(X, y, sample_weight=np.ones(60))
    assert "class_weight" in str(refused.value)
    assert "\n" not in str(refused.value)
    estimator().fit(X, y, sample_weight=None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'weight'"):
        estimator().fit(X, y, weight=1)


def test_weights_that_are_counted_are_refused_with_the_reason():
    X, y = labelled(60)
    with pytest.raises(ValueError, match="class_weight: 'balanced' would count private") as refused:
        CertifiedClassifier(class_weight="balanced").fit(X, y)
    assert "a number for each label" in str(refused.value)


def test_weights_are_put_in_the_order_of_the_labels_and_are_one_where_nothing_is_said():
    labels = np.array(["a", "b", "c"])
    assert label_weights({"c": 3, "a": 2.0}, labels) == (2.0, 1.0, 3.0)
    assert label_weights(None, labels) is None
    assert label_weights({np.int64(7): 2}, np.array([7])) == (2.0, 2.0)
    with pytest.raises(ValueError, match="class_weight: label 'd' is not one of the labels"):
        label_weights({"d": 1.0}, labels)


@pytest.mark.parametrize(
    "strategy", [Residual(), Langevin(20), NoiseFirst(20, 4), Retrain()], ids=lambda s: s.name
)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_strategy_takes_fixed_weights_into_its_constants(tmp_path, strategy, classes):
    X, y = labelled(200, classes=classes)
    plain, heavy = (
        CertifiedClassifier(strategy=strategy, class_weight=weights, random_state=0).fit(X, y)
        for weights in (None, {0: 8.0, 1: 0.5})
    )
    assert (heavy.predict(X) == 0).mean() > (plain.predict(X) == 0).mean()
    heavy.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.class_weight == {0: 8.0, 1: 0.5}
    assert again.fitted_.job.loss == heavy.fitted_.job.loss
    np.testing.assert_array_equal(again.predict(X), heavy.predict(X))
    before, after = plain.forget([5]), again.forget([5])
    assert after.assumptions["lipschitz"].value == 8 * before.assumptions["lipschitz"].value
    assert after.claim.epsilon <= 1
    assert any("labels have weights that were fixed in advance" in line for line in after.scope)
    assert not any("weights" in line for line in before.scope)
    assert heavy.release().predict_proba(X).shape == (200, classes)


def test_weights_change_what_the_noise_is_calibrated_to():
    """mu is proportional to M: eight times as much noise for eight times the weight."""
    X, y = labelled(200)
    strategy = Langevin(50, step_size=0.1)
    sigmas = [
        CertifiedClassifier(strategy=strategy, observer="all", class_weight=weights)
        .fit(X, y)
        .history_.phases[0]
        .sigma
        for weights in (None, {0: 8.0, 1: 8.0})
    ]
    assert sigmas[1] == pytest.approx(8 * sigmas[0], rel=1e-9)


def test_requests_about_weighted_records_take_passes():
    X, y = labelled(200)
    clf = CertifiedClassifier(class_weight={0: 2.0}).fit(X, y)
    clf.forget([3])
    assert clf.fitted_.outcome.read_every_row
    assert "gram" in clf.fitted_.outcome.secret


def test_labels_of_any_kind_keep_their_weights_on_disk(tmp_path):
    X, y = labelled(60)
    for name, labels in (("text", np.array(["no", "yes"])), ("float", np.array([2.0, 7.0]))):
        weights = {labels[1]: np.float32(2)}
        clf = CertifiedClassifier(class_weight=weights).fit(X, labels[y])
        clf.save(tmp_path / name)
        assert load(tmp_path / name).class_weight == {labels[1].item(): 2.0}
