"""Soundness, state and messages of every estimator: what adversarial testing once broke."""

import contextlib
import copy
import pickle
import signal

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from sklearn.exceptions import NotFittedError

from expunge.accounting.verification import differences
from expunge.errors import NoCertificate
from expunge.losses import Declared
from expunge.unlearning.linear.estimator import CertifiedClassifier, CertifiedRegressor, load
from expunge.unlearning.linear.langevin import Langevin, NoiseFirst
from expunge.unlearning.linear.residual import Residual
from tests.unlearning.records import labelled, measured


def steepest(reg):
    job = reg.fitted_.job
    th = reg.fitted_.outcome.theta
    rows = job.features[job.roster.present].double()
    r = (rows @ th.T)[:, 0] - job.targets[job.roster.present].clamp(
        -reg.target_norm, reg.target_norm
    )
    return float((r.abs() * rows.norm(dim=1)).max())


# U: unsound


@pytest.mark.parametrize("reference", ["start", "center"])
@pytest.mark.parametrize(
    "strategy",
    [
        Langevin(learn_steps=60, sigma=0.05, capacity=0.1),
        NoiseFirst(learn_steps=200, unlearn_steps=5),
    ],
    ids=lambda s: s.name,
)
def test_squared_constants_hold_with_a_public_reference(reference, strategy):
    rng = np.random.default_rng(0)
    Xp = rng.normal(size=(2000, 2))
    Xp /= np.linalg.norm(Xp, axis=1)[:, None] * 1.5
    yp = np.sign(Xp[:, 0])
    X = np.array([[0.66, 0.0]] * 20)
    y = -np.ones(20)  # disagree with the public slope
    reg = CertifiedRegressor(
        strategy=strategy, l2=1e-3, radius=0.1, reference=reference, epsilon=5.0
    ).fit(X, y, public=(Xp, yp))
    a = reg.fitted_.outcome.assumptions
    th = reg.fitted_.outcome.theta
    origin = reg.fitted_.job.origin
    assert float((th - origin).norm()) <= a.radius * (1 + 1e-12), (
        "outside the certificate's ball",
        float((th - origin).norm()),
        a.radius,
    )
    assert steepest(reg) <= a.lipschitz * (1 + 1e-12), (
        "gradient above the certificate's enforced M",
        steepest(reg),
        a.lipschitz,
    )


def test_retrain_says_that_earlier_releases_are_not_covered():
    X, y = labelled(60)
    c = CertifiedClassifier(strategy="retrain").fit(X, y).forget(1)
    assert c.earlier_releases == "not covered"


def test_changing_observer_after_fit_does_not_silence_the_reservation():
    X, y = labelled(60)
    clf = CertifiedClassifier().fit(X, y)
    clf.set_params(observer="all")
    c = clf.forget(1)
    assert c.earlier_releases == "not covered"


def test_retrained_model_is_bit_for_bit_the_comparators():
    X, y = labelled(200)
    clf = CertifiedClassifier(strategy="retrain").fit(X, y)
    c = clf.forget([0, 17, 199])
    rest = np.delete(np.arange(200), [0, 17, 199])
    fresh = CertifiedClassifier(strategy="retrain").fit(X[rest], y[rest])
    assert c.claim.epsilon == 0
    np.testing.assert_array_equal(clf.coef_, fresh.coef_)


def test_the_stated_slope_of_residual_is_not_below_a_real_gradient():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.sign(X[:, 0])
    reg = CertifiedRegressor(radius=0.01, strategy="residual", l2=1e-4).fit(X, y)
    c = reg.forget(1)
    assert steepest(reg) <= c.assumptions["lipschitz"].value


# F: files


def test_save_never_destroys_a_folder_that_is_not_an_estimator(tmp_path):
    X, y = labelled(40)
    clf = CertifiedClassifier().fit(X, y)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter1.txt").write_text("years of work")
    with pytest.raises(ValueError, match="not touched"):
        clf.save(tmp_path / "thesis")
    assert (tmp_path / "thesis/chapter1.txt").exists()


