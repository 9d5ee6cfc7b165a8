"""Risk under mismatch: reference cases, and E28 to E31 of THEORY section 1."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from expunge.accounting import InvalidInput
from expunge.accounting.conversions import gdp_renyi, gdp_total_variation
from expunge.accounting.generalisation import (
    RiskBound,
    mismatch_factor,
    mismatch_factor_paper,
    pinsker,
    public_weight,
)

CASES = [
    case
    for case in json.loads((Path(__file__).parent / "reference.json").read_text())["cases"]
    if case["fn"] == "generalisation"
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_reference_is_met(case):
    given = {name: float(value) for name, value in case["inputs"].items()}
    expected = {name: float(value) for name, value in case["expected"].items()}
    weight, d = given["w_pub"], given["D_inf"]
    exact, paper = mismatch_factor(weight, d), mismatch_factor_paper(weight, d)
    constants = {
        "retrained_risk": given["risk_R_train"],
        "lipschitz": given["M"],
        "radius": given["R"],
    }
    by_gdp = RiskBound.from_gdp(given["mu"], **constants)
    by_renyi = RiskBound.from_renyi(gdp_renyi(given["mu"], 2.0), **constants)
    found = {
        "penalty_exact": exact,
        "penalty_paper": paper,
        "bound_gdp": by_gdp.private(exact),
        "bound_pinsker_D2": by_renyi.private(exact),
        "bound_paper_D2": by_renyi.private(paper),
    }
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_factor_is_the_largest_density_ratio_of_20000_random_pairs():
    """E28: sup p/(w q + (1-w) p) is at the atom where p/q is largest, and equals the factor."""
    rng = np.random.default_rng(0)
    for _ in range(20_000):
        atoms = rng.integers(2, 9)
        private, public = rng.dirichlet(np.full(atoms, 0.7), size=2) + 1e-12
        private, public = private / private.sum(), public / public.sum()
        weight = rng.random()
        ratio = np.max(private / (weight * public + (1 - weight) * private))
        d = math.log(np.max(private / public))
        assert mismatch_factor(weight, max(d, 0.0)) == pytest.approx(ratio, rel=1e-11)


def test_the_factor_never_exceeds_the_papers_nor_the_share_of_private_records():
    rng = np.random.default_rng(1)
    for weight, d in zip(rng.random(2000), 10 ** rng.uniform(-6, 3, 2000), strict=True):
        exact = mismatch_factor(weight, d)
        assert 1 <= exact <= mismatch_factor_paper(weight, d) * (1 + 1e-15)
        assert exact <= 1 / (1 - weight) * (1 + 1e-15)


def test_misalignment_without_overlap_costs_a_finite_factor():
    weight = public_weight(public=3000, retained_private=1000)
    assert mismatch_factor(weight, math.inf) == pytest.approx(4.0)
    assert mismatch_factor(weight, 1e6) == pytest.approx(4.0)
    assert mismatch_factor_paper(weight, 1e6) == math.inf


def test_aligned_or_purely_private_data_cost_nothing():
    assert mismatch_factor(0.7, 0.0) == mismatch_factor_paper(0.7, 0.0) == 1.0
    assert mismatch_factor(0.0, 5.0) == mismatch_factor_paper(0.0, 5.0) == 1.0


def test_purely_public_data_leave_the_whole_mismatch():
    assert mismatch_factor(1.0, 2.0) == mismatch_factor_paper(1.0, 2.0) == math.exp(2.0)
    assert mismatch_factor(1.0, 1e6) == math.inf


def test_the_weight_counts_retained_private_records():
    """E29: reading n_retain as all that is retained would make w, and the factor, too small."""
    right = public_weight(public=3000, retained_private=2700)
    literal = public_weight(public=3000, retained_private=2700 + 3000)
    assert right == 3000 / 5700
    assert mismatch_factor(literal, 1.0) < mismatch_factor(right, 1.0)
    assert public_weight(public=0, retained_private=1) == 0
    assert public_weight(public=1, retained_private=0) == 1


@pytest.mark.parametrize(("public", "private"), [(0, 0), (-1, 2), (2, -1)])
def test_a_weight_of_no_records_makes_no_sense(public, private):
    with pytest.raises(InvalidInput, match=r"no record|must be at least 0"):
        public_weight(public=public, retained_private=private)


@pytest.mark.parametrize(
    ("weight", "d", "field"),
    [
        (-0.1, 1.0, "weight"),
        (1.1, 1.0, "weight"),
        (math.nan, 1.0, "weight"),
        (0.5, -1.0, "d_infinity"),
        (0.5, math.nan, "d_infinity"),
    ],
)
def test_impossible_weights_and_divergences_are_named(weight, d, field):
    for factor in (mismatch_factor, mismatch_factor_paper):
        with pytest.raises(InvalidInput) as refused:
            factor(weight, d)
        assert refused.value.field == field


def test_the_factor_multiplies_the_retrained_risk_only():
    """E30, second route: the approximation term carries no penalty."""
    bound = RiskBound(retrained_risk=0.5, lipschitz=2.0, radius=3.0, total_variation=0.1)
    assert bound.approximation == pytest.approx(2.0 * 6.0 * 0.1)
    assert bound.mixture() == pytest.approx(0.5 + 1.2)
    assert bound.private(1.7) == pytest.approx(1.7 * 0.5 + 1.2)
    assert bound.private(1.0) == bound.mixture()
    assert bound.mixture() >= 0.5 + 2.0 * 6.0 * 0.1


def test_a_negative_risk_is_refused():
    with pytest.raises(InvalidInput, match="never negative"):
        RiskBound(-0.1, 1.0, 1.0, 0.1)


def test_pinsker_is_clipped_at_one_and_gdp_is_never_worse():
    """E31: TV from mu is exact; Pinsker is looser at every order from 1 on."""
    assert pinsker(0.0) == 0.0
    assert pinsker(1e9) == pinsker(math.inf) == 1.0
    for mu in 10 ** np.linspace(-6, 3, 60):
        exact = gdp_total_variation(mu)
        for order in (1.0001, 2.0, 8.0):
            assert exact <= pinsker(gdp_renyi(mu, order)) * (1 + 1e-9)


def test_equal_laws_have_equal_risk():
    bound = RiskBound.from_gdp(0.0, retrained_risk=0.4, lipschitz=1.0, radius=1.0)
    assert bound.total_variation == 0
    assert bound.mixture() == pytest.approx(0.4, rel=1e-11)
