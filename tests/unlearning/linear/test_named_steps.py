"""Parameters of steps by name, whatever was given as steps."""

import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from expunge.unlearning.linear.named_steps import NamedSteps


class Composed(NamedSteps):
    def __init__(self, steps=None, other=1):
        self.steps = steps
        self.other = other


def made():
    return Composed([("scale", StandardScaler()), ("reduce", PCA(3))])


def test_a_steps_parameters_are_under_its_name():
    given = made().get_params()
    assert given["reduce__n_components"] == 3
    assert isinstance(given["scale"], StandardScaler)
    assert made().get_params(deep=False).keys() == {"steps", "other"}


def test_a_step_and_its_parameters_can_be_set_together():
    composed = made().set_params(reduce=PCA(1), scale__with_mean=False, other=2)
    assert composed.steps[1][1].n_components == 1
    assert composed.steps[0][1].with_mean is False
    assert composed.other == 2
    composed.set_params(steps=[("only", PCA(2))], only__n_components=1)
    assert composed.get_params()["only__n_components"] == 1


def test_replacing_a_step_changes_no_list_of_the_callers():
    steps = [("scale", StandardScaler())]
    Composed(steps).set_params(scale="passthrough")
    assert isinstance(steps[0][1], StandardScaler)


@pytest.mark.parametrize("steps", [None, 5, [1, 2], [("a",)], "ab"])
def test_nothing_is_checked_before_fit(steps):
    composed = Composed(steps)
    assert composed.get_params()["steps"] == steps
    assert clone(composed).other == 1


def test_an_unknown_parameter_is_named():
    with pytest.raises(ValueError, match="Invalid parameter"):
        made().set_params(nothing=1)
