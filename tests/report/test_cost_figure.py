"""Costs: strategies that can be taken, and retraining beside them."""

from expunge.report.cost_figure import draw, possible
from tests.report.claims import STRATEGIES


def test_strategies_that_can_be_taken_are_drawn_and_others_left_out():
    text = draw(STRATEGIES, "residual").decode()
    assert "residual" in text
    assert ">24</text>" in text
    assert ">16</text>" in text
    assert "langevin" not in text


def test_a_strategy_of_unknown_cost_is_not_possible_to_draw():
    unknown = {"name": "foreign", "steps": None, "excluded": None}
    assert [one["name"] for one in possible([*STRATEGIES, unknown])] == ["residual", "retrain"]


def test_the_one_that_was_taken_is_named_and_stands_out():
    assert draw(STRATEGIES, "residual").decode().count(">(taken)</") == 1
    assert draw(STRATEGIES, "residual") != draw(STRATEGIES, "retrain")


def test_nothing_to_draw_is_no_error():
    assert draw([], "residual", "png").startswith(b"\x89PNG")
