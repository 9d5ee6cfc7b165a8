"""Sparse rows are learned, deleted and stored as dense ones are, with the same certificates."""

import copy
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import torch
from scipy import sparse

from expunge.accounting.verification import differences
from expunge.audit.laws import accepted_extremes
from expunge.core.sparse_rows import SparseRows, memory_of
from expunge.errors import InvalidInput, SettingsWarning
from expunge.losses import objective
from expunge.unlearning.linear import chunk_columns, saved_rows
from expunge.unlearning.linear.by_passes import ByPasses
from expunge.unlearning.linear.ensemble import problem_of
from expunge.unlearning.linear.estimator import CertifiedClassifier, CertifiedRegressor, load
from expunge.unlearning.linear.langevin import Langevin, NoiseFirst
from expunge.unlearning.linear.pass_free import PassFree
from expunge.unlearning.linear.residual import Residual

WIDTH, PUBLIC, PRIVATE = 30, 40, 150
STRATEGIES = {
    "residual": Residual(),
    "residual by passes": Residual(distance=0),
    "retrain": "retrain",
    "langevin": Langevin(learn_steps=30, capacity=0.2),
    "noise_first": NoiseFirst(learn_steps=30, unlearn_steps=5),
}
each_strategy = pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
each_kind = pytest.mark.parametrize(
    "kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix]
)


