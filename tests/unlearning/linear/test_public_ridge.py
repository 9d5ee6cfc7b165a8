"""The ridge chosen on public records: a function of them, of the settings and of n alone."""

import json
import math

import numpy as np
import pytest
import torch

from expunge.accounting.assumptions import Assumptions
from expunge.core.rows import bounded_rows, public_row_norm
from expunge.errors import InvalidInput
from expunge.losses import Logistic, Squared
from expunge.losses.objective import Objective
from expunge.losses.solver import solve
from expunge.unlearning import (
    CertifiedClassifier,
    CertifiedRegressor,
    Langevin,
    NoiseFirst,
    Residual,
    Retrain,
    load,
)
from expunge.unlearning.linear.public_folds import deal_folds
from expunge.unlearning.linear.public_ridge import FEWEST, GRID, PublicRidge, choose_ridge
from tests.unlearning.records import labelled, measured

STRATEGIES = (Residual(), Langevin(learn_steps=20), NoiseFirst(20, 4), Retrain())


def chosen(rows=200, records=1000, row_norm=1.0, **changes):
    X, y = labelled(rows)
    given = {"row_norm": row_norm, "records": records, "classes": True} | changes
    return choose_ridge(X, y, Logistic, **given)


def held_out_loss(rows_and_labels, value, row_norm):
    """Mean loss on the folds, each solved on its own, cold and close: an oracle without paths."""
    (X, y), losses = rows_and_labels, []
    for fold in range(5):
        away = deal_folds(y, 5, classes=True) == fold
        bound = public_row_norm(X[~away]) if row_norm == "public" else row_norm
        loss = Logistic(value * bound**2, bound)
        parts = [torch.from_numpy(bounded_rows(X[part], bound)) for part in (~away, away)]
        targets = [torch.from_numpy(y[part]) for part in (~away, away)]
        objective = Objective(loss, parts[0], targets[0])
        zero = torch.zeros(*objective.shape, dtype=torch.float64)
        theta = solve(objective, zero, tolerance=1e-9)
        losses.append(float(loss.value(parts[1] @ theta.T, targets[1]).mean()))
    return float(np.mean(losses))


@pytest.mark.parametrize("row_norm", [1.0, 3.0, "public"])
def test_the_choice_is_the_grids_value_with_the_least_held_out_loss(row_norm):
    X, y = labelled(150)
    ridge = chosen(150, row_norm=row_norm)
    bound = public_row_norm(X) if row_norm == "public" else row_norm
    losses = {value: held_out_loss((X, y), value, row_norm) for value in GRID}
    best = min(losses, key=losses.__getitem__)
    assert ridge.cross_validated == pytest.approx(best * bound**2)
    for value, loss in ridge.tried:
        nearest = min(GRID, key=lambda each: abs(math.log(each * bound**2 / value)))
        # Objectives within 1e-4 log 2 of the least: so far from the minimiser, times the slope B.
        apart = bound * math.sqrt(2e-4 * math.log(2) / value)
        assert loss == pytest.approx(losses[nearest], abs=apart)


def test_it_is_rescaled_by_the_records_at_fit_down_to_a_floor():
    ridge = chosen(200, records=1000)
    assert ridge.learned_from == 160
    assert ridge.l2 == pytest.approx(ridge.cross_validated * 160 / 1000)
    assert chosen(200, records=4000).l2 == pytest.approx(ridge.l2 / 4)
    assert chosen(200, records=10**9).l2 == 1e-6
    assert chosen(200, records=10**9, row_norm=10.0).l2 == pytest.approx(1e-4)


def test_private_records_change_it_by_their_number_alone():
    X, y = labelled(300)
    others, labels = labelled(200, seed=5, noise=3.0)
    ridges = {
        CertifiedClassifier(l2="public").fit(a, b, public=(X[:100], y[:100])).l2_
        for a, b in ((X[100:], y[100:]), (others, labels), (9 * others, 1 - labels))
    }
    assert len(ridges) == 1


def test_the_same_records_give_the_same_choice_and_its_document_comes_back():
    ridge = chosen()
    assert ridge == chosen()
    assert PublicRidge.of(json.loads(json.dumps(ridge.document()))) == ridge
    assert PublicRidge.of(None) is None


def test_a_large_public_set_takes_part_up_to_a_bound():
    assert chosen(9000, records=10_000).public == 4000


