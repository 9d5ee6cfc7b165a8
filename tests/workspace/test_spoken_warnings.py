"""What the library warns of is told in a line; other warnings stay warnings."""

import warnings

import pytest

from expunge.errors import SettingsWarning
from expunge.workspace.spoken_warnings import telling


def test_poor_settings_are_told_every_time():
    told = []
    with telling(told.append):
        for _ in range(2):
            warnings.warn("l2: too large", SettingsWarning, stacklevel=1)
    assert told == ["l2: too large"] * 2


def test_another_warning_stays_one():
    told = []
    with pytest.warns(UserWarning, match="of another kind"), telling(told.append):
        warnings.warn("of another kind", UserWarning, stacklevel=1)
    assert told == []


def test_an_exception_passes_through():
    with pytest.raises(ValueError, match="planted"), telling(print):
        raise ValueError("planted")