def words(rows=PUBLIC + PRIVATE, seed=0, classes=2):
    """Rows like those of texts, all within the bound, and labels along fixed directions."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((rows, WIDTH)) < 0.2, rng.uniform(0.02, 0.2, (rows, WIDTH)), 0)
    directions = np.random.default_rng(99).normal(size=(WIDTH, classes))
    y = (X @ directions).argmax(1)
    y[:classes] = y[-classes:] = np.arange(classes)
    return X, y


def fitted(form=sparse.csr_array, strategy="residual", classes=2, kind=CertifiedClassifier, **how):
    X, y = words(classes=classes)
    if kind is CertifiedRegressor:
        y = np.clip(X.sum(1) - 0.5, -1, 1)
    public = form(X[:PUBLIC]), y[:PUBLIC]
    estimator = kind(strategy=strategy, random_state=3, **how)
    return estimator.fit(form(X[PUBLIC:]), y[PUBLIC:], public=public)


def alike(one, other):
    """Models within rounding, and certificates of the same numbers."""
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-9)
    ours, theirs = one.certificate_, other.certificate_
    if theirs is not None:
        assert ours.claim == theirs.claim
        assert ours.assumptions == theirs.assumptions
        assert ours.history == theirs.history
        assert differences(ours) == []


@each_strategy
@pytest.mark.parametrize("classes", [2, 3])
def test_the_same_values_give_the_same_certificates_and_models_in_both_forms(strategy, classes):
    ours, theirs = (fitted(form, strategy, classes) for form in (sparse.csr_array, np.asarray))
    X, _ = words(20, seed=5)
    alike(ours, theirs)
    for ids in ([3], [17, 80, 140]):
        for one in (ours, theirs):
            one.forget(ids)
        alike(ours, theirs)
    np.testing.assert_allclose(
        ours.predict_proba(sparse.csr_array(X)), theirs.predict_proba(X), atol=1e-9
    )
    np.testing.assert_array_equal(ours.predict(X), ours.predict(sparse.coo_array(X)))
    np.testing.assert_allclose(ours.placebo([5]).theta, theirs.placebo([5]).theta, atol=1e-9)


@pytest.mark.parametrize("strategy", [Residual(), Residual(distance=0)], ids=str)
def test_regressions_take_sparse_rows_too(strategy):
    pair = [
        fitted(form, strategy, kind=CertifiedRegressor) for form in (sparse.csr_array, np.asarray)
    ]
    for one in pair:
        one.forget([2, 9])
    alike(*pair)
    X, y = words(30, seed=8)
    assert abs(pair[0].score(sparse.csr_array(X), y) - pair[1].score(X, y)) < 1e-9


def test_within_the_bound_an_anchor_has_the_bits_that_it_has_of_dense_rows():
    """Both at the same point: a row brings the same whole numbers in either form."""
    ours, theirs = (fitted(form).fitted_ for form in (sparse.csr_array, np.asarray))
    np.testing.assert_array_equal(ours.job.features.dense().numpy(), theirs.job.features.numpy())
    point = theirs.outcome.secret["theta"]
    anchors = []
    for state in (ours, theirs):
        strategy = state.strategy
        reach = strategy.reach(state.job)
        rule = PassFree(ByPasses(state.job, strategy.tolerance), reach, strategy.max_anchor_age)
        gone = [PUBLIC + 4, PUBLIC + 20]
        made = rule.anchor_at(point)
        anchors.append(made.moved(gone, rule.terms, state.job.features, state.job.targets))
    tensors = [anchor.tensors() for anchor in anchors]
    assert tensors[0].keys() == tensors[1].keys()
    for name in tensors[0].keys() - {"anchor"}:  # which holds the second it was made
        assert torch.equal(tensors[0][name], tensors[1][name]), name


@each_kind
def test_every_sparse_form_is_taken_and_left_alone(kind):
    X, y = words()
    given, before = kind(X), X.copy()
    estimator = CertifiedClassifier(random_state=3).fit(given, y)
    np.testing.assert_array_equal(given.toarray(), before)
    assert given.format == kind((1, 1)).format
    np.testing.assert_allclose(
        estimator.coef_, CertifiedClassifier(random_state=3).fit(X, y).coef_, atol=1e-9
    )
    estimator.forget([1])
    estimator.add(kind(X[:3]), y[:3])
    assert estimator.fitted_.job.roster.retained == len(X) + 2


def test_zeros_that_are_stored_and_numbers_given_twice_change_nothing():
    X, y = words()
    plain = sparse.coo_array(X)
    rows = np.concatenate([plain.row, plain.row, [0, 1]])
    columns = np.concatenate([plain.col, plain.col, [0, 0]])
    values = np.concatenate([plain.data / 2, plain.data / 2, [0.0, 0.0]])
    odd = sparse.coo_array((values, (rows, columns)), shape=X.shape)
    one, other = (CertifiedClassifier(random_state=3).fit(each, y) for each in (plain, odd))
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_public_and_private_rows_may_come_in_different_forms():
    X, y = words()
    expected = fitted().coef_
    for private, public in ((np.asarray, sparse.csr_matrix), (sparse.csr_array, np.asarray)):
        clf = CertifiedClassifier(random_state=3)
        clf.fit(private(X[PUBLIC:]), y[PUBLIC:], public=(public(X[:PUBLIC]), y[:PUBLIC]))
        np.testing.assert_allclose(clf.coef_, expected, atol=1e-9)
        clf.add(sparse.csr_array(X[:2]), y[:2])
        clf.add(X[:2], y[:2])
        assert isinstance(clf.fitted_.job.features, SparseRows) == (private is sparse.csr_array)


@pytest.mark.parametrize("l2", [1e-3, "public"])
@pytest.mark.parametrize("reference", ["zero", "start", "center"])
def test_what_public_records_choose_is_the_same(l2, reference):
    pair = [
        fitted(form, l2=l2, row_norm="public", reference=reference)
        for form in (sparse.csr_array, np.asarray)
    ]
    assert pair[0].row_norm_ == pytest.approx(pair[1].row_norm_, rel=1e-14)
    assert pair[0].l2_ == pytest.approx(pair[1].l2_, rel=1e-12)
    np.testing.assert_allclose(pair[0].coef_, pair[1].coef_, atol=1e-9)


def test_wide_rows_take_passes_and_a_diagonal_and_are_certified_alike(monkeypatch):
    """Beyond 5,000 features; here beyond 20."""
    monkeypatch.setattr(objective, "WIDE", 20)
    strategy = Residual(state_limit=1e-6)
    pair = [fitted(form, strategy) for form in (sparse.csr_array, np.asarray)]
    assert not strategy.goes_without_passes(pair[0].fitted_.job)
    assert pair[0].fitted_.outcome.secret["gram"].shape == (WIDTH + 1,)
    for one in pair:
        one.forget([3, 5])
        gram = one.fitted_.outcome.secret["gram"]
        assert torch.equal(gram, one.fitted_.job.objective.gram().total)  # nothing of the two left
    alike(*pair)
    theta, other = accepted_extremes(pair[0].fitted_.job, Residual(1e-9, distance=0))
    assert float((theta - other).norm()) > 1e-9 / pair[0].l2_


# ---- what is not there any more ---------------------------------------------------------------


def numbers_of(rows, row):
    """The bytes of a row's numbers; no other row has them."""
    return [value.tobytes() for value in rows[row] if value]


