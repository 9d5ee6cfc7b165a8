"""Pipelines that forget: what comes before the model never saw a private record."""

import copy
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from expunge import CertifiedClassifier, CertifiedPipeline, CertifiedRegressor
from expunge.accounting.verification import differences
from expunge.core.rows import bounded_rows
from expunge.errors import Altered, NoCertificate, RecordsWarning
from expunge.features import DeclaredColumns, TreeLeaves
from expunge.features.row_blocks import dense
from expunge.store import read
from expunge.unlearning import Langevin, load
from expunge.unlearning.linear import estimator as estimator_module
from expunge.unlearning.linear.linear_fitted import PREPROCESSING
from expunge.unlearning.released import PICKLED
from tests.features.steps import Centring, Keeping, Watched
from tests.unlearning.certificates import told
from tests.unlearning.records import labelled, measured, state

X, Y = labelled(160)
PUBLIC, PRIVATE = (X[:100], Y[:100]), (X[100:], Y[100:])
IDS = [f"r{i}" for i in range(60)]
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(town=list("xyzw") * 40)
TEXTS = [f"{'good fine' if label else 'bad poor'} word{i % 7}" for i, label in enumerate(Y)]


def made(steps=None, estimator=None, **parameters):
    steps = steps or [("scale", StandardScaler()), ("reduce", PCA(3))]
    return CertifiedPipeline(steps, estimator or CertifiedClassifier(row_norm=3.0, **parameters))


def fitted(*given, **parameters):
    return made(*given, **parameters).fit(*PRIVATE, public=PUBLIC, ids=IDS)


@parametrize_with_checks(
    [
        CertifiedPipeline([("norm", Normalizer())], CertifiedClassifier()),
        CertifiedPipeline([("norm", Normalizer())], CertifiedRegressor()),
    ],
    # They want one cell of one private row to stop a fit.
    expected_failed_checks=lambda _: dict.fromkeys(
        ("check_dtype_object", "check_estimators_nan_inf"), "the row is blank"
    ),
)
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


# What the steps are fitted on.


def test_no_private_row_and_no_private_label_reaches_a_fit():
    Watched.seen.clear()
    fitted([("first", Watched()), ("second", Watched())])
    assert len(Watched.seen) == 2
    for rows, labels in Watched.seen:
        assert len(rows) == 100
        np.testing.assert_array_equal(labels, PUBLIC[1])
    np.testing.assert_array_equal(Watched.seen[0][0], PUBLIC[0])


def test_other_private_records_give_the_same_steps_to_the_bit():
    steps = [("scale", StandardScaler()), ("trees", TreeLeaves(trees=5, min_leaf=5))]
    one = fitted(steps)
    rng = np.random.default_rng(1)
    other = made(steps).fit(
        PRIVATE[0] + rng.normal(size=(60, 4)) / 9, 1 - PRIVATE[1], public=PUBLIC
    )
    rows, again = (dense(each.fitted_.preprocessing.transform(X)) for each in (one, other))
    np.testing.assert_array_equal(rows, again)
    assert rows.std() > 0


def test_it_is_the_estimator_on_what_the_steps_make_of_the_rows():
    pipe = fitted(random_state=1)
    steps = make_pipeline(StandardScaler(), PCA(3)).fit(*PUBLIC)
    alone = CertifiedClassifier(row_norm=3.0, random_state=1)
    public = steps.transform(PUBLIC[0]), PUBLIC[1]
    alone.fit(steps.transform(PRIVATE[0]), PRIVATE[1], public=public, ids=IDS)
    stored, expected = state(pipe), state(alone)
    assert (stored[0], stored[2:]) == (expected[0], expected[2:])  # a secret holds the time
    ours, theirs = (told(each.forget(["r3", "r4"])) for each in (pipe, alone))
    different = {name for name in ours if ours[name] != theirs[name]}
    assert different == {"declared", "scope"}
    np.testing.assert_array_equal(pipe.predict(X), alone.predict(steps.transform(X)))


