"""What assumptions accept, and which field they blame when they do not."""

import copy
import math
from typing import Any

import pytest

from expunge.accounting import Assumptions, InvalidInput

GIVEN: dict[str, Any] = {"strong_convexity": 0.1, "smoothness": 1.0, "lipschitz": 2.0}


def blamed(**constants: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        Assumptions(**constants)
    return caught.value.field


@pytest.mark.parametrize("name", Assumptions.constants())
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1e-9, "1", True, 1j, [1.0]])
def test_every_constant_is_a_finite_number_and_not_negative(name: str, value: object) -> None:
    assert blamed(**{**GIVEN, name: value}) == f"assumptions.{name}"


@pytest.mark.parametrize("name", ["lipschitz", "radius", "clip"])
def test_a_zero_gradient_bound_radius_or_clip_is_senseless(name: str) -> None:
    assert blamed(**{**GIVEN, name: 0.0}) == f"assumptions.{name}"


@pytest.mark.parametrize("name", ["weight_decay", "initial_distance"])
def test_constants_with_a_default_of_zero_are_never_none(name: str) -> None:
    assert blamed(**{**GIVEN, name: None}) == f"assumptions.{name}"


@pytest.mark.parametrize("name", ["smoothness", "lipschitz"])
def test_smoothness_and_lipschitz_are_needed_unless_gradients_are_clipped(name: str) -> None:
    without = {key: value for key, value in GIVEN.items() if key != name}
    assert blamed(**without) == f"assumptions.{name}"
    assert Assumptions(**without, clip=1.0).regime == "clipped"


def test_nothing_but_a_clip_is_enough() -> None:
    assert Assumptions(clip=1.0).smoothness is None


def test_strong_convexity_never_exceeds_smoothness() -> None:
    assert blamed(**{**GIVEN, "strong_convexity": 1.1}) == "assumptions.strong_convexity"
    assert Assumptions(1.0, 1.0, 1.0).regime == "strongly convex"
    # Clipping voids convexity (E34), so the constant is not read.
    assert Assumptions(1.1, 1.0, clip=1.0).regime == "clipped"


def test_the_ridge_is_part_of_the_smoothness() -> None:
    assert blamed(**GIVEN, weight_decay=1.5) == "assumptions.weight_decay"
    assert Assumptions(**GIVEN, weight_decay=1.0).weight_decay == 1.0
    assert Assumptions(clip=1.0, weight_decay=1.5).weight_decay == 1.5


@pytest.mark.parametrize(
    ("constants", "regime"),
    [
        ({"strong_convexity": 0.1, "smoothness": 1.0, "lipschitz": 1.0}, "strongly convex"),
        ({"strong_convexity": 0.0, "smoothness": 1.0, "lipschitz": 1.0}, "convex"),
        ({"strong_convexity": 0, "smoothness": 0, "lipschitz": 1}, "convex"),
        ({"smoothness": 1.0, "lipschitz": 1.0}, "nonconvex"),
        ({"strong_convexity": 0.1, "smoothness": 1.0, "lipschitz": 1.0, "clip": 1.0}, "clipped"),
    ],
)
def test_the_regime_follows_from_what_is_assumed(constants: dict[str, Any], regime: str) -> None:
    assert Assumptions(**constants).regime == regime


def test_the_diameter_is_twice_the_radius_or_infinite() -> None:
    assert Assumptions(**GIVEN, radius=1.5).diameter == 3.0
    assert Assumptions(**GIVEN).diameter == math.inf


def test_marks_default_to_assumed() -> None:
    found = Assumptions(**GIVEN, marks={"lipschitz": "enforced", "smoothness": "public"})
    assert found.mark("lipschitz") == "enforced"
    assert found.mark("smoothness") == "public"
    assert found.mark("strong_convexity") == "assumed"


def test_a_mark_needs_a_known_constant_and_a_known_word() -> None:
    assert blamed(**GIVEN, marks={"curvature": "enforced"}) == "assumptions.curvature"
    assert blamed(**GIVEN, marks={"lipschitz": "measured"}) == "assumptions.lipschitz.mark"


def test_assumptions_cannot_be_changed_behind_their_back() -> None:
    marks: dict[str, Any] = {"lipschitz": "enforced"}
    found = Assumptions(**GIVEN, marks=marks)
    marks["lipschitz"] = "assumed"
    assert found.mark("lipschitz") == "enforced"
    with pytest.raises(TypeError):
        found.marks["lipschitz"] = "assumed"  # pyright: ignore[reportIndexIssue]
    with pytest.raises(AttributeError):
        found.lipschitz = 0.1  # pyright: ignore[reportAttributeAccessIssue]


def test_a_copy_is_equal_and_as_frozen_as_the_original():
    loss = Assumptions(**GIVEN, marks={"smoothness": "enforced"})
    for again in (copy.copy(loss), copy.deepcopy(loss)):
        assert again == loss
        assert again.mark("smoothness") == "enforced"
        with pytest.raises(TypeError):
            again.marks["smoothness"] = "public"
