"""U-LiRA: chance on equal laws, near certainty on distinct ones. Paper: [subseq:ulira_details]."""

import numpy as np
import pytest
import torch

from expunge.audit import ulira
from expunge.audit.ulira import logit_scores


def scores(shift, models=450, records=1, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "unlearned": rng.normal(shift, 1, (models, records)),
        "retrained": rng.normal(0, 1, (models, records)),
    }


def test_equal_laws_are_told_apart_by_chance_only():
    """800 test models: the accuracy's standard error is 0.018."""
    found = ulira(**scores(0.0))
    assert abs(found.accuracy - 0.5) < 5 * 0.018
    assert abs(found.auc - 0.5) < 5 * 0.0205
    assert found.epsilon_lower_bound.value == 0


def test_distinct_laws_are_recognised():
    found = ulira(**scores(6.0))
    assert found.accuracy > 0.98
    assert found.quartiles[0] > 0.95
    assert found.power_at[0.01] > 0.95
    assert found.epsilon_lower_bound.value > 1


def test_accuracy_follows_the_shift():
    """The best test of N(mu, 1) against N(0, 1) is right with probability Phi(mu/2) = 0.6915."""
    found = ulira(**scores(1.0, models=3000), shadow=1000)
    assert abs(found.accuracy - 0.6915) < 5 * np.sqrt(0.6915 * 0.3085 / 4000)


def test_more_forgotten_records_carry_more():
    one, many = ulira(**scores(0.5)), ulira(**scores(0.5, records=30))
    assert many.auc > one.auc + 0.2


def test_shadow_models_are_not_test_models():
    found = ulira(**scores(1.0, models=100), shadow=60)
    assert [len(part) for part in found.confidences] == [40, 40]


def test_confidences_are_posteriors_under_a_uniform_prior():
    """Among models of either kind with a confidence near 0.8, about 80 % are unlearned ones."""
    found = ulira(**scores(1.0, models=40_000), shadow=20_000)
    near = [np.abs(part - 0.8) < 0.05 for part in found.confidences]
    share = near[0].sum() / (near[0].sum() + near[1].sum())
    count = near[0].sum() + near[1].sum()
    assert abs(share - 0.8) < 5 * np.sqrt(0.16 / count) + 0.01


def test_scores_are_the_logit_of_the_right_label_s_probability():
    torch.manual_seed(0)
    logits, targets = torch.randn(4, 6, 3).double(), torch.tensor([0, 1, 2, 0, 1, 2])
    p = torch.softmax(logits, -1)[:, torch.arange(6), targets]
    torch.testing.assert_close(logit_scores(logits, targets), torch.log(p / (1 - p)))
    binary = torch.randn(4, 6, 1).double()
    p = torch.sigmoid(binary[..., 0])
    right = torch.where(targets > 0, p, 1 - p)
    torch.testing.assert_close(logit_scores(binary, targets), torch.log(right / (1 - right)))


def test_models_that_are_sure_of_themselves_give_finite_scores():
    logits = torch.tensor([[[900.0, 0.0, -900.0]]])
    assert logit_scores(logits, torch.tensor([0])).item() == 900
    assert logit_scores(logits, torch.tensor([2])).item() == -1800


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"shadow": 440}, "16 test models"),
        ({"unlearned": np.full((450, 1), np.inf)}, "finite"),
        ({"unlearned": np.zeros((450, 2))}, "different records"),
    ],
)
def test_bad_input_is_named(change, problem):
    with pytest.raises(ValueError, match=problem):
        ulira(**scores(0.0) | change)