def test_the_certificate_says_that_preprocessing_was_enforced_and_recomputes():
    certificate = fitted().forget(["r1", "r2"])
    assert differences(certificate) == []
    lines = [line for line in certificate.scope if line.startswith("preprocessing step")]
    assert lines == [
        "preprocessing step 'scale' (StandardScaler): fitted on 100 public records alone, enforced",
        "preprocessing step 'reduce' (PCA): fitted on 100 public records alone, enforced",
    ]
    assert PREPROCESSING not in certificate.scope


def test_a_plain_pipeline_of_scikit_learn_is_certified_with_its_preprocessing_unknown():
    """A scaler fitted on private rows looks to the estimator as no scaler at all does."""
    clf = CertifiedClassifier()
    make_pipeline(StandardScaler(), clf).fit(*PRIVATE)
    for each in (clf, CertifiedClassifier().fit(*PRIVATE)):
        (line,) = [line for line in each.forget(3).scope if "preprocessing" in line]
        assert "unknown and not checked" in line
        assert "CertifiedPipeline" in line


def test_without_public_rows_a_step_that_must_be_fitted_is_refused_and_the_rest_is_taken():
    with pytest.raises(ValueError, match="'scale': StandardScaler must be fitted"):
        made().fit(*PRIVATE)
    with pytest.raises(ValueError, match="'scale': StandardScaler must be fitted"):
        made().fit(*PRIVATE, public=(X[:0], Y[:0]))
    none = X[:0], Y[:0]
    certificate = made([("norm", Normalizer())]).fit(*PRIVATE, public=none).forget(3)
    assert "'norm' (Normalizer): fitted on no record, enforced" in str(certificate.scope)
    declared = DeclaredColumns({"a": (-1, 1), "b": (-1, 1)}, {"town": list("xyzw")})
    pipe = made([("schema", declared)]).fit(FRAME, Y)
    assert "'schema' (DeclaredColumns): declared by the caller" in str(pipe.forget(3).scope)


def test_a_step_that_mixes_rows_is_refused_and_nothing_is_fitted():
    pipe = fitted()
    before = state(pipe)
    pipe.set_params(steps=[("centre", Centring())])
    with pytest.raises(ValueError, match="'centre': mixes rows"):
        pipe.fit(*PRIVATE, public=PUBLIC)
    assert state(pipe) == before


def test_private_rows_far_outside_the_public_range_are_told_of_and_others_are_not():
    shifted = PRIVATE[0] + np.array([0, 50, 0, 0])
    with pytest.warns(UserWarning, match=r"60 of 60 private rows .*columns number 1 \(60\)"):
        pipe = made().fit(shifted, PRIVATE[1], public=PUBLIC)
    assert "outside" not in str(pipe.forget(3).scope)
    fitted()  # warnings are errors here


# What may not change after fit.


def test_nothing_that_is_changed_after_fit_changes_what_it_does():
    rows = PUBLIC[0].copy()
    pipe = made().fit(*PRIVATE, public=(rows, PUBLIC[1]), ids=IDS)
    before = pipe.predict_proba(X)
    rows[:] = 99
    pipe.set_params(scale__with_mean=False, reduce__n_components=1, estimator__l2=7.0)
    pipe.fitted_steps_[0][1].mean_[:] = 99
    np.testing.assert_array_equal(pipe.predict_proba(X), before)
    pipe.set_params(reduce="passthrough", estimator=CertifiedRegressor())
    np.testing.assert_array_equal(pipe.predict_proba(X), before)
    assert pipe.forget("r1").claim.epsilon <= 1


def test_a_refit_remembers_that_an_earlier_model_was_handed_out():
    pipe = fitted()
    pipe.set_params(estimator__released=False).fit(*PRIVATE, public=PUBLIC)
    assert pipe.forget(1).earlier_releases == "not covered"
    fresh = made(estimator=CertifiedClassifier(released=False, row_norm=3.0))
    fresh.fit(*PRIVATE, public=PUBLIC).fit(*PRIVATE, public=PUBLIC)
    assert fresh.forget(1).earlier_releases == "none known"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_forgets_on_its_own_and_both_say_so(copied):
    pipe = fitted()
    other = copied(pipe)
    np.testing.assert_array_equal(other.predict_proba(X), pipe.predict_proba(X))
    assert "state may have been used twice" in pipe.forget("r1").reservations
    if copied is copy.deepcopy:
        assert "state may have been used twice" in other.forget("r2").reservations