def test_noisy_labels_call_for_a_larger_ridge_than_clean_ones():
    """A rule that does not look at the records cannot pass."""
    (X, y), (_, random) = labelled(400, features=30, noise=0.0), labelled(400, noise=0.0, seed=7)
    ridges = [
        choose_ridge(X, t, Logistic, row_norm=1.0, records=400, classes=True).l2
        for t in (y, np.random.default_rng(0).permutation(random))
    ]
    assert ridges[1] > 30 * ridges[0]


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (0, None, "needs 20 public records or more, not 0"),
        (FEWEST - 1, None, "needs 20 public records or more, not 19"),
        (FEWEST, 1, "needs two labels among the public records"),
    ],
)
@pytest.mark.parametrize("row_norm", [1.0, "public"])
def test_too_little_to_choose_from_is_refused_with_a_remedy(rows, labels, message, row_norm):
    X, y = labelled(200)
    known = y[:rows] if labels is None else np.full(rows, labels)
    public = (X[:rows], known) if rows else None
    clf = CertifiedClassifier(l2="public", row_norm=row_norm, classes=[0, 1])
    if rows == 0 and row_norm == "public":
        message = "needs public records; give a number instead"
    with pytest.raises(ValueError, match=message) as refused:
        clf.fit(X, y, public=public)
    assert "number" in str(refused.value)
    assert "\n" not in str(refused.value)
    if rows:
        with pytest.raises(InvalidInput, match="l2: "):
            choose_ridge(X[:rows], known, Logistic, row_norm=1.0, records=200, classes=True)


def test_twenty_public_records_are_enough():
    X, y = labelled(200)
    clf = CertifiedClassifier(l2="public").fit(X, y, public=(X[:FEWEST], y[:FEWEST]))
    assert clf.fitted_.ridge.public == FEWEST


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
def test_the_certificate_marks_what_rests_on_it_public_and_says_how_it_was_chosen(strategy):
    X, y = labelled(200)
    given, taken = (
        CertifiedClassifier(l2=l2, strategy=strategy, random_state=0).fit(
            X[50:], y[50:], public=(X[:50], y[:50])
        )
        for l2 in (1e-2, "public")
    )
    before, after = given.forget([1, 2]), taken.forget([1, 2])
    public = {name for name, one in after.assumptions.items() if one.mark == "public"}
    enforced = {name for name, one in before.assumptions.items() if one.mark == "enforced"}
    expected = {"initial_distance"}
    if strategy.name != "residual":
        expected = {"strong_convexity", "smoothness", "weight_decay", "radius"} & enforced
    assert public == expected
    assert after.assumptions["lipschitz"].mark == "enforced"
    assert not any("chosen by cross-validation" in line for line in before.scope)
    (line,) = (line for line in after.scope if "chosen by cross-validation" in line)
    assert f"l2 = {taken.l2_:.4g}" in line
    assert "200 records at fit" in line


def test_constants_that_are_assumed_stay_so():
    marks = {"strong_convexity": "assumed", "lipschitz": "enforced", "smoothness": "enforced"}
    stated = Assumptions(0.0, 1.0, 1.0, marks=marks)
    ridge = chosen()
    assert dict(ridge.mark(stated).marks) == {**marks, "smoothness": "public"}


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_a_saved_model_keeps_its_ridge_and_what_it_was_chosen_from(tmp_path, kind):
    X, y = labelled(200) if kind == "classifier" else measured(200)
    made = CertifiedClassifier if kind == "classifier" else CertifiedRegressor
    clf = made(l2="public", row_norm="public").fit(X[50:], y[50:], public=(X[:50], y[:50]))
    clf.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.fitted_.ridge == clf.fitted_.ridge
    assert again.l2 == "public"
    assert (again.l2_, again.row_norm_) == (clf.l2_, clf.row_norm_)
    before = again.l2_
    again.forget([0, 1])
    assert again.l2_ == before


def test_a_ridge_that_was_given_is_shown_too_and_came_from_nowhere():
    X, y = labelled(60)
    clf = CertifiedClassifier(l2=0.03, row_norm=2.0).fit(X, y)
    assert (clf.l2_, clf.row_norm_, clf.fitted_.ridge) == (0.03, 2.0, None)
    assert (clf.release().head.loss.l2) == 0.03


def test_a_regressions_ridge_is_chosen_by_squared_loss():
    X, y = measured(300)
    ridge = choose_ridge(
        X, y, lambda l2, b: Squared(l2, b), row_norm=1.0, records=300, classes=False
    )
    worst = max(loss for _, loss in ridge.tried)
    assert min(loss for _, loss in ridge.tried) < 0.5 * worst
    assert ridge.l2 < 1e-2


def test_parts_apart_are_what_it_is_chosen_on_and_the_rows_give_the_bound_alone():
    X, y = labelled(200)
    parts = [(X[:100], y[:100]), (X[100:], y[100:])]
    noise = np.random.default_rng(0).integers(0, 2, 200)  # labels that rows say nothing of
    given = {"row_norm": "public", "records": 1000, "classes": True, "apart": parts}
    ridge = choose_ridge(2 * X, noise, Logistic, **given)
    assert ridge.public == 200
    assert ridge.learned_from == 80  # four fifths of a part
    bound = public_row_norm(2 * X)
    assert ridge.l2 == pytest.approx(max(ridge.cross_validated * 80 / 1000, 1e-6 * bound**2))
    best = ridge.cross_validated / bound**2
    losses = {
        value: np.mean([held_out_loss(part, value, "public") for part in parts])
        for value in (best, 10 * best)
    }
    assert min(losses, key=losses.__getitem__) == best
