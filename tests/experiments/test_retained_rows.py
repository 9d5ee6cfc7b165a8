"""Size decides: the two-moment formula, the series over retained rows, and its extrapolation."""

import json
from pathlib import Path

import pytest
import torch

from experiments.head_problems import rows_of
from experiments.retained_rows.report import report
from experiments.retained_rows.run import Moments, formula, moments, run, told_ratio, verdicts
from experiments.retained_rows.settings import SCALES

RESULTS = Path(__file__).parents[2] / "experiments/retained_rows/results"
PAIR = "digits+1/digits"


@pytest.fixture(scope="module")
def smoke():
    return json.loads(json.dumps(run(SCALES["smoke"]), allow_nan=False))


@pytest.fixture(scope="module", params=sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def committed(request):
    return json.loads(request.param.read_text())


def test_the_formula_is_the_mean_over_draws_of_forgotten_and_retained_rows():
    """Scalars: E (mean of n_f - mean of the rest)^2, from normal draws; five standard errors."""
    generator = torch.Generator().manual_seed(0)
    draws, retained, public, forget = 200_000, 6, 3, 2
    private = torch.randn(draws, retained + forget, generator=generator, dtype=torch.float64)
    other = 0.7 + 2 * torch.randn(draws, public, generator=generator, dtype=torch.float64)
    kept = torch.cat([private[:, forget:], other], 1).mean(1)
    squares = (private[:, :forget].mean(1) - kept).square() * (forget / 11) ** 2
    error = float(squares.std() / draws**0.5)
    told = formula(Moments(1.0, 4.0, 0.7**2), retained, public, forget)
    assert abs(float(squares.mean()) - told) < 6 * error
    swapped = formula(Moments(4.0, 1.0, 0.7**2), retained, public, forget)
    assert abs(float(squares.mean()) - swapped) > 50 * error


def test_moments_are_those_of_gradients_at_zero_weights():
    public, private, _ = rows_of(PAIR)
    weights = torch.zeros(10, private.features.shape[1], dtype=torch.float64, requires_grad=True)
    means, spreads = [], []
    for side in (private, public):
        gradients = []
        for row, target in zip(side.features[:40].double(), side.targets[:40], strict=True):
            loss = torch.nn.functional.cross_entropy((weights @ row)[None], target[None])
            gradients.append(torch.autograd.grad(loss, weights)[0])
        stacked = torch.stack(gradients)
        means.append(stacked.mean(0))
        spreads.append(float(stacked.var(0, correction=0).sum()))
    some = [side._replace(features=side.features[:40], targets=side.targets[:40]) for side in
            (public, private)]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("experiments.retained_rows.run.rows_of", lambda _: (*some, None))
        found = moments(PAIR)
    assert found.private_variance == pytest.approx(spreads[0], rel=1e-9)
    assert found.public_variance == pytest.approx(spreads[1], rel=1e-9)
    assert found.squared_gap == pytest.approx(float((means[0] - means[1]).square().sum()), rel=1e-9)


def test_more_rows_turn_a_fall_into_a_rise_when_domains_differ(smoke):
    ratios = [told_ratio(smoke, PAIR, size) for size in (10, 100, 1000, 10_000)]
    assert ratios == sorted(ratios)
    assert ratios[0] < 1 < ratios[-1]


def test_an_extrapolation_is_called_one(smoke, tmp_path):
    (one,) = [row for row in smoke["verdicts"] if "extrapolated" in row["claim"]]
    assert one["verdict"].startswith("cannot conclude: an extrapolation")
    assert "*extrapolated*" in report(smoke, tmp_path)


def test_a_verdict_names_where_the_fall_ends(smoke):
    rows = []
    for row in smoke["rows"]:
        rises = row["public"] > 0 and row["retained"] == 60
        rows.append(row | {"values": [4.0, 4.001] if rises else [2.0, 2.0]})
        if row["public"] > 0 and row["retained"] == 30:
            rows[-1]["values"] = [1.0, 1.001]
    said = verdicts(smoke | {"rows": rows})[0]["verdict"]
    assert said == "holds only when rows are few: up to 30; D_2 rises from 60 on"


def test_verdicts_follow_from_the_committed_rows(committed):
    assert committed["verdicts"] == verdicts(committed)
