"""State is fixed at fit: no parameter changed later moves a certificate, in memory or from disk."""

import copy
import inspect
from dataclasses import replace

import numpy as np
import pytest

from expunge.accounting.certificate_chain import chain_differences
from expunge.losses import Declared
from expunge.store import read
from expunge.unlearning import (
    CertifiedClassifier,
    CertifiedRegressor,
    Langevin,
    NoCertificate,
    NoiseFirst,
    Residual,
    Retrain,
    load,
)
from tests.unlearning.certificates import told
from tests.unlearning.records import labelled, measured

KINDS = {"classifier": CertifiedClassifier, "regressor": CertifiedRegressor}
STRATEGIES = {
    "residual": Residual(1e-8),
    "langevin": Langevin(learn_steps=20, capacity=0.2),
    "noise_first": NoiseFirst(learn_steps=20, unlearn_steps=4),
    "retrain": Retrain(1e-8),
}
OTHER = {  # something else for every parameter of every estimator
    "epsilon": 0.1,
    "delta": 1e-7,
    "strategy": Retrain(),
    "observer": "all",
    "l2": 7.0,
    "row_norm": 0.01,
    "classes": [5, 6],
    "reference": "center",
    "released": False,
    "random_state": 99,
    "device": "meta",
    "adaptive_requests": True,
    "capacity": 0.5,
    "class_weight": {0: 9.0},
    "target_norm": 1e-3,
    "radius": 1e-2,
    "loss": Declared(lambda scores, _: scores[:, 0], 1e-9, 1e-9),
}


def parameters(kind):
    return list(inspect.signature(KINDS[kind]).parameters)


CHANGES = [(kind, name) for kind in KINDS for name in parameters(kind)]


def made(kind, strategy):
    X, y = labelled(60) if kind == "classifier" else measured(60)
    extra = {"classes": [0, 1]} if kind == "classifier" else {"radius": 4.0}
    settings = {"l2": "public", "random_state": 1, "row_norm": "public", "reference": "start"}
    return KINDS[kind](strategy=STRATEGIES[strategy], **settings, **extra).fit(
        X, y, public=(X[:20], y[:20])
    )


def comparable(certificate):
    return told(certificate, models=certificate.model_sha256 is not None)  # or its salt is random


@pytest.fixture(scope="module")
def expected():
    """Certificates of two requests, by kind and strategy, where nothing was changed."""
    found = {}
    for kind in KINDS:
        for strategy in STRATEGIES:
            model = made(kind, strategy)
            found[kind, strategy] = [comparable(model.forget(30)), comparable(model.forget(31))]
    return found


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("kind", "name"), CHANGES)
def test_a_parameter_changed_after_fit_changes_no_certificate(kind, name, strategy, expected):
    model = made(kind, strategy)
    setattr(model, name, OTHER[name])
    for request, certificate in zip((30, 31), expected[kind, strategy], strict=True):
        assert comparable(model.forget(request)) == certificate


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("kind", "name"), [c for c in CHANGES if c[1] not in ("loss", "device")])
def test_nor_does_it_through_disk(tmp_path, kind, name, strategy, expected):
    model = made(kind, strategy)
    first = comparable(model.forget(30))
    model.set_params(**{name: OTHER[name]})
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    again.set_params(**{name: OTHER[name]})
    assert [first, comparable(again.forget(31))] == expected[kind, strategy]


def test_every_parameter_of_every_estimator_is_tried():
    assert {name for _, name in CHANGES} == set(OTHER)


def test_a_refit_remembers_that_the_earlier_model_was_handed_out():
    """`released=False` before a second fit dropped the warning."""
    X, y = labelled(60)
    model = CertifiedClassifier(random_state=0).fit(X, y)
    model.set_params(released=False).fit(X, y)
    assert model.forget(1).earlier_releases == "not covered"
    model.set_params(observer="all", strategy=Langevin(learn_steps=20)).fit(X, y)
    assert model.forget(1).earlier_releases == "not covered"
    fresh = CertifiedClassifier(released=False, random_state=0).fit(X, y)
    assert fresh.fit(X, y).forget(1).earlier_releases == "none known"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_strategys_own_record_is_not_shared_with_the_caller(strategy):
    given = STRATEGIES[strategy]
    X, y = labelled(60)
    model = CertifiedClassifier(strategy=given, l2=0.05).fit(X, y)
    assert model.fitted_.strategy == given
    assert model.fitted_.strategy is not given


def test_two_loads_each_say_that_there_may_be_another(tmp_path):
    model = made("classifier", "langevin")
    assert "state may have been used twice" not in model.forget(29).reservations
    model.save(tmp_path / "model")
    for i, other in enumerate((load(tmp_path / "model"), load(tmp_path / "model"), model)):
        certificate = other.forget(30 + i)
        assert "state may have been used twice" in certificate.reservations
        assert any("operator's word" in line for line in certificate.claim.statement)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_certificates_of_one_fit_agree_whatever_came_between(tmp_path, strategy):
    model = made("classifier", strategy)
    certificates = [model.forget(30), model.forget([31, 32])]
    X, y = labelled(60)
    certificates.append(model.add(X[:3], y[:3]))
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    certificates.append(again.forget(33))
    certificates += again.forget_batch([[34], [35, 36]])
    again.save(tmp_path / "model")
    for one in certificates[4:]:
        read(tmp_path / "model").index.lineage.check_issued(one, "model")
    certificates.append(load(tmp_path / "model").forget(37))
    assert [certificate.joined for certificate in certificates] == [0, 0, 3, 3, 3, 3, 3]
    assert chain_differences(certificates) == []


