"""What every test shares."""

import pytest


def test_a_relative_tolerance_is_relative_for_small_numbers_too():
    assert pytest.approx(1e-20, rel=1e-6) != 2e-20
    assert pytest.approx(1e-20, rel=1e-6) == 1.0000001e-20
    assert pytest.approx(1e-20, rel=1e-6, abs=1e-12) == 2e-20
