"""U-LiRA: chance on equal laws, near certainty on distinct ones. Paper: [subseq:ulira_details]."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import t as student

from expunge.audit import judge, ulira
from expunge.audit.ulira import logit_scores, measure_leak, trend


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
    assert np.quantile(found.confidences[0], 0.25) > 0.95
    assert found.power_at[0.01] > 0.95
    assert found.epsilon_lower_bound.value > 1


def test_it_judges_a_claim_as_every_audit_does():
    told_apart, equal = (ulira(**scores(shift)) for shift in (6.0, 0.0))
    assert told_apart.judge(1.0).contradicted
    assert told_apart.judge(1.0) == judge(told_apart.epsilon_lower_bound, epsilon=1.0)
    assert not equal.judge(1.0).contradicted
    assert not told_apart.judge(50.0).conclusive


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


def repeated(shifts, repetitions=8, models=100, seed=0):
    """Attacks by K; only the shift changes."""
    rng = np.random.default_rng(seed)

    def attack(shift):
        return ulira(unlearned=rng.normal(shift, 1, models), retrained=rng.normal(0, 1, models))

    return [
        {k: attack(shift) for k, shift in enumerate(shifts, start=1)} for _ in range(repetitions)
    ]


def test_a_fading_difference_falls_and_a_growing_one_rises():
    assert trend(repeated([2.0, 1.5, 0.5])).verdict == "falls"
    assert trend(repeated([0.5, 1.5, 2.0])).verdict == "rises"


def test_nothing_falls_where_nothing_was_seen():
    assert "not better than guessing" in trend(repeated([0.0, 0.0, 0.0])).verdict


def test_a_constant_difference_is_said_to_change_no_more_often_than_its_level():
    """40 trends at 95 %: 9 or more once in 10,000."""
    found = [trend(repeated([1.0, 1.0], models=70, seed=seed)).verdict for seed in range(40)]
    assert sum(verdict in ("falls", "rises") for verdict in found) < 9


def test_confidence_in_the_right_law_counts_retrained_models_too():
    found = ulira(**scores(6.0))
    assert np.median(found.in_the_right_law[: len(found.confidences[0])]) > 0.9
    assert np.median(found.in_the_right_law[len(found.confidences[0]) :]) > 0.9


def membership(gap, seed, models=200):
    """Scores of 30 retained and 40 unseen records; retained ones are higher by `gap`."""
    rng = np.random.default_rng(seed)
    return rng.normal(gap, 1, (models, 30)), rng.normal(0, 1, (models, 40))


def test_retained_records_that_leak_more_are_noticed():
    same = {"retrained": membership(0.3, 1), "retrained_again": membership(0.3, 2)}
    equal = measure_leak(unlearned=membership(0.3, 0), **same)
    assert "no more" in equal.verdict
    assert equal.interval[0] <= 0 <= equal.interval[1]
    assert "leak more" in measure_leak(unlearned=membership(0.6, 0), **same).verdict
    assert "no more" in measure_leak(unlearned=membership(0.0, 0), **same).verdict
    apart = same | {"retrained_again": membership(0.9, 2)}
    assert "cannot conclude" in measure_leak(unlearned=membership(0.6, 0), **apart).verdict


def test_the_leaks_interval_lies_around_it_and_is_welchs_with_the_fewer_models():
    """value -+ t sqrt(v1/n1 + v2/n2), t of the smaller sample's degrees of freedom."""
    laws = [membership(0.3, seed, models=models) for seed, models in ((0, 12), (1, 7), (2, 9))]
    leak = measure_leak(unlearned=laws[0], retrained=laws[1], retrained_again=laws[2])
    areas = [np.array([(s[:, None] > u).mean() for s, u in zip(*law, strict=True)]) for law in laws]
    for pair, value, interval in (
        ((0, 1), leak.difference, leak.interval),
        ((2, 1), leak.null, leak.null_interval),
    ):
        first, second = areas[pair[0]], areas[pair[1]]
        error = math.sqrt(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second))
        reach = student.ppf((1 + leak.level) / 2, min(len(first), len(second)) - 1) * error
        expected = first.mean() - second.mean()
        assert value == pytest.approx(expected, rel=1e-9)
        assert interval == pytest.approx((expected - reach, expected + reach), rel=1e-9)


def test_two_models_of_each_law_are_enough_to_measure_a_leak():
    two = [membership(0.3, seed, models=2) for seed in range(3)]
    leak = measure_leak(unlearned=two[0], retrained=two[1], retrained_again=two[2])
    assert leak.interval[0] < leak.difference < leak.interval[1]


def test_the_leak_is_the_area_under_each_model_s_curve():
    from sklearn.metrics import roc_auc_score

    seen, unseen = membership(0.5, 0, models=5)
    truth = np.repeat([1, 0], [30, 40])
    areas = [roc_auc_score(truth, np.concatenate(pair)) for pair in zip(seen, unseen, strict=True)]
    found = measure_leak(unlearned=(seen, unseen), retrained=(seen, unseen),
                   retrained_again=(seen, unseen))  # fmt: skip
    assert found.unlearned == pytest.approx(np.mean(areas))


@pytest.mark.parametrize(
    ("repetitions", "problem"),
    [
        (lambda: repeated([1.0, 1.0], repetitions=3), "at least four"),
        (lambda: repeated([1.0, 1.0]) + repeated([1.0]), "same K"),
        (lambda: repeated([1.0]), "two K"),
    ],
    ids=["few", "other K", "one K"],
)
def test_repetitions_that_show_no_trend_are_refused(repetitions, problem):
    with pytest.raises(ValueError, match=problem):
        trend(repetitions())
