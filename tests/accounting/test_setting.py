"""A setting says which of its fields makes no sense, and describes learning and unlearning."""

import math
from dataclasses import replace

import pytest

from expunge.accounting import Assumptions, InvalidInput
from expunge.accounting.setting import Setting


def test_the_history_is_learning_on_all_and_unlearning_on_what_remains() -> None:
    setting = Setting(Assumptions(0.1, 1.0, 1.0), 100, 40, 5, 1.0, 50, observer="all")
    learn, unlearn = setting.history(0.3, 7).phases
    assert (learn.steps, learn.samples, learn.forgotten, learn.released) == (50, 140, 5, True)
    assert (unlearn.steps, unlearn.samples, unlearn.forgotten) == (7, 135, 0)
    assert learn.sigma == unlearn.sigma == 0.3
    assert len(setting.history(0.3, 0).phases) == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"public": -1}, "public"),
        ({"private": 0, "forget": 0}, "private"),
        ({"forget": 101}, "forget"),
        ({"forget": -1}, "forget"),
        ({"forget": 100}, "forget"),
        ({"step_size": 2.1}, "phases[0].step_size"),
        ({"step_size": math.nan}, "step_size"),
        ({"learn_steps": 0}, "learn_steps"),
    ],
)
def test_a_senseless_setting_names_its_field(changes: dict[str, object], field: str) -> None:
    setting = Setting(Assumptions(0.1, 1.0, 1.0), 100, 0, 5, 1.0, 50)
    with pytest.raises(InvalidInput) as caught:
        replace(setting, **changes)
    assert caught.value.field == field
