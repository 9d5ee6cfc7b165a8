"""Costs: strategies that can be taken, and retraining beside them."""

from expunge.report.cost_figure import draw
from tests.report.claims import STRATEGIES


def test_strategies_that_can_be_taken_are_drawn_and_others_left_out():
    text = draw(STRATEGIES, "residual").decode()
    assert "residual" in text
    assert "24 passes" in text
    assert "langevin" not in text


def test_the_one_that_was_taken_stands_out():
    assert draw(STRATEGIES, "residual") != draw(STRATEGIES, "retrain")


def test_nothing_to_draw_is_no_error():
    assert draw([], "residual", "png").startswith(b"\x89PNG")
