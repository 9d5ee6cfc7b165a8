import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from expunge.accounting.verification import differences
from expunge.unlearning.linear import files
from expunge.unlearning.linear.estimator import CertifiedClassifier, CertifiedRegressor
from expunge.unlearning.linear.files import load, save
from expunge.unlearning.linear.langevin import Langevin, NoiseFirst
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.linear.retrain import Retrain
from expunge.unlearning.schemes import Cyclic, PoissonBatch
from tests.unlearning.records import labelled, measured, state

STRATEGIES = (
    "auto",
    Residual(tolerance=1e-8),
    Retrain(),
    Langevin(learn_steps=40, capacity=0.2),
    Langevin(learn_steps=40, scheme=Cyclic(3)),
    Langevin(learn_steps=40, scheme=PoissonBatch(0.5, seed=4)),
    NoiseFirst(learn_steps=40, unlearn_steps=5),
)
EACH_STRATEGY = pytest.mark.parametrize("strategy", STRATEGIES, ids=str)


def fitted(strategy="auto", **parameters):
    X, y = labelled(60)
    clf = CertifiedClassifier(strategy=strategy, **parameters)
    return clf.fit(X, y, public=labelled(200, seed=1), ids=[f"r{i}" for i in range(60)])


@pytest.mark.parametrize("requests", [0, 2])
@EACH_STRATEGY
def test_what_was_saved_comes_back_whole_and_can_go_on(tmp_path, strategy, requests):
    clf = fitted(strategy)
    for i in range(requests):
        clf.forget(f"r{i}")
    save(clf, tmp_path / "model")
    back = load(tmp_path / "model")
    X, _ = labelled(60)
    assert type(back) is CertifiedClassifier
    assert back.get_params() == clf.get_params()
    assert state(back) == state(clf)
    np.testing.assert_array_equal(back.predict_proba(X), clf.predict_proba(X))
    assert back.classes_.dtype == clf.classes_.dtype
    with pytest.raises(ValueError, match="unknown id 'nobody'"):
        back.forget("nobody")
    certificate = back.forget(["r7", "r8"])
    assert certificate.forgotten == requests + 2
    assert differences(certificate) == []
    assert certificate.claim.epsilon <= 1


@pytest.mark.parametrize("strategy", ["residual", "retrain"])  # a hash, and a commitment
def test_another_model_does_not_fit_the_certificate(tmp_path, strategy):
    clf = fitted(strategy)
    clf.forget("r1")
    save(clf, tmp_path / "model")
    (file,) = (tmp_path / "model").glob("model-*.safetensors")
    assert file.read_bytes() == clf.model_bytes() == load(tmp_path / "model").model_bytes()
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match="not the one that its certificate is about"):
        load(tmp_path / "model")


@pytest.mark.parametrize("strategy", ["residual", "retrain", "noise_first"])
def test_before_a_deletion_nobody_can_try_the_models_hash_against_records_they_suspect(strategy):
    one, other = fitted(strategy), fitted(strategy)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.model_bytes() != other.model_bytes()


def test_a_file_that_lost_its_salt_is_refused(tmp_path):
    save(fitted("retrain"), tmp_path / "model")
    (file,) = (tmp_path / "model").glob("model-*.safetensors")
    save_file(load_file(file), file)
    with pytest.raises(ValueError, match="different salts"):
        load(tmp_path / "model")


def test_state_without_a_salt_is_of_an_earlier_version(tmp_path):
    save(fitted("retrain"), tmp_path / "model")
    (file,) = (tmp_path / "model").glob("secret-*.safetensors")
    known = load_file(file)
    known.pop("secret.salt")
    save_file(known, file)
    with pytest.raises(ValueError, match="a model without noise, and no salt for its file"):
        load(tmp_path / "model")


@pytest.mark.parametrize("reference", ["zero", "start", "center"])
def test_a_regressor_without_a_ball_comes_back(tmp_path, reference):
    X, y = measured()
    regressor = CertifiedRegressor(target_norm=0.8, reference=reference)
    regressor.fit(X, y, public=measured(seed=1))
    regressor.forget([3])
    save(regressor, tmp_path / "model")
    back = load(tmp_path / "model")
    assert state(back) == state(regressor)
    assert back.radius == np.inf
    np.testing.assert_array_equal(back.predict(X), regressor.predict(X))
    one, other = back.forget(4), regressor.forget(4)
    assert one.claim == other.claim


@pytest.mark.parametrize(
    "names", [np.array(["ja", "nein"]), np.array([3, -1]), np.array([True, False])]
)
def test_labels_of_every_kind_come_back(tmp_path, names):
    X, y = labelled(40)
    clf = CertifiedClassifier().fit(X, names[y])
    save(clf, tmp_path / "model")
    back = load(tmp_path / "model")
    assert back.classes_.dtype == clf.classes_.dtype
    np.testing.assert_array_equal(back.predict(X), clf.predict(X))


