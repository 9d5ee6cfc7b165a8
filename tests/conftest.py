"""What every test shares: certificates are issued at one fixed time."""

import importlib.util

import pytest

NOW = "2026-01-02T03:04:05Z"


@pytest.fixture(autouse=True)
def _one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs that should agree to the last bit do, whatever second they end in."""
    if importlib.util.find_spec("pydantic") and importlib.util.find_spec("rfc8785"):
        monkeypatch.setattr("expunge.accounting.certificate.now", lambda: NOW)