def held_in(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def in_memory(estimator):
    parts = memory_of(estimator.fitted_.job.features)
    return b"".join(part.numpy().tobytes() for part in parts)


def test_a_deleted_rows_numbers_are_gone_from_memory_and_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_rows, "CHUNK_ROWS", 64)
    X, _ = words()
    clf = fitted()
    clf.save(tmp_path / "model")
    gone = [number for record in (3, 90) for number in numbers_of(X, PUBLIC + record)]
    kept = numbers_of(X, PUBLIC + 4)
    assert all(n in in_memory(clf) and n in held_in(tmp_path) for n in [*gone, *kept])
    clf.forget([3, 90])
    clf.save(tmp_path / "model")
    for left in (in_memory(clf), held_in(tmp_path)):
        assert not any(number in left for number in gone)
        assert all(number in left for number in kept)
    assert clf.fitted_.job.features[[PUBLIC + 3, PUBLIC + 90]].matrix.nnz == 0


def test_an_earlier_state_sees_erasures_and_copies_do_not():
    clf = fitted()
    clf.add(*words(2, seed=4))
    before, apart = clf.fitted_, copy.deepcopy(clf)
    clf.forget([8])
    assert before.job.features[[PUBLIC + 8]].matrix.nnz == 0
    assert apart.fitted_.job.features[[PUBLIC + 8]].matrix.nnz
    apart.forget([8])