def test_saving_an_unfitted_estimator_says_so(tmp_path):
    with pytest.raises(NotFittedError):
        CertifiedClassifier().save(tmp_path / "m")


# H: half-changed state / leaks through public handles


def test_coef_cannot_be_used_to_change_a_certified_model():
    X, y = labelled(40)
    clf = CertifiedClassifier().fit(X, y)
    clf.forget(1)
    before = clf.fitted_.outcome.theta.clone()
    with contextlib.suppress(ValueError):
        clf.coef_[0, 0] = 99.0
    assert torch.equal(clf.fitted_.outcome.theta, before)


def test_a_failed_refit_leaves_predictions_as_they_were():
    X, y = labelled(40)
    clf = CertifiedClassifier().fit(X, y)
    before = clf.predict_proba(X)
    clf.set_params(row_norm=0.01, strategy="magic")
    with pytest.raises(ValueError, match="magic"):
        clf.fit(X[:20], y[:20])
    np.testing.assert_array_equal(clf.predict_proba(X), before)


def test_changed_parameters_after_fit_do_not_change_the_next_certificates_delta():
    X, y = labelled(40)
    clf = CertifiedClassifier(delta=1e-6).fit(X, y)
    clf.set_params(delta=0.5)
    assert clf.forget(1).claim.delta == 1e-6


# M: messages and inputs


@pytest.mark.parametrize("ids", [True, np.array([False, True])], ids=str)
def test_booleans_are_not_ids(ids):
    X, y = labelled(40)
    clf = CertifiedClassifier().fit(X, y)
    with pytest.raises(ValueError, match="forget"):
        clf.forget(ids)


@pytest.mark.parametrize(
    "seed", [np.int64(3), np.random.RandomState(3)], ids=["int64", "RandomState"]
)
def test_a_random_state_is_used_or_refused_never_ignored(seed):
    X, y = labelled(40)
    try:
        clf = CertifiedClassifier(strategy=Langevin(learn_steps=20), random_state=seed).fit(X, y)
    except (ValueError, TypeError):
        return
    assert "experiment only" in clf.forget(1).reservations


def test_finite_values_are_not_called_infinite():
    X, y = labelled(40)
    CertifiedClassifier().fit(X * 1e200, y)


def test_public_targets_that_are_not_finite_are_named():
    X, y = measured(40)
    bad = y.copy()
    bad[3] = np.nan
    with pytest.raises(ValueError, match="public"):
        CertifiedRegressor().fit(X, y, public=(X, bad))


@pytest.mark.parametrize(
    "parameters",
    [
        {"row_norm": "bogus"},
        {"row_norm": np.inf},
        {"strategy": 5},
        {"strategy": Residual},
        {"strategy": "x"},
        {"epsilon": 1e6},
    ],
    ids=str,
)
def test_a_wrong_parameter_is_named(parameters):
    X, y = labelled(40)
    with pytest.raises(ValueError, match=r"row_norm|strategy|sigma|tolerance|capacity|epsilon:"):
        CertifiedClassifier(**parameters).fit(X, y).forget(1)


def test_no_sound_strategy_says_what_would_help():
    X, y = measured(40)
    with pytest.raises(ValueError, match="radius"):
        CertifiedRegressor(observer="all").fit(X, y)


def test_forget_raises_no_certificate_when_the_solver_fails(monkeypatch):
    from expunge.errors import NotConverged
    from expunge.unlearning.linear import by_passes

    X, y = labelled(40)
    clf = CertifiedClassifier(strategy=Residual(distance=0)).fit(X, y)

    def fails(*a, **k):
        raise NotConverged("stayed above")

    monkeypatch.setattr(by_passes, "solve", fails)
    with pytest.raises(NoCertificate):
        clf.forget(1)


