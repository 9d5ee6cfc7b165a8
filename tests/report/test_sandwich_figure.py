"""The audit's figure: drawn from its JSON, whatever it says."""

import pytest

from expunge.report.sandwich_figure import _epsilon, beyond, draw
from tests.report.claims import AUDIT


@pytest.mark.parametrize("bound", [0.0, 0.2, 30.0], ids=["nothing", "something", "contradicted"])
def test_it_is_drawn(bound):
    content = draw(AUDIT | {"lower_bound": {"value": bound, "level": 0.95}})
    assert content.lstrip().startswith(b"<?xml")


def test_an_estimate_below_zero_is_consistent_with_zero():
    assert _epsilon(-0.01, 1e-5) == 0.0
    assert _epsilon(1.0, 1e-5) > 1.0


def test_an_estimate_within_the_certificate_needs_no_words():
    assert beyond(AUDIT) is None


@pytest.mark.parametrize(
    ("interval", "value", "words"),
    [([0.0, 0.9], 0.01, "The end of the estimate's interval"), ([0.1, 0.9], 0.5, "The estimate")],
)
def test_an_estimate_beyond_the_certificate_is_explained(interval, value, words):
    audit = AUDIT | {"estimate": {"value": value, "interval": interval}}
    assert beyond(audit).startswith(f"{words} lies beyond what is certified")
    assert "400 models of each law" in beyond(audit)
