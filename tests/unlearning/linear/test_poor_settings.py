"""Every warning fires where it should, keeps still where it should, and comes from public records.

The suite turns warnings into errors, so a fit without `pytest.warns` shows that none came.
"""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits

from expunge.errors import NotConverged, SettingsWarning
from expunge.losses import Declared
from expunge.unlearning import CertifiedClassifier, CertifiedRegressor, Langevin
from expunge.unlearning.linear.rehearsal import FEWEST
from tests.unlearning.records import labelled, measured

PUBLIC = FEWEST


def told(clf, X, y, public=PUBLIC):  # noqa: N803
    """The warnings of a fit, its first rows public."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(X[public:], y[public:], public=(X[:public], y[:public]) if public else None)
    assert all(each.category is SettingsWarning for each in caught)
    return [str(each.message) for each in caught]


def separable(rows=1000, features=4, seed=0):
    return labelled(rows, features=features, seed=seed, noise=0.1)


# Rows that are scaled down.


@pytest.mark.parametrize(("scale", "fires"), [(0.9, False), (1.0, False), (30.0, True)])
def test_rows_above_the_bound_are_warned_about_where_they_are_most(scale, fires):
    X, y = separable()
    lines = told(CertifiedClassifier(row_norm=1.0), scale * X, y)
    assert [line.split(":")[0] for line in lines] == ["row_norm"] * fires
    if fires:
        assert "100% of the public rows" in lines[0]
        assert "row_norm='public'" in lines[0]


@pytest.mark.parametrize(("share", "fires"), [(0.45, False), (0.55, True)])
def test_most_means_more_than_half(share, fires):
    X, y = separable()
    X[: int(share * PUBLIC)] *= 100
    assert bool(told(CertifiedClassifier(), X, y)) is fires


def test_the_remedy_for_scaled_rows_works():
    X, y = separable()
    assert told(CertifiedClassifier(row_norm="public"), 30 * X, y) == []


def test_large_private_rows_alone_warn_of_nothing():
    """A warning that they caused would tell of them."""
    X, y = separable()
    X[PUBLIC:] *= 100
    assert told(CertifiedClassifier(), X, y) == []


@pytest.mark.parametrize(("spread", "fires"), [(1.0, False), (1.2, False), (2.0, True)])
def test_rows_of_one_norm_lose_nothing_by_being_scaled_alike(spread, fires):
    """Embeddings have norm 1; the default bound leaves them 0.7."""
    X, y = separable()
    X /= np.linalg.norm(X, axis=1)[:, None]
    X *= np.where(np.arange(len(X)) % 2, spread, 1.0)[:, None]
    assert bool(told(CertifiedClassifier(l2=1e-4), X, y)) is fires


# Models that are no better than a constant.


def test_features_of_unlike_scale_make_a_model_that_is_no_better_than_a_constant():
    """An income of thousands beside the feature that matters: the direction says nothing."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(50_000, 10_000, 1000), rng.normal(size=1000)])
    y = (X[:, 1] > 0.3).astype(int)
    lines = told(CertifiedClassifier(), X, y)
    assert [line.split(":")[0] for line in lines] == ["row_norm", "l2"]
    assert "no better than a constant" in lines[1]
    scaled = (X - X[:PUBLIC].mean(0)) / X[:PUBLIC].std(0)
    assert told(CertifiedClassifier(l2="public", row_norm="public"), scaled, y) == []


def test_a_ridge_that_crushes_the_model_is_warned_about_and_one_that_does_not_is_not():
    X, _ = separable()
    y = (X[:, 0] > 0.2).astype(int)  # one label is the most frequent by far
    assert "l2" in told(CertifiedClassifier(l2=1e4), X, y)[0]
    assert told(CertifiedClassifier(l2=1e-3), X, y) == []


def test_a_regression_is_held_against_the_mean():
    X, y = measured(1000)
    assert told(CertifiedRegressor(l2=1e-3), X, y) == []
    noise = np.random.default_rng(1).uniform(-1, 1, 1000)
    (line,) = told(CertifiedRegressor(l2=1e-6), X, noise)
    assert "R2" in line
    assert "no better than a constant" in line


def test_private_labels_without_a_meaning_warn_of_nothing():
    X, y = separable()
    y[PUBLIC:] = np.random.default_rng(0).integers(0, 2, len(y) - PUBLIC)
    assert told(CertifiedClassifier(), X, y) == []


# Noise that drowns the model.


@pytest.mark.parametrize(
    ("settings", "fires"),
    [
        ({"observer": "all"}, True),
        ({"observer": "all", "capacity": 0.5}, True),
        ({"observer": "all", "capacity": 0.002, "epsilon": 10.0}, False),
        ({"observer": "final"}, False),
    ],
)
def test_a_capacity_whose_noise_drowns_the_model_is_warned_about(settings, fires):
    X, y = separable()
    lines = told(CertifiedClassifier(l2=1e-2, **settings), X, y)
    assert len(lines) == fires
    if fires:
        assert lines[0].startswith("capacity: the noise for ")
        assert "drowns the model" in lines[0]
        assert "more public records" in lines[0]