def test_an_unreachable_target_with_poisson_batches_is_refused_in_time():
    from expunge.unlearning.schemes import PoissonBatch

    X, y = labelled(60)
    clf = CertifiedClassifier(
        strategy=Langevin(learn_steps=20, sigma=1e-10, scheme=PoissonBatch(0.5)), l2=0.1
    ).fit(X, y)

    def late(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(15)
    try:
        with pytest.raises(NoCertificate):
            clf.forget(1)
    finally:
        signal.alarm(0)


def test_residuals_comparator_is_retraining_by_the_same_rule():
    X, y = labelled(40)
    c = CertifiedClassifier().fit(X, y).forget(1)
    assert (
        "initial law" not in c.comparator
    )  # it says '1 steps with the same step sizes, noise and projection'


def test_retrains_certificate_does_not_publish_the_hash_of_a_noise_free_model():
    X, y = labelled(40)
    c = CertifiedClassifier(strategy="retrain").fit(X, y).forget(1)
    assert c.model_sha256 is None


def test_a_model_that_is_not_its_certificates_is_not_loaded(tmp_path):
    X, y = labelled(40)
    clf = CertifiedClassifier().fit(X, y)
    clf.forget(1)
    clf.save(tmp_path / "m")
    path = tmp_path / "m/model.safetensors"
    save_file({"theta": clf.fitted_.outcome.theta + 1e-9}, path)
    with pytest.raises(ValueError, match="is of another state"):
        load(tmp_path / "m")


def test_records_changed_on_disk_are_noticed(tmp_path):
    X, y = labelled(40)
    clf = CertifiedClassifier().fit(X, y)
    clf.save(tmp_path / "m")
    (path,) = (tmp_path / "m/secret").glob("chunk-*")
    tensors = load_file(path)
    tensors["features"][3, 0] += 0.25
    save_file(tensors, path)
    with pytest.raises(ValueError, match="was changed"):
        load(tmp_path / "m")


@pytest.mark.parametrize("damage", ["missing", "truncated"])
def test_a_damaged_folder_is_a_clear_error(tmp_path, damage):
    X, y = labelled(40)
    CertifiedClassifier().fit(X, y).save(tmp_path / "m")
    (path,) = (tmp_path / "m/secret").glob("state-*")
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"is missing|has 100 bytes"):
        load(tmp_path / "m")


def test_tuples_can_be_ids():
    X, y = labelled(6)
    ids = [("a", i) for i in range(6)]
    clf = CertifiedClassifier().fit(X, y, ids=ids)
    assert clf.forget([("a", 2)]).forgotten == 1


def test_noisy_descent_names_what_a_single_record_lacks():
    with pytest.raises(ValueError, match="at least two records"):
        CertifiedClassifier(strategy="langevin").fit(np.ones((1, 2)), [0])


def test_reservations_are_in_the_statement_and_declarations_in_the_scope():
    X, y = labelled(60)
    certificate = CertifiedClassifier(random_state=3).fit(X, y).forget([1], request="2026-7")
    assert certificate.claim.statement[0].startswith("EXPERIMENT ONLY")
    assert any(
        line.startswith("Conditional on the label set") for line in certificate.claim.statement
    )
    assert any("preprocessing" in line for line in certificate.scope)
    assert certificate.requests == ["2026-7"]
    assert "1 record was forgotten" in certificate.claim.statement[-2]


# Noise for so few records does drown the model.
@pytest.mark.filterwarnings("ignore::expunge.errors.SettingsWarning")
def test_small_targets_are_met_within_the_capacity_for_observer_all():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(800, 20)), rng.integers(0, 2, 800)
    clf = CertifiedClassifier(epsilon=0.005, observer="all")
    clf.fit(X[:400], y[:400], public=(X[400:], y[400:]))
    assert clf.forget(range(40)).claim.epsilon <= 0.005


def test_ids_can_be_a_frames_index():
    X, y = labelled(30)
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(30)])
    clf = CertifiedClassifier().fit(frame, y, ids="index")
    assert clf.forget("r4").forgotten == 1
    with pytest.raises(ValueError, match="DataFrame"):
        CertifiedClassifier().fit(X, y, ids="index")


