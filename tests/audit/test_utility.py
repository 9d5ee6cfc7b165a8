"""What unlearning costs: signed, with an error, beside what the mismatch allows. E28, E37."""

import math

import numpy as np
import pytest
import torch

from expunge.accounting.generalisation import RiskBound
from expunge.audit.utility import cost, private_risk
from expunge.divergence.mismatch import DensityRatio
from expunge.losses import Logistic, Softmax


def rows_to_test():
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(200, 4, generator=generator).double()
    return features, (features[:, 0] > 0).long()


def heads(slope, *, models=50, spread=0.3, seed=0):
    """Two classes told apart by the first feature, the better the larger `slope`."""
    generator = torch.Generator().manual_seed(seed)
    found = spread * torch.randn(models, 2, 4, generator=generator).double()
    found[:, 1, 0] += slope
    return found


def test_a_worse_model_costs_and_a_better_one_gains():
    rows = rows_to_test()
    loss = Softmax(2, l2=0.0)
    worse = cost(loss, *rows, unlearned=heads(1.0), retrained=heads(3.0, seed=1))
    better = cost(loss, *rows, unlearned=heads(3.0, seed=1), retrained=heads(1.0))
    assert worse.difference > 5 * worse.standard_error
    assert better.difference == -worse.difference
    assert better.relative < 0
    assert worse.accuracy[0] < worse.accuracy[1]


def test_the_error_is_that_of_a_difference_of_means():
    rows, loss = rows_to_test(), Softmax(2, l2=0.0)
    found = [
        cost(loss, *rows, unlearned=heads(2.0, seed=s), retrained=heads(2.0, seed=1000 + s))
        for s in range(60)
    ]
    scores = [one.difference / one.standard_error for one in found]
    assert np.std(scores) == pytest.approx(1, abs=5 / math.sqrt(2 * 60))


def test_pairs_cancel_their_noise():
    rows, loss = rows_to_test(), Softmax(2, l2=0.0)
    models = heads(2.0)
    paired = cost(loss, *rows, unlearned=models + 0.01, retrained=models, coupled=True)
    apart = cost(loss, *rows, unlearned=models + 0.01, retrained=models)
    assert paired.difference == apart.difference
    assert paired.standard_error < apart.standard_error / 100


def test_binary_heads_are_tested_too():
    rows = rows_to_test()
    models = heads(3.0)[:, 1:]
    assert cost(Logistic(l2=0.0), *rows, unlearned=models, retrained=models).accuracy[0] > 0.8


def test_the_bound_takes_the_estimated_ratio_and_never_more_than_any_mismatch_allows():
    """E28: 1/((1-w) + w e^-D) <= e^(wD), and at most (n_pub + n_priv)/n_priv."""
    rng = np.random.default_rng(0)
    ratio = DensityRatio(rng.normal(0.5, 1, 5000), rng.normal(-0.5, 1, 5000), 0.69)
    bound = RiskBound.from_gdp(0.0, retrained_risk=0.2, lipschitz=1.0, radius=1.0)
    found = private_risk(ratio, bound, public=3000, retained_private=1000)
    d = found["d_infinity"]
    assert d == ratio.d_infinity().value
    assert found["exact"] == pytest.approx(0.2 / (0.25 + 0.75 * math.exp(-d)))
    assert found["paper"] == pytest.approx(0.2 * math.exp(0.75 * d))
    assert found["exact"] < found["any mismatch"] == pytest.approx(0.8)


def test_where_the_ratio_cannot_be_had_the_exact_bound_still_holds():
    separable = DensityRatio(np.full(500, 30.0), np.full(500, -30.0), 1.0)
    bound = RiskBound.from_gdp(0.0, retrained_risk=0.2, lipschitz=1.0, radius=1.0)
    found = private_risk(separable, bound, public=3000, retained_private=1000)
    assert found["exact"] == found["any mismatch"] == pytest.approx(0.8)
    assert found["paper"] == math.inf


def test_ensembles_that_cannot_be_compared_are_named():
    rows, loss = rows_to_test(), Softmax(2, l2=0.0)
    with pytest.raises(ValueError, match="pairs"):
        cost(loss, *rows, unlearned=heads(1.0), retrained=heads(1.0)[:-1], coupled=True)
    with pytest.raises(ValueError, match="two models"):
        cost(loss, *rows, unlearned=heads(1.0)[:1], retrained=heads(1.0))