# What users bring.


def test_frames_with_texts_and_gaps_go_in_and_names_come_out():
    frame = FRAME.copy()
    frame.index = [f"person {i}" for i in range(160)]
    frame.iloc[::9, 1] = np.nan
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), list("abcd")),
        (OneHotEncoder(handle_unknown="ignore"), ["town"]),
    )
    pipe = made([("encode", encode)])
    pipe.fit(frame[100:], Y[100:], public=(frame[:100], Y[:100]), ids="index")
    assert pipe.forget(["person 101", "person 159"]).forgotten == 2
    assert pipe.feature_names_in_.tolist() == [*"abcd", "town"]
    assert pipe.n_features_in_ == 5
    names = pipe.get_feature_names_out().tolist()
    assert names[0] == "pipeline__a"
    assert names[-1] == "onehotencoder__town_z"
    assert pipe.score(frame, Y) > 0.7
    with pytest.raises(ValueError, match="feature names should match"):
        pipe.predict(frame.rename(columns={"a": "A"}))


@pytest.mark.parametrize("texts", [TEXTS, np.array(TEXTS), pd.Series(TEXTS)], ids=type)
@pytest.mark.parametrize("step", [HashingVectorizer(n_features=64), TfidfVectorizer()], ids=type)
def test_texts_are_learned_and_forgotten(texts, step):
    pipe = made([("words", step)]).fit(texts[100:], Y[100:], public=(texts[:100], Y[:100]))
    assert pipe.forget([0, 5]).forgotten == 2
    assert pipe.score(texts, Y) > 0.9


def test_a_regression_with_trees_learns_and_forgets():
    rows, targets = measured(500)
    steps = [("trees", TreeLeaves(trees=20, target_range=(-1, 1)))]
    pipe = made(steps, CertifiedRegressor(l2=1e-4, row_norm=1.6))
    pipe.fit(rows[200:], targets[200:], public=(rows[:200], targets[:200]))
    assert is_regressor(pipe)
    assert pipe.forget(range(10)).forgotten == 10
    assert pipe.score(rows[200:], targets[200:]) > 0.5
    assert not hasattr(pipe, "predict_proba")


def test_a_classifier_has_a_classifiers_verbs():
    pipe = fitted()
    assert is_classifier(pipe)
    assert pipe.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(pipe.decision_function(X) > 0, pipe.predict(X) == 1)
    assert [price.name for price in pipe.plan(3)]
    assert pipe.history_ is None
    assert pipe.certificate_ is None
    certificate = pipe.forget("r1", request="2026-7")
    assert pipe.certificate_ == certificate
    assert pipe.history_ is not None
    assert certificate.requests == ["2026-7"]
    pipe.refresh()
    assert pipe.model_bytes() == pipe.release().model_bytes


def test_the_placebo_takes_rows_as_fit_does():
    pipe = fitted()
    placebo = pipe.placebo(["r1"])
    assert placebo.predict(X).shape == (160,)
    assert not np.array_equal(placebo.predict_proba(X), pipe.predict_proba(X))
    assert pipe.certificate_ is None


def test_new_records_go_through_the_same_steps_and_can_be_forgotten():
    pipe = fitted()
    before = len(pipe.fitted_.job.features)
    assert pipe.add(X[:3], Y[:3], ids=["n1", "n2", "n3"]) is None
    joined = pipe.fitted_.job.features[before:]
    prepared = pipe.fitted_.preprocessing.transform(X[:3])
    expected = bounded_rows(prepared, pipe.fitted_.job.loss.row_norm)
    np.testing.assert_array_equal(joined.numpy(), expected)
    assert pipe.forget(["n2"]).forgotten == 1
    assert pipe.add(X[:1], Y[:1], ids=["n2"], again=True).records == before + 4