def test_estimators_save_themselves(tmp_path):
    X, y = labelled(30)
    clf = CertifiedClassifier().fit(X, y)
    clf.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").coef_, clf.coef_)


# Records that join.

NEW_X, NEW_Y = labelled(130)


def joined(**options):
    """A model of a hundred records, thirty of them public, that ten have joined."""
    settings = {"l2": 0.05, "classes": [0, 1], "strategy": "residual"} | options
    model = CertifiedClassifier(**settings)
    model.fit(NEW_X[30:100], NEW_Y[30:100], public=(NEW_X[:30], NEW_Y[:30]))
    assert model.add(NEW_X[100:110], NEW_Y[100:110]) is None
    return model


@pytest.mark.parametrize("reference", ["zero", "start", "center"])
@pytest.mark.parametrize("strategy", ["auto", "residual", "retrain", "noise_first", "langevin"])
def test_newcomers_are_learned_and_forgotten_under_every_reference(strategy, reference):
    strategy = Langevin(learn_steps=40) if strategy == "langevin" else strategy
    model = joined(strategy=strategy, reference=reference)
    certificate = model.forget([0, 70, 79])  # those at fit are 0 to 69
    assert not differences(certificate)
    assert (certificate.records, certificate.forgotten) == (110, 3)
    with pytest.raises(ValueError, match="unknown id 80"):
        model.forget(80)


def test_records_that_joined_say_something_to_the_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    model = CertifiedClassifier(strategy="residual", classes=[0, 1]).fit(
        X, (X[:, 0] > 0).astype(int)
    )
    before = model.coef_[0]
    model.add(np.tile([0.0, 0.5], (400, 1)), np.ones(400, dtype=int))
    assert model.coef_[0, 1] > before[1] + 0.1


def test_an_addition_under_a_declared_loss_takes_passes_and_is_certified():
    X, y = measured(90)
    huber = Declared(
        lambda scores, targets: (1 + (scores[:, 0] - targets) ** 2).sqrt(), slope=1.0, bend=1.0
    )
    model = CertifiedRegressor(strategy="residual", l2=0.05, loss=huber).fit(X[:80], y[:80])
    assert model.add(X[80:], y[80:]) is None
    assert not differences(model.forget([3, 85]))


def test_an_addition_may_have_a_name_and_its_flags_are_checked():
    model = joined()
    model.forget(3)
    assert model.add(NEW_X[110:111], NEW_Y[110:111], request="more").requests == ["more"]
    with pytest.raises(ValueError, match="again: must be True or False"):
        model.add(NEW_X[:1], NEW_Y[:1], again="yes")
    with pytest.raises(ValueError, match="request: must be a text"):
        model.add(NEW_X[:1], NEW_Y[:1], request=3)


def test_nobody_joins_what_is_not_fitted_or_may_only_predict():
    with pytest.raises(NotFittedError):
        CertifiedClassifier().add(NEW_X, NEW_Y)
    with pytest.warns(UserWarning, match="pickling writes"):
        released = pickle.loads(pickle.dumps(joined()))
    with pytest.raises(NoCertificate, match="only the released model"):
        released.add(NEW_X, NEW_Y)


def test_a_copy_goes_its_own_way_and_both_say_so():
    model = joined()
    other = copy.deepcopy(model)
    model.forget(3)
    certificate = other.forget([4, 75])
    assert certificate.provenance.state == "copied"
    assert not differences(certificate)
    shared = copy.copy(other)
    other.add(NEW_X[110:], NEW_Y[110:])
    with pytest.raises(NoCertificate, match="or added some"):
        shared.forget(5)
    with pytest.raises(NoCertificate, match="or added some"):
        shared.placebo(5)


def test_plans_and_placebos_are_about_the_records_that_are_there_now():
    model = joined()
    assert model.plan(75)[0].excluded is None
    assert model.placebo([75, 3]).theta.shape == (1, 5)
    assert model.certificate_ is None