def test_rows_that_changed_behind_its_back_are_noticed():
    model = made("classifier", "residual")
    model.fitted_.check_unchanged()
    model.fitted_.job.features[40, 0] += 1
    with pytest.raises(NoCertificate, match="the stored records changed"):
        model.fitted_.check_unchanged()


def test_the_frozen_state_cannot_be_assigned_to():
    model = made("classifier", "residual")
    with pytest.raises(AttributeError):
        model.fitted_.released = False  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError):
        model.fitted_ = None  # pyright: ignore[reportAttributeAccessIssue]
    assert np.array_equal(model.fitted_.classes, [0, 1])
    assert model.fitted_.strategy == STRATEGIES["residual"]


# A fingerprint is taken at fit and at every request, and carried by whatever is copied from it.

HARM = {
    "features": lambda fitted: fitted.job.features[40, 0].add_(1),
    "targets": lambda fitted: fitted.job.targets[40].add_(1),
    "keys": lambda fitted: fitted.job.roster.keys[40].add_(1),
    "start": lambda fitted: fitted.job.start.add_(1),
    "theta": lambda fitted: fitted.outcome.theta.add_(1),
    "secret": lambda fitted: fitted.outcome.secret["theta"].add_(1),
}


@pytest.mark.parametrize("part", HARM)
def test_any_change_of_what_is_stored_is_noticed(part):
    model = made("classifier", "residual")
    HARM[part](model.fitted_)
    with pytest.raises(NoCertificate, match="the stored records changed"):
        model.forget(30)


def test_a_request_renews_the_checksums_of_what_it_changes_and_no_others():
    X, y = labelled(1500)
    model = CertifiedClassifier(strategy=Residual()).fit(X, y)
    for ids in ([3], [700, 5, 1499], range(250, 260)):
        model.forget(ids)
        known = model.fitted_
        assert known.fingerprint == replace(known, fingerprint=None).fingerprint
    known.job.features[900, 0] += 1e-6  # in a block of its own
    known.check_request([3, 700])
    for check in (lambda: known.check_request([901]), known.check_unchanged):
        with pytest.raises(NoCertificate, match="the stored records changed"):
            check()


def test_an_addition_renews_the_last_checksum_and_adds_those_of_its_rows():
    X, y = labelled(2100)
    model = CertifiedClassifier(strategy=Residual()).fit(X[:1000], y[:1000])
    for rows in (slice(1000, 1003), slice(1003, 1024), slice(1024, 1025), slice(1025, 2100)):
        before = model.fitted_
        model.add(X[rows], y[rows])
        known = model.fitted_
        assert known.fingerprint == replace(known, fingerprint=None).fingerprint
        assert known.fingerprint[2] == before.fingerprint[2]
    known.job.features[900, 0] += 1e-6  # in a block of its own
    known.check_request([2099])
    with pytest.raises(NoCertificate, match="the stored records changed"):
        known.check_unchanged()
    model.fitted_.job.features[2099] *= 0.5  # whose block would go on with the new rows
    with pytest.raises(NoCertificate, match="the stored records changed"):
        model.add(X[:1], y[:1])


@pytest.mark.parametrize("part", HARM)
@pytest.mark.parametrize("way", ["copy", "deepcopy", "save", "refused save"])
def test_neither_copies_nor_saves_make_a_change_unnoticed(tmp_path, part, way):
    model = made("classifier", "residual")
    HARM[part](model.fitted_)
    if way in ("copy", "deepcopy"):
        model = getattr(copy, way)(model)
    else:
        if way == "refused save":
            (tmp_path / "other.txt").write_text("not ours")
        with pytest.raises(NoCertificate, match="the stored records changed"):
            model.save(tmp_path)
    with pytest.raises(NoCertificate, match="the stored records changed"):
        model.forget(30)


def test_records_that_a_shallow_copy_forgot_are_missed_by_the_other():
    one = made("classifier", "langevin")
    other = copy.copy(one)
    one.forget(range(10))
    copy.copy(other)
    with pytest.raises(NoCertificate, match="a later request has erased records"):
        other.forget(30)


def test_a_certificate_in_hand_is_not_the_one_that_is_kept():
    model = made("classifier", "residual")
    certificate = model.forget(30)
    digest = certificate.sha256
    certificate.reservations.clear()
    certificate.claim.statement[:] = ["nothing to see"]
    model.certificate_.reservations.clear()
    model.release().certificate.reservations.clear()
    assert model.certificate_.sha256 == digest
    assert model.forget(31).previous == digest


def test_labels_in_hand_are_not_those_that_predict():
    model = made("classifier", "residual")
    before = model.predict(labelled(20)[0])
    model.release().classes_[0] = 77
    model.classes_[0] = 78
    np.testing.assert_array_equal(model.predict(labelled(20)[0]), before)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_that_fails_leaves_the_earlier_one_as_it_was(kind):
    model = made(kind, "residual")
    rows = labelled(20)[0]
    before = model.predict(rows)
    model.row_norm, model.reference = 1.0, "zero"
    with pytest.raises(ValueError, match="ids"):
        model.fit(rows[:, :2], np.arange(20) % 2, ids=[1])
    np.testing.assert_array_equal(model.predict(rows), before)
    assert model.forget(30).forgotten == 1


@pytest.mark.parametrize("request_name", [5, ["x"], b"x", "", object()])
def test_a_request_s_name_is_a_text(request_name):
    model = made("classifier", "residual")
    with pytest.raises(ValueError, match="request: must be a text"):
        model.forget(30, request=request_name)
    assert model.certificate_ is None


@pytest.mark.parametrize("ids", [[[1]], [{"a": 1}], [[1, 2], [3]]])
def test_what_is_no_id_is_named(ids):
    with pytest.raises(ValueError, match="is no id"):
        made("classifier", "residual").forget(ids)
