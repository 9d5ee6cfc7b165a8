"""Steps are fitted on public records alone; without any, only what needs no fitting is taken."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
    TargetEncoder,
)

from expunge.features import DeclaredColumns, TreeLeaves
from expunge.features.public_fitting import check_steps, fit_halves, fit_steps
from expunge.features.row_blocks import dense
from tests.features.steps import Centring, Keeping, Recalling, Watched

RNG = np.random.default_rng(0)
PUBLIC = RNG.normal(size=(50, 3)), RNG.integers(0, 2, 50)
PRIVATE = RNG.normal(5, size=(20, 3))
SCALED = FrozenEstimator(StandardScaler().fit(PRIVATE))


def test_every_step_sees_what_those_before_make_of_public_rows_and_nothing_else():
    Watched.seen.clear()
    frozen = fit_steps([("scale", StandardScaler()), ("spy", Watched())], PUBLIC, PRIVATE)
    ((rows, labels),) = Watched.seen
    np.testing.assert_allclose(rows, StandardScaler().fit_transform(PUBLIC[0]))
    np.testing.assert_array_equal(labels, PUBLIC[1])
    assert [step.origin for step in frozen.steps] == ["public", "public"]
    assert frozen.public == 50


def test_the_callers_transformer_stays_unfitted_and_its_later_changes_move_nothing():
    given = StandardScaler()
    frozen = fit_steps([("scale", given)], PUBLIC, PRIVATE)
    assert not hasattr(given, "mean_")
    before = frozen.transform(PRIVATE)
    given.set_params(with_mean=False)
    np.testing.assert_array_equal(frozen.transform(PRIVATE), before)


def test_nor_do_later_changes_of_the_public_rows():
    """A neighbours' step keeps the array it was fitted on, not a copy."""
    rows = PUBLIC[0].copy()
    step = make_pipeline(KNeighborsTransformer(n_neighbors=2))
    frozen = fit_steps([("near", step)], (rows, PUBLIC[1]), PRIVATE)
    before = frozen.transform(PRIVATE)
    rows += 100
    np.testing.assert_array_equal(dense(frozen.transform(PRIVATE)), dense(before))


def test_supervised_steps_get_public_labels_and_no_cross_fitting():
    frame = pd.DataFrame({"town": list("abcde") * 10})
    frozen = fit_steps([("mean", TargetEncoder(random_state=0))], (frame, PUBLIC[1]), frame)
    whole = TargetEncoder(random_state=0).fit(frame, PUBLIC[1]).transform(frame)
    np.testing.assert_array_equal(frozen.transform(frame), whole)


@pytest.mark.parametrize("step", [StandardScaler(), PCA(2), CountVectorizer()], ids=str)
def test_without_public_rows_what_must_be_fitted_is_refused_by_name(step):
    name = type(step).__name__
    with pytest.raises(ValueError, match=f"'it': {name} must be fitted, and on public records"):
        fit_steps([("it", step)], None, PRIVATE)


def test_no_public_rows_are_refused_as_none_at_all():
    with pytest.raises(ValueError, match="must be fitted, and on public records"):
        fit_steps([("it", StandardScaler())], (PUBLIC[0][:0], PUBLIC[1][:0]), PRIVATE)


@pytest.mark.parametrize(
    ("step", "origin"),
    [
        (Normalizer(), "stateless"),
        (HashingVectorizer(n_features=8), "stateless"),
        (FunctionTransformer(np.tanh), "declared"),
        (DeclaredColumns(ranges={0: (-3, 3)}), "declared"),
    ],
    ids=str,
)
def test_what_needs_no_fitting_needs_no_public_rows(step, origin):
    rows = ["a b", "c"] if isinstance(step, HashingVectorizer) else PRIVATE
    frozen = fit_steps([("it", step)], None, rows)
    assert frozen.steps[0].origin == origin
    assert frozen.public == 0


def test_where_there_are_public_rows_a_step_is_never_said_to_be_fitted_on_none():
    """Its word that it needs no fitting is not checked, and `fit` was called."""
    (step,) = fit_steps([("norm", Normalizer())], PUBLIC, PRIVATE).steps
    assert step.origin == "public"


@pytest.mark.parametrize(
    "step",
    [
        SCALED,
        make_pipeline(SCALED),
        ColumnTransformer([("scaled", SCALED, [0, 1, 2])]),
        ColumnTransformer([("mine", FunctionTransformer(np.tanh), [0])]),
    ],
    ids=["alone", "in a pipeline", "in columns", "function"],
)
def test_what_the_caller_fitted_or_wrote_is_never_called_enforced(step):
    frozen = fit_steps([("it", step)], PUBLIC, PRIVATE)
    assert frozen.steps[0].origin == "declared"
    assert "not checked" in frozen.lines[0]


