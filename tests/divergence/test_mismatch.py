"""Public against private features: known Gaussians, equal laws, a planted shift, separable ones."""

import math

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from expunge.divergence.mismatch import DensityRatio, density_ratio


def sides(shift, rows=1200, width=5, seed=0):
    rng = np.random.default_rng(seed)
    public, private = rng.normal(size=(2, rows, width))
    private[:, 0] += shift
    return {"public": public, "private": private}


def test_gaussians_give_their_divergences():
    """KL = s^2/2 and D_2 = s^2; lower estimates may fall short, here by what a fold loses."""
    found = [density_ratio(**sides(0.7, seed=s)) for s in range(12)]
    for name, truth in (("kl", 0.245), ("renyi_2", 0.49)):
        values = np.array([getattr(one, name).value for one in found])
        error = values.std(ddof=1) / math.sqrt(len(values))
        assert values.mean() == pytest.approx(truth, abs=5 * error + 0.03 * truth)


def test_equal_laws_give_zero_within_the_interval():
    """Intervals lie above 0 once in 40 at most, if they are right: 5 of 12 once in 100,000."""
    found = [density_ratio(**sides(0.0, rows=300, seed=seed)).kl for seed in range(12)]
    values = np.array([kl.value for kl in found])
    assert abs(values.mean()) < 5 * values.std(ddof=1) / math.sqrt(len(values))
    assert sum(kl.interval[0] > 0 for kl in found) < 5


def test_a_fit_judged_on_its_own_rows_would_see_a_difference_where_there_is_none():
    """The planted fault: 300 rows of 60 features, fitted and judged on the same."""
    from sklearn.linear_model import LogisticRegression

    both = sides(0.0, rows=300, width=60)
    features = np.concatenate([both["private"], both["public"]])
    fitted = LogisticRegression(max_iter=1000).fit(features, np.repeat([1, 0], 300))
    own = fitted.decision_function(features)
    fault = DensityRatio(own[:300], own[300:], 0.5)
    assert fault.kl.interval[0] > 0.05
    assert density_ratio(**both).kl.interval[0] < 0.01


def test_a_planted_shift_is_seen():
    found = density_ratio(**sides(0.7))
    assert found.kl.interval[0] > 0.1
    assert found.accuracy > 0.6
    assert found.kl.kind == "lower estimate"


def test_a_difference_of_spread_needs_another_classifier():
    both = sides(0.0, width=2)
    both["private"][:, 0] *= 2.5
    trees = HistGradientBoostingClassifier(max_iter=30, random_state=0)
    assert density_ratio(**both).kl.value < 0.02
    assert density_ratio(**both, classifier=trees).kl.interval[0] > 0.1


def test_the_quantile_of_the_ratio_is_stated_and_above_the_truth():
    """f = s x - s^2/2 is normal under P: its 99 % quantile is s^2/2 + 2.326 s."""
    rng = np.random.default_rng(0)
    ratios = rng.normal(0.5, 1, 20_000), rng.normal(-0.5, 1, 20_000)
    found = DensityRatio(*ratios, 0.69).d_infinity(0.99)
    assert 2.826 < found.value < 2.826 + 0.25
    assert found.kind == "upper estimate"
    assert "not a certificate" in found.notes[-1]


def test_its_limit_covers_the_quantile_as_often_as_it_says():
    rng = np.random.default_rng(1)
    limits = [
        DensityRatio(rng.normal(size=400), np.zeros(10**4), 0.5).d_infinity(0.9).value
        for _ in range(400)
    ]
    above = np.mean(np.array(limits) > 1.2816)
    assert above > 0.95 - 5 * math.sqrt(0.05 * 0.95 / 400)


def test_too_few_rows_for_a_quantile_give_infinity():
    few = DensityRatio(np.zeros(50), np.zeros(50), 0.5)
    assert few.d_infinity(0.99).value == math.inf


def test_separable_sides_are_not_given_a_number():
    found = density_ratio(**sides(20.0, rows=200))
    most = math.log(200)
    assert found.d_infinity().value == math.inf
    assert "cannot conclude" in found.d_infinity().notes[0]
    for estimate in (found.kl, found.renyi_2):
        assert estimate.value <= most
        assert "cannot conclude" in estimate.notes[0]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"public": np.zeros((20, 5))}, "public"),
        ({"private": np.full((100, 5), np.nan)}, "finite"),
        ({"private": np.zeros((100, 4))}, "different features"),
    ],
    ids=["few", "nan", "widths"],
)
def test_bad_input_is_named(change, problem):
    with pytest.raises(ValueError, match=problem):
        density_ratio(**sides(0.0) | change)