def test_no_private_row_decides_whether_there_is_a_model():
    """The planted rows fail in OneHotEncoder as it comes; their certificate is everybody's."""
    public, private = FRAME[:100], FRAME[100:].copy()
    encode = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")

    def pipe():
        return made([("encode", encode)], random_state=0)

    expected = pipe().fit(private, Y[100:], public=(public, Y[:100])).forget(3)
    private.loc[private.index[7], "town"] = "Atlantis"
    private.loc[private.index[8], "a"] = np.nan
    with pytest.warns(RecordsWarning, match="2 of 60 private rows"):
        model = pipe().fit(private, Y[100:], public=(public, Y[:100]))
    features = model.fitted_.job.features[100:]
    assert np.flatnonzero((features[:, :-1] == 0).all(1)).tolist() == [7, 8]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # requests say nothing more of it
        certificate = model.forget(3)
    assert certificate.claim == expected.claim
    assert (certificate.history, certificate.scope) == (expected.history, expected.scope)
    model.forget([7, 8])


def test_no_new_row_decides_whether_it_joins():
    encode = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    model = fitted_frame = made([("encode", encode)])
    fitted_frame.fit(FRAME[100:], Y[100:], public=(FRAME[:100], Y[:100]))
    more = FRAME[:2].assign(town=["x", "Atlantis"])
    with pytest.warns(RecordsWarning, match="1 of 2 private rows"):
        model.add(more, Y[:2])
    with pytest.warns(RecordsWarning, match="1 of 1 private rows"):
        model.exchange([61], more[1:], Y[1:2], ids=[70])
    features = model.fitted_.job.features[160:]
    assert (features[:, :-1] == 0).all(1).tolist() == [False, True, True]


def test_parameters_are_nested_and_a_clone_keeps_them_alone():
    pipe = fitted(l2=0.5)
    assert pipe.get_params()["scale__with_mean"] is True
    assert pipe.get_params()["estimator__l2"] == 0.5
    other = clone(pipe).set_params(scale__with_mean=False, estimator__l2=0.1, reduce=PCA(2))
    assert other.steps[0][1].with_mean is False
    assert other.get_params()["reduce__n_components"] == 2
    assert other.estimator.l2 == 0.1
    assert pipe.steps[0][1].with_mean is True
    with pytest.raises(NotFittedError):
        other.predict(X)
    with pytest.raises(ValueError, match="Invalid parameter"):
        pipe.set_params(nothing=1)


def test_scikit_learn_cross_validates_it():
    scores = cross_val_score(made([("norm", Normalizer())], l2=1e-3), X, Y, cv=3)
    assert scores.min() > 0.6


@pytest.mark.parametrize("estimator", [LogisticRegression(), CertifiedClassifier, None])
def test_something_else_than_a_certified_estimator_is_refused(estimator):
    with pytest.raises((ValueError, TypeError)):
        CertifiedPipeline([("norm", Normalizer())], estimator).fit(*PRIVATE)


@pytest.mark.parametrize("public", [X, (X,), "public", 5])
def test_public_records_are_a_pair(public):
    with pytest.raises(ValueError, match="public: must be a pair"):
        made().fit(*PRIVATE, public=public)


# Disk, and what is handed out.


@pytest.mark.parametrize("strategy", ["auto", "retrain", Langevin(learn_steps=40, capacity=0.2)])
def test_what_was_saved_comes_back_and_goes_on(tmp_path, strategy):
    steps = [("scale", StandardScaler()), ("trees", TreeLeaves(trees=3, min_leaf=5))]
    pipe = fitted(steps, strategy=strategy, random_state=2)
    pipe.forget("r1")
    pipe.save(tmp_path)
    again = load(tmp_path)
    assert type(again) is CertifiedPipeline
    assert repr(again) == repr(pipe)
    assert again.n_features_in_ == 4
    np.testing.assert_array_equal(again.predict_proba(X), pipe.predict_proba(X))
    models = pipe.forget(["r2"]).model_sha256 is not None
    assert told(again.forget(["r2"]), models=models) == told(pipe.certificate_, models=models)
    again.save(tmp_path)
    assert load(tmp_path).forget("r3").forgotten == 3