def test_the_capacity_that_the_remedy_names_is_not_warned_about_as_drowning():
    X, y = separable(4000)
    (line,) = told(CertifiedClassifier(observer="all", epsilon=5.0), X, y)
    named = float(line.split("; capacity=")[1].split()[0])
    lines = told(CertifiedClassifier(observer="all", epsilon=5.0, capacity=named), X, y)
    assert not any("drowns" in each for each in lines)


def test_noise_that_is_given_is_called_by_its_name():
    X, y = separable()
    loud, quiet = (Langevin(learn_steps=50, sigma=sigma) for sigma in (20.0, 1e-3))
    (line,) = told(CertifiedClassifier(strategy=loud), X, y)
    assert line.startswith("sigma: noise of 20 drowns the model")
    assert told(CertifiedClassifier(strategy=quiet), X, y) == []


def test_a_noisy_model_worse_than_the_public_one_is_told_from_a_drowned_one():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order] / 16, y[order]
    found = {}
    for sigma in (1e-4, 0.05, 20.0):
        strategy = Langevin(learn_steps=100, sigma=sigma)
        clf = CertifiedClassifier(l2=1e-2, row_norm="public", strategy=strategy)
        found[sigma] = told(clf, X, y, public=1000)
    assert found[1e-4] == []
    assert "worse than the model of public records alone" in found[0.05][0]
    assert "drowns" in found[20.0][0]


# What they may look at.


@pytest.mark.parametrize("public", [0, 1, FEWEST - 1])
def test_too_few_public_records_say_nothing(public):
    X, y = separable()
    clf = CertifiedClassifier(observer="all", classes=[0, 1])
    assert told(clf, 100 * X, y, public=public) == []


def test_private_records_change_a_warning_by_their_number_alone():
    X, y = separable()
    others, labels = labelled(1000, seed=9, noise=5.0)
    others[:PUBLIC], labels[:PUBLIC] = X[:PUBLIC], y[:PUBLIC]
    lines = [
        told(CertifiedClassifier(observer="all"), *each) for each in ((X, y), (others, labels))
    ]
    assert lines[0] == lines[1] != []


def test_a_bounded_number_of_public_rows_is_looked_at(monkeypatch):
    from expunge.unlearning.linear import rehearsal

    seen = []
    learn = rehearsal.learn
    monkeypatch.setattr(
        rehearsal,
        "learn",
        lambda loss, rows, *rest: seen.append(len(rows)) or learn(loss, rows, *rest),
    )
    X, y = separable(20_000)
    told(CertifiedClassifier(), X, y, public=19_000)
    assert seen == [512]


def test_a_users_own_loss_is_not_rehearsed():
    X, y = measured(1000)
    loss = Declared(lambda scores, t: (scores[:, 0] - t) ** 2 / 2, slope=1e4, bend=1.0)
    told(CertifiedRegressor(loss=loss, strategy=Langevin(learn_steps=5, sigma=1.0)), X, y)


def test_rows_whose_squares_overflow_are_warned_about_and_learned_from():
    X, y = separable()
    lines = told(CertifiedClassifier(), 1e180 * X, y)
    assert "100% of the public rows" in lines[0]


def test_what_cannot_be_rehearsed_warns_of_nothing(monkeypatch):
    from expunge.unlearning.linear import rehearsal

    def fails(*_):
        raise NotConverged("no solver got there")

    monkeypatch.setattr(rehearsal, "learn", fails)
    assert told(CertifiedClassifier(), *separable()) == []


def test_a_warning_points_at_the_line_that_called_fit():
    X, y = separable()
    with pytest.warns(SettingsWarning, match="row_norm") as caught:
        CertifiedClassifier().fit(50 * X[500:], y[500:], public=(50 * X[:500], y[:500]))
    assert caught[0].filename == __file__


# Delta, which additions may lift above a tenth of one over the records.


def test_additions_that_leave_delta_no_longer_small_are_warned_about():
    X, y = labelled(103, features=3)
    clf = CertifiedClassifier(delta=1e-3, strategy="residual", classes=np.unique(y))
    clf.fit(X[:99], y[:99])
    clf.add(X[99:100], y[99:100])
    for row, count in ((100, 101), (101, 102)):
        with pytest.warns(SettingsWarning, match=rf"1/\(10 n\) for the {count} .* the 99 at fit"):
            clf.add(X[row : row + 1], y[row : row + 1])
    clf.forget([0, 1])
    with pytest.warns(SettingsWarning, match="for the 101 private records"):
        clf.add(X[102:], y[102:])


def test_a_delta_that_was_large_at_fit_is_nobody_elses_news():
    X, y = labelled(41, features=3)
    clf = CertifiedClassifier(delta=1e-2, strategy="residual", classes=np.unique(y))
    clf.fit(X[:40], y[:40])
    assert clf.add(X[40:], y[40:]) is None
