"""The sandwich: verdicts follow from the attack and from both controls.

Laws are unit Gaussians along one axis, so every figure has a closed form.
"""

from dataclasses import replace

import pytest
import torch

from expunge.accounting.conversions import epsilon_from_gdp
from expunge.audit.lower_bound import DECISIVE, models_needed
from expunge.audit.sandwich import Control, Laws, sandwich

DELTA = 1e-5


def laws(*, truth=0.2, claimed=0.25, null=0.0, untouched=8.0, models=2000):
    generator = torch.Generator().manual_seed(0)

    def law(shift):
        found = torch.randn(models, 5, generator=generator, dtype=torch.float64)
        found[:, 0] += shift
        return found

    axis = torch.eye(5, dtype=torch.float64)[0]
    epsilon = epsilon_from_gdp(claimed, DELTA)
    retrained = law(0.0)
    control = Control("skipping", law(untouched), retrained, axis, epsilon)
    return Laws(
        law(truth),
        retrained,
        law(null),
        axis,
        epsilon,
        claimed,
        control,
        truth / claimed,
        10 * truth,
    )


def test_a_sound_claim_is_not_contradicted():
    found = sandwich(laws(), delta=DELTA)
    assert found["contradicted"] is False
    assert found["verdict"].startswith("not contradicted")
    assert found["lower_bound"]["value"] <= found["certified"]["epsilon"]
    low, high = found["estimate"]["interval"]
    assert low <= 0.04 <= high
    assert found["certified"]["renyi_2"] == pytest.approx(0.0625)


def test_a_false_claim_is_contradicted():
    found = sandwich(laws(truth=1.0), delta=DELTA)
    assert found["contradicted"] is True
    assert found["conclusive"] is True
    assert found["exit_status"] == 1
    assert found["verdict"].startswith("CONTRADICTED")


def test_silence_means_nothing_where_even_untouched_models_are_not_caught():
    found = sandwich(laws(untouched=0.3), delta=DELTA)
    assert found["positive_control"]["caught"] is False
    assert found["verdict"].startswith("cannot conclude")
    assert found["conclusive"] is False


@pytest.mark.parametrize(
    ("change", "said"),
    [({"null": 2.0}, "null control"), ({"untouched": 0.0}, "not even skipping")],
    ids=["null control loud", "fault missed"],
)
def test_an_alarm_means_nothing_where_a_control_misbehaves(change, said):
    """Verdict, fields and exit status: all three say that nothing is known."""
    document = sandwich(laws(truth=1.0, **change), delta=DELTA)
    assert document["decision"]["epsilon"] > document["certified"]["epsilon"]
    assert document["verdict"].startswith("cannot conclude")
    assert said in document["verdict"]
    assert document["contradicted"] is False
    assert document["exit_status"] == 0


def test_a_null_pair_below_the_claim_is_still_loud():
    document = sandwich(laws(null=1.0, claimed=4.0), delta=DELTA)
    assert 0 < document["null_control"]["decision"]["epsilon"] < document["certified"]["epsilon"]
    assert document["null_control"]["quiet"] is False
    assert document["conclusive"] is False


def test_it_shows_95_percent_and_decides_at_one_in_a_million():
    document = sandwich(laws(truth=1.0), delta=DELTA)
    assert document["lower_bound"]["level"] == 0.95
    assert document["decision"]["level"] == 1 - 1e-6
    assert document["certified"]["epsilon"] < document["decision"]["epsilon"]
    assert document["decision"]["epsilon"] < document["lower_bound"]["value"]
    assert "99.9999%" in document["verdict"]


def test_it_says_how_many_models_would_catch_a_tenth_of_the_noise():
    few = sandwich(laws(truth=0.2), delta=DELTA)["models_to_catch_noise_over_10"]
    many = sandwich(laws(truth=0.05), delta=DELTA)["models_to_catch_noise_over_10"]
    assert 4 < few < many < 40_000
    assert few == 2 * models_needed(mu=2.0, claimed=0.25, level=DECISIVE)
    assert sandwich(laws(truth=0.02), delta=DELTA)["models_to_catch_noise_over_10"] is None


def test_the_positive_control_has_its_own_claim():
    made = laws(untouched=1.0, claimed=1.0)
    assert sandwich(made, delta=DELTA)["positive_control"]["caught"] is False
    small = replace(made, control=replace(made.control, epsilon=0.01))
    found = sandwich(small, delta=DELTA)["positive_control"]
    assert found["caught"] is True
    assert found["fault"] == "skipping"