def test_names_of_columns_come_back(tmp_path):
    pipe = made([("scale", StandardScaler())]).fit(
        FRAME[list("abcd")][100:], Y[100:], public=(FRAME[list("abcd")][:100], Y[:100])
    )
    pipe.save(tmp_path)
    again = load(tmp_path)
    assert again.feature_names_in_.tolist() == list("abcd")
    assert again.get_feature_names_out().tolist() == list("abcd")


def test_the_steps_lie_under_the_seal_and_are_written_once(tmp_path):
    pipe = fitted()
    pipe.save(tmp_path)
    (file,) = (tmp_path / "secret").glob("*.skops")
    content = file.read_bytes()
    pipe.forget("r1")
    pipe.save(tmp_path)
    assert [path.name for path in (tmp_path / "secret").glob("*.skops")] == [file.name]
    assert f"secret/{file.name}" in read(tmp_path).check()
    for place in (0, len(content) // 2, len(content) - 1):
        flipped = bytearray(content)
        flipped[place] ^= 1
        file.write_bytes(flipped)
        with pytest.raises(Altered, match="its digest is not the one in the index"):
            load(tmp_path)
    file.unlink()
    with pytest.raises(ValueError, match="is missing, and the index names it"):
        load(tmp_path)


def test_the_folder_holds_no_pickle(tmp_path):
    fitted().save(tmp_path)
    kinds = {path.suffix for path in tmp_path.rglob("*") if path.is_file()} - {""}
    assert kinds == {".json", ".safetensors", ".skops"}
    pickled = [p for p in tmp_path.rglob("*") if p.is_file() and p.read_bytes()[:1] == b"\x80"]
    assert not pickled


def test_a_step_with_code_of_others_is_refused_by_name_and_nothing_is_written(tmp_path):
    pipe = fitted([("mine", Keeping())])
    with pytest.raises(ValueError, match="'mine': holds what cannot be saved"):
        pipe.save(tmp_path / "model")
    assert not list((tmp_path / "model").rglob("*.*"))
    assert pipe.forget("r1").forgotten == 1


def test_who_loads_estimators_alone_is_told_of_the_pipeline(tmp_path):
    fitted().save(tmp_path)
    with pytest.raises(ValueError, match=r"a CertifiedPipeline, which expunge\.unlearning\.load"):
        estimator_module.load(tmp_path)


def test_what_is_released_predicts_from_raw_rows_and_holds_no_private_record():
    pipe = fitted([("keep", Keeping()), ("scale", StandardScaler())])
    pipe.forget("r1")
    released = pipe.release()
    np.testing.assert_array_equal(released.predict_proba(X), pipe.predict_proba(X))
    fresh = pipe.release()
    with pytest.warns(UserWarning, match=re.escape(PICKLED)):
        whole = pickle.dumps(pipe)
    for content in (pickle.dumps(fresh), whole):
        for row in PRIVATE[0]:
            assert row.tobytes() not in content
            assert row[0].tobytes() not in content


def test_what_was_pickled_predicts_and_cannot_forget():
    pipe = fitted()
    pipe.forget("r1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = pickle.loads(pickle.dumps(pipe))
    np.testing.assert_array_equal(again.predict(X), pipe.predict(X))
    assert again.certificate_ == pipe.certificate_
    with pytest.raises(NoCertificate, match="cannot forget"):
        again.forget("r2")


def test_a_record_is_corrected_through_the_same_steps_under_a_frames_index():
    pipe = made().fit(*PRIVATE, public=PUBLIC, ids=IDS)
    right = pd.DataFrame(X[:1] + 0.5, index=["r3"])
    certificate = pipe.exchange("r3", right, Y[:1], ids="index")
    assert (certificate.records, certificate.forgotten, certificate.joined) == (161, 1, 1)
    assert not differences(certificate)
    twin = made().fit(*PRIVATE, public=PUBLIC, ids=IDS)
    twin.forget("r3")
    twin.add(X[:1] + 0.5, Y[:1], ids=["r3"], again=True)
    mine, other = (each.fitted_.job.features for each in (pipe, twin))
    assert (mine == other).all()