def test_what_the_caller_declares_within_a_step_is_named():
    frame = pd.DataFrame({"town": ["a", "b"] * 25})
    given = OneHotEncoder(categories=[["a", "b", "c"]])
    (step,) = fit_steps([("it", given)], (frame, PUBLIC[1]), frame).steps
    assert (step.origin, step.declared) == ("public", ("categories",))
    inside = ColumnTransformer([("town", clone(given), ["town"])])
    (step,) = fit_steps([("it", inside)], (frame, PUBLIC[1]), frame).steps
    assert step.declared == ("town__categories",)
    (step,) = fit_steps([("it", OneHotEncoder())], (frame, PUBLIC[1]), frame).steps
    assert step.declared == ()


@pytest.mark.parametrize("public", [PUBLIC, None])
def test_a_step_that_mixes_rows_is_refused_by_name(public):
    with pytest.raises(ValueError, match="steps: 'centre': mixes rows"):
        fit_steps([("centre", Centring())], public, PRIVATE)


@pytest.mark.parametrize("wrong", [slice(3, 4), slice(None)], ids=["one row", "every row"])
def test_private_rows_that_fail_are_not_what_a_step_is_tried_on(wrong):
    rows = np.random.default_rng(0).normal(size=(40, 3))
    rows[wrong] = np.nan  # which Normalizer raises on
    assert fit_steps([("norm", Normalizer())], None, rows).lines


def test_private_rows_that_are_tried_leave_nothing_in_a_step():
    frozen = fit_steps([("keep", Keeping())], None, PRIVATE)
    assert not hasattr(frozen.steps[0].transformer, "last_")


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (None, "must be a list of pairs"),
        ([], "must be a list of pairs"),
        ([StandardScaler()], "must be a list of pairs"),
        ([("a", 1)], "'a': 1 is no scikit-learn transformer"),
        ([("a", StandardScaler)], "is no scikit-learn transformer"),
        ([("a", StandardScaler()), ("a", PCA())], "two steps are called 'a'"),
        ([("a__b", StandardScaler())], "'a__b' cannot be a step's name"),
        ([("steps", StandardScaler())], "'steps' cannot be a step's name"),
        ([(1, StandardScaler())], "1 cannot be a step's name"),
    ],
)
def test_what_is_no_list_of_steps_is_refused_in_one_line(steps, said):
    with pytest.raises(ValueError, match=said):
        check_steps(steps, ["steps"])


def test_steps_that_pass_everything_through_are_left_out():
    steps = [("a", "passthrough"), ("b", None), ("c", Normalizer())]
    assert [name for name, _ in check_steps(steps, [])] == ["c"]


def test_no_half_goes_through_steps_that_saw_it():
    frozen = fit_steps([("scale", StandardScaler()), ("recall", Recalling())], PUBLIC, PRIVATE)
    assert (frozen.transform(PUBLIC[0])[:, 0] == PUBLIC[1]).all()  # which flatters these rows
    halves = fit_halves(frozen, PUBLIC)
    assert [len(labels) for _, labels in halves] == [25, 25]
    for rows, _ in halves:
        assert (rows == -1).all()
    given = sorted(np.concatenate([labels for _, labels in halves]).tolist())
    assert given == sorted(PUBLIC[1].tolist())


def test_steps_that_take_no_labels_need_no_halves():
    assert fit_halves(fit_steps([("scale", StandardScaler())], PUBLIC, PRIVATE), PUBLIC) == []
    few = PUBLIC[0][:30], PUBLIC[1][:30]
    assert fit_halves(fit_steps([("recall", Recalling())], few, PRIVATE), few) == []


def test_what_a_step_chose_on_all_public_rows_stays_in_halves():
    rows = RNG.uniform(-1, 1, size=(200, 2))
    public = rows, (rows[:, 0] * rows[:, 1] > 0).astype(int)
    step = TreeLeaves(trees=4)
    frozen = fit_steps([("trees", step)], public, PRIVATE[:, :2])
    width = frozen.transform(rows[:1]).shape[1]
    for half, labels in fit_halves(frozen, public):
        assert half.shape[0] == len(labels) == 100
        assert half.shape[1] <= width  # fewer rows, no more leaves
        chosen = frozen.steps[0].transformer.raw_
        raw = np.linalg.norm(dense(half)[:, -2:], axis=1).max()
        assert raw <= chosen / np.hypot(1, chosen) + 1e-6
