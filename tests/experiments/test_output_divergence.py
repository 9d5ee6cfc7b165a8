"""Outputs of models: what they are, and that they tell no more than weights do."""

import json

import pytest
import torch

from experiments.output_divergence.report import report
from experiments.output_divergence.run import outputs, run, verdicts
from experiments.output_divergence.settings import SCALES


@pytest.fixture(scope="module")
def smoke():
    return json.loads(json.dumps(run(SCALES["smoke"]), allow_nan=False))


def test_outputs_are_scores_up_to_a_constant_and_to_a_change_of_coordinates():
    generator = torch.Generator().manual_seed(0)
    weights, asked = (torch.randn(shape, generator=generator) for shape in ((500, 3, 4), (2, 4)))
    moved = weights + torch.randn(500, 1, 4, generator=generator)  # the same for every class
    assert outputs(weights, asked).shape == (500, 4)
    torch.testing.assert_close(outputs(weights, asked), outputs(moved, asked), atol=1e-5, rtol=0)
    scores = asked @ weights.transpose(1, 2)
    plain = (scores[..., :-1] - scores[..., -1:]).flatten(1)
    again = torch.linalg.lstsq(outputs(weights, asked), plain).solution
    torch.testing.assert_close(outputs(weights, asked) @ again, plain, atol=1e-4, rtol=0)


def test_rows_that_depend_on_each_other_tell_nothing_twice():
    generator = torch.Generator().manual_seed(0)
    weights, row = (torch.randn(shape, generator=generator) for shape in ((5, 3, 4), (1, 4)))
    assert outputs(weights, torch.cat([row, 2 * row])).shape == (5, 2)


def test_more_queries_show_more_and_never_more_than_the_weights(smoke):
    (covered, *_) = smoke["verdicts"]
    assert covered["verdict"] == "holds"
    for kind in ("random", "by class"):
        for asked in ("forgotten", "retained", "test"):
            one, four = [
                row["value"]
                for row in smoke["rows"]
                if (row["forget_set"], row["asked"]) == (kind, asked)
            ]
            assert one < 1.2 * four


def test_outputs_that_told_more_than_weights_would_be_cried_out(smoke):
    rows = [row | {"weights": row["value"] / 3} for row in smoke["rows"]]
    assert verdicts(smoke | {"rows": rows})[0]["verdict"].startswith("DOES NOT HOLD")


def test_the_report_says_norm_rows_and_models(smoke, tmp_path):
    text = report(smoke, tmp_path)
    assert "40 private rows retained, rows of norm 10" in text
    assert text.count("| by class |") == 6