def test_a_request_that_fails_changes_no_bit(monkeypatch):
    clf = fitted()
    theta, rows = clf.coef_, clf.fitted_.job.features.dense()
    for verb, given in ((clf.forget, ([8],)), (clf.add, (words(3)[0], words(3)[1]))):
        with monkeypatch.context() as patch:
            stop = "expunge.unlearning.fitted.Fitted.with_certificates"
            patch.setattr(stop, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                verb(*given)
        np.testing.assert_array_equal(clf.coef_, theta)
        assert torch.equal(clf.fitted_.job.features.dense(), rows)
    clf.forget([8])
    assert clf.fitted_.job.roster.retained == PUBLIC + PRIVATE - 1


def test_a_row_that_was_changed_in_memory_is_noticed():
    clf = fitted()
    for matrix in clf.fitted_.job.features.blocks():
        matrix.data[0] *= 1.5
    with pytest.raises(RuntimeError, match="the stored records changed"):
        clf.forget([0])


# ---- on disk ----------------------------------------------------------------------------------


@each_strategy
def test_saved_models_go_on_where_they_were_in_memory_and_on_disk(tmp_path, monkeypatch, strategy):
    monkeypatch.setattr(saved_rows, "CHUNK_ROWS", 64)
    inside = fitted(strategy=strategy)
    inside.save(tmp_path / "model")
    for on_disk in (True, False):
        other = load(tmp_path / "model", on_disk=on_disk)
        if on_disk:
            other.fitted_.job.features.table.kept = 0
        ours = copy.deepcopy(inside)
        for ids in ([3], [140, 20, 21]):
            certificates = ours.forget(ids), other.forget(ids)
            assert certificates[0].claim == certificates[1].claim
            np.testing.assert_array_equal(ours.coef_, other.coef_)
        rows = other.fitted_.job.features[:]
        assert torch.equal(rows.dense(), ours.fitted_.job.features.dense())


def test_records_that_joined_are_saved_and_found_again(tmp_path):
    clf = fitted()
    clf.save(tmp_path / "model")
    X, y = words(5, seed=4)
    clf.add(sparse.csr_array(X), y, ids=range(200, 205))
    clf.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert torch.equal(again.fitted_.job.features.dense(), clf.fitted_.job.features.dense())
    again.forget([201])


def test_a_chunk_that_does_not_hold_such_rows_is_refused(tmp_path, monkeypatch):
    clf = fitted()
    plain = chunk_columns.SparseRows.arrays

    def longer(rows):
        arrays = plain(rows)
        return arrays | {"values": arrays["values"] * 100}

    monkeypatch.setattr(chunk_columns.SparseRows, "arrays", longer)
    clf.save(tmp_path / "model")
    with pytest.raises(InvalidInput, match="rows of norm above 1, the bound that is certified"):
        load(tmp_path / "model")


def test_pickle_writes_a_predictor_that_takes_sparse_rows():
    clf = fitted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = pickle.loads(pickle.dumps(clf))
    X = sparse.csr_array(words(9, seed=3)[0])
    np.testing.assert_array_equal(kept.predict(X), clf.predict(X))
    np.testing.assert_array_equal(clf.release().predict_proba(X), clf.predict_proba(X))


# ---- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_refused_in_one_line(value):
    X, y = words()
    clf = fitted()
    wrong = sparse.csr_array(X)
    wrong.data[7] = value
    for act in (
        lambda: CertifiedClassifier().fit(wrong, y),
        lambda: CertifiedClassifier().fit(X, y, public=(wrong, y)),
        lambda: clf.add(wrong, y),
        lambda: clf.predict(wrong),
    ):
        with pytest.raises(ValueError, match=r"NaN|infinity") as refused:
            act()
        assert "\n" not in str(refused.value)


def test_rows_of_another_width_are_refused_in_one_line():
    X, y = words()
    clf = fitted()
    narrow = sparse.csr_array(X[:, :-1])
    for act in (lambda: clf.add(narrow, y), lambda: clf.predict(narrow)):
        with pytest.raises(ValueError, match=r"X has 29 features, but .* is expecting 30") as no:
            act()
        assert "\n" not in str(no.value)


def test_ensembles_are_not_sampled_from_sparse_rows():
    strategy = Langevin(learn_steps=10, capacity=0.2)
    with pytest.raises(InvalidInput, match=r"X: ensembles are sampled from dense rows"):
        problem_of(fitted(strategy=strategy).fitted_.job, [PUBLIC], strategy)


def test_warnings_about_settings_are_the_same_of_sparse_rows():
    """Labels by chance, and noise for half of the records."""
    X, _ = words(800)
    y = np.random.default_rng(0).integers(0, 2, 800)
    for strategy in ("residual", Langevin(learn_steps=20, capacity=0.5)):
        told = []
        for form in (sparse.csr_array, np.asarray):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", SettingsWarning)
                clf = CertifiedClassifier(random_state=0, strategy=strategy, row_norm=0.05)
                clf.fit(form(X[500:]), y[500:], public=(form(X[:500]), y[:500]))
            told.append([str(each.message) for each in caught])
        assert told[0]
        assert told[0] == told[1]


def test_rows_as_wide_as_hashed_texts_need_no_memory_for_their_zeros():
    """30 x 2^18 dense float64 numbers would be 63 MB, of which numpy tells tracemalloc."""
    rows = sparse.random_array((30, 2**18), density=1e-4, random_state=0, format="csr")
    y = np.arange(30) % 2
    clf = CertifiedClassifier(random_state=0, l2=0.1).fit(rows, y)  # imports apart
    tracemalloc.start()
    clf.fit(rows, y)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 2**21 < most < 30 * 2**21 / 2
    clf.forget([3])
    assert clf.coef_.shape == (1, 2**18)
