"""`renyi_estimate`: the documented rule, and a name for what comes out."""

import pytest
import torch

from expunge.divergence import renyi_estimate
from tests.divergence.laws import shifted


def test_enough_samples_give_an_unbiased_estimate():
    p, q = shifted(300, 20, 0.5, seed=0)
    found = renyi_estimate(of=p, against=q, order=2.0)
    assert (found.method, found.kind) == ("hotelling", "unbiased estimate")
    assert found.interval[0] <= 0.5 <= found.interval[1]


def test_too_few_give_a_lower_estimate():
    found = renyi_estimate(of=torch.randn(40, 100), against=torch.randn(40, 100))
    assert (found.method, found.kind) == ("held-out projection", "lower estimate")


def test_objections_to_the_model_are_in_the_notes():
    p, q = shifted(2000, 3, 0.5, seed=0)
    assert renyi_estimate(of=p, against=q).notes == ()
    assert renyi_estimate(of=2 * p, against=q).notes


@pytest.mark.parametrize("method", ["nearest neighbours", "convex conjugate"])
def test_methods_for_a_line_work_there_and_only_there(method):
    p, q = shifted(3000, 1, 0.5, seed=0)
    found = renyi_estimate(of=p, against=q, method=method)
    assert found.kind == "lower estimate"
    assert abs(found.value - 0.5) < 0.3
    with pytest.raises(ValueError, match="line"):
        renyi_estimate(of=p.expand(-1, 2), against=q.expand(-1, 2), method=method)


def test_the_paper_s_method_warns(monkeypatch):
    from expunge.divergence import discriminator

    small = discriminator.Discriminator(width=4, restarts=2, steps=2, batch=20)
    monkeypatch.setattr(discriminator, "Discriminator", lambda: small)
    p, q = shifted(60, 2, 0.5, seed=0)
    with pytest.warns(UserWarning, match="reproduction"):
        found = renyi_estimate(of=p, against=q, method="paper")
    assert found.method == "paper"
    assert "reproduction" in found.notes[0]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"method": "magic"}, "magic"),
        ({"order": -1.0}, "order"),
        ({"level": 2.0}, "level"),
        ({"against": torch.zeros(50, 3)}, "dimensions"),
    ],
)
def test_bad_input_is_named(change, problem):
    p, q = shifted(50, 2, 0.5, seed=0)
    with pytest.raises(ValueError, match=problem):
        renyi_estimate(**{"of": p, "against": q} | change)