def test_float32_records_stay_float32(tmp_path):
    X, y = labelled(40)
    clf = CertifiedClassifier().fit(X.astype(np.float32), y)
    save(clf, tmp_path / "model")
    assert load(tmp_path / "model").fitted_.job.features.dtype == torch.float32


def test_the_folder_holds_json_and_safetensors_and_nothing_else(tmp_path):
    clf = fitted()
    clf.forget("r3")
    save(clf, tmp_path / "model")
    named = json.loads((tmp_path / "model/estimator.json").read_text())["files"]
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        "estimator.json",
        named["model"],
        named["secret"],
    }
    for name in named.values():
        load_file(tmp_path / "model" / name)
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]  # and no litter beside it


def test_what_may_leave_the_house_holds_the_released_model_only(tmp_path):
    clf = fitted()
    clf.forget("r3")
    save(clf, tmp_path / "model")
    released = load_file(next((tmp_path / "model").glob("model-*")))
    assert list(released) == ["theta"]
    assert torch.equal(released["theta"], clf.fitted_.outcome.theta)
    assert not torch.equal(released["theta"], clf.fitted_.outcome.secret["theta"])


def test_forgotten_rows_are_not_on_disk(tmp_path):
    X, y = labelled(40)
    X[3] = 0.123456789
    clf = CertifiedClassifier().fit(X, y)
    pattern = clf.fitted_.job.features[3, :1].numpy().tobytes()
    save(clf, tmp_path / "model")
    assert pattern in next((tmp_path / "model").glob("secret-*")).read_bytes()
    clf.forget(3)
    save(clf, tmp_path / "model")
    for path in (tmp_path / "model").iterdir():
        assert pattern not in path.read_bytes()


def test_a_second_save_replaces_the_first(tmp_path):
    clf = fitted()
    save(clf, tmp_path / "model")
    clf.forget("r3")
    save(clf, str(tmp_path / "model"))
    assert state(load(tmp_path / "model")) == state(clf)
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


@pytest.mark.parametrize("writer", ["save_file", "_document", "_secret"])
def test_an_interrupted_save_leaves_the_old_folder_and_no_litter(tmp_path, monkeypatch, writer):
    clf = fitted()
    save(clf, tmp_path / "model")
    before = state(clf)
    clf.forget("r3")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(files, writer, interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(clf, tmp_path / "model")
    monkeypatch.undo()
    assert state(load(tmp_path / "model")) == before
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def test_an_interrupted_first_save_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "save_file", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save(fitted(), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_a_saved_estimator_is_named(tmp_path):
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(ValueError, match=r"not a saved estimator") as caught:
            load(folder)
        assert str(folder) in str(caught.value)
    (tmp_path / "estimator.json").write_text("{not json")
    with pytest.raises(ValueError, match="not a saved estimator"):
        load(tmp_path)


def test_another_format_is_named(tmp_path):
    save(fitted(), tmp_path / "model")
    path = tmp_path / "model/estimator.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"format": 999}))
    with pytest.raises(ValueError, match="format 999, this version reads"):
        load(tmp_path / "model")


def test_a_saved_folder_can_be_moved(tmp_path):
    clf = fitted()
    save(clf, tmp_path / "a/b/model")
    shutil.move(str(tmp_path / "a/b/model"), str(tmp_path / "elsewhere"))
    assert state(load(tmp_path / "elsewhere")) == state(clf)


def test_nothing_here_imports_pickle():
    source = Path(files.__file__).read_text()
    assert "import pickle" not in source
    assert "torch.load" not in source
    assert "joblib" not in source


@pytest.mark.parametrize("observer", ["final", "all"])
def test_a_reloaded_estimator_still_says_that_an_earlier_model_left_the_house(tmp_path, observer):
    clf = fitted(Langevin(learn_steps=40, capacity=0.2), observer=observer)
    if observer == "all":  # its own history covers what it released, not what another fit did
        X, y = labelled(60)
        clf.fit(X, y, public=labelled(200, seed=1), ids=[f"r{i}" for i in range(60)])
    save(clf, tmp_path / "model")
    for request in ("r1", "r2"):
        back = load(tmp_path / "model")
        certificate = back.forget(request)
        assert certificate.earlier_releases == "not covered"
        assert certificate.claim.statement == clf.forget(request).claim.statement
        assert any("EARLIER RELEASES NOT COVERED" in line for line in certificate.claim.statement)
        save(back, tmp_path / "model")


@pytest.mark.parametrize("declared", [True, False])
def test_a_reloaded_estimator_still_knows_whether_its_labels_were_declared(tmp_path, declared):
    X, y = labelled(60)
    clf = CertifiedClassifier(classes=[0, 1] if declared else None).fit(X, y)
    save(clf, tmp_path / "model")
    one, other = load(tmp_path / "model").forget(3), clf.forget(3)
    assert one.declared == other.declared
