"""The checks of figures find what they are for."""

import pytest
from matplotlib.figure import Figure

from tests.report.figure_faults import faults


@pytest.fixture
def figure():
    made = Figure(figsize=(4, 3), layout="constrained")
    made.subplots().plot([0, 1], [1, 2], label="one")
    return made


def test_a_sound_figure_has_none(figure):
    figure.axes[0].legend(loc="lower right")
    assert not faults(figure)


def test_text_on_text_is_seen(figure):
    figure.text(0.5, 0.5, "here")
    figure.text(0.5, 0.51, "there")
    assert faults(figure) == ["'here' lies on 'there'"]


def test_text_that_leaves_the_figure_is_seen(figure):
    figure.text(0.99, 0.5, "too far")
    assert faults(figure) == ["'too far' leaves the figure"]


def test_data_outside_of_its_panel_is_seen(figure):
    figure.axes[0].set_ylim(0, 1.5)
    assert faults(figure) == [": one leaves its panel"]


def test_a_negative_value_on_a_logarithmic_axis_is_seen(figure):
    figure.axes[0].plot([0, 1], [-1, 1], label="two")
    figure.axes[0].set_yscale("log")
    assert any("two is not above 0 on a logarithmic axis" in fault for fault in faults(figure))


def test_a_legend_over_data_is_seen(figure):
    figure.axes[0].legend(loc="upper right")
    assert faults(figure) == [": one lies under the legend"]


def test_two_series_that_look_alike_are_seen(figure):
    figure.axes[0].plot([0, 1], [2, 1], color="C0", label="two")
    assert faults(figure) == [": two looks like one"]
