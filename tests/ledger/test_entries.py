"""Settings are written once and come back."""

import pytest
from sqlalchemy.exc import IntegrityError

from tests.ledger.ledgers import small_ledger


@pytest.fixture
def ledger(tmp_path):
    made = small_ledger(tmp_path)
    yield made
    made.close()


def test_settings_come_back_and_are_written_once(ledger):
    with ledger.writing() as entries:
        entries.set("options", "{}")
    with ledger.reading() as entries:
        assert entries.setting("options") == "{}"
        with pytest.raises(KeyError, match="encoding"):
            entries.setting("encoding")
    with pytest.raises(IntegrityError), ledger.writing() as entries:
        entries.set("options", "[]")
