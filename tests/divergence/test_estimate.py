"""An estimate says in words what kind of number it is."""

from expunge.divergence.estimate import Estimate


def test_it_prints_value_interval_kind_and_method():
    found = Estimate(0.5, (0.4, 0.6), "hotelling", "unbiased estimate", 2.0, 0.95, "Gaussians")
    assert str(found) == "D_2 = 0.5 [0.4, 0.6] at 95% (unbiased estimate, hotelling)"


def test_without_an_interval_none_is_printed():
    found = Estimate(-0.01, None, "linear noise", "prediction", 8.0, 0.95, "quadratics")
    assert str(found) == "D_8 = -0.01 (prediction, linear noise)"
