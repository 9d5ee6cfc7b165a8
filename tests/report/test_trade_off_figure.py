"""The figure draws from JSON, twice the same."""

import json

import pytest

from expunge.accounting import Assumptions
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta
from expunge.accounting.trade_offs import trade_offs
from expunge.report.trade_off_figure import draw


def curves(observer: str = "final") -> dict:
    loss = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
    setting = Setting(loss, 100, 0, 10, step_size=1.0, learn_steps=50, observer=observer)
    target = EpsilonDelta(1.0, 1e-5)
    found = trade_offs(setting, target, unlearn_steps=5, sigma=0.05, public_counts=(0, 100))
    return json.loads(json.dumps(found))


@pytest.mark.parametrize(
    ("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_every_format_is_drawn(kind, start):
    assert draw(curves(), kind).startswith(start)


def test_the_same_curves_give_the_same_picture():
    assert draw(curves()) == draw(curves())


def test_the_observer_changes_what_is_drawn():
    released = draw(curves("all"), "svg").decode()
    final = draw(curves("final"), "svg").decode()
    assert "learned model released" in released
    assert "learned model released" not in final
    assert "retraining" in final


def test_what_cannot_be_had_is_a_gap_and_not_an_error():
    found = curves()
    found["curves"][0]["sigma"] = [None] * 20
    assert draw(found).startswith(b"\x89PNG")
