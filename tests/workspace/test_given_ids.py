"""Ids as people give them: spaces do not count, nor how an accent is encoded."""

import unicodedata

import pytest

from expunge.errors import InvalidInput
from expunge.ledger import Ledger
from expunge.workspace.forget import forget
from expunge.workspace.given_ids import composed, known_ids, trim_ids
from expunge.workspace.status import status
from tests.workspace.tables_made import files_of, fitted, private_people, read

NAME = "José-Ångström"
FORMS = {form: unicodedata.normalize(form, NAME) for form in ("NFC", "NFD")}


def test_the_two_forms_differ_and_become_one():
    assert FORMS["NFC"] != FORMS["NFD"]
    assert composed(FORMS["NFD"]) == composed(FORMS["NFC"]) == FORMS["NFC"]


def test_spaces_around_ids_are_taken_off_and_counted():
    assert trim_ids(["a", " b", "c\t", "d e"]) == (["a", "b", "c", "d e"], 2)


@pytest.mark.parametrize("asked", FORMS)
@pytest.mark.parametrize("stored", FORMS)
def test_a_record_is_found_and_its_row_goes_in_whatever_form_it_is_asked_for(
    tmp_path, stored, asked
):
    people = private_people()
    people["id"][5] = FORMS[stored]
    workspace = fitted(tmp_path, people)
    document = forget(workspace, [FORMS[asked]])
    assert document["outcomes"] == [{"id": FORMS["NFC"], "outcome": "forgotten"}]
    files = (workspace / "secret/saved/secret").glob("chunk-*.parquet")
    left = {composed(record) for rows in files for record in read(rows)["id"]}
    assert len(left) == 149
    assert FORMS["NFC"] not in left
    ages = {name for name, content in files_of(workspace).items() if b"Jos\xc3" in content}
    assert all(not name.endswith(".parquet") for name in ages)
    again = forget(workspace, [FORMS[asked]])
    assert again["repeated"] == "request 1"


def test_two_forms_of_one_id_are_one_id_twice(tmp_path):
    people = private_people()
    people["id"][5:7] = FORMS.values()
    with pytest.raises(InvalidInput, match="is there twice"):
        fitted(tmp_path, people)


def test_an_id_that_a_ledger_has_in_the_other_form_is_taken_as_it_is(tmp_path):
    """As an earlier version stored it."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.create()
    with ledger.writing() as entries:
        entries.add_records([FORMS["NFD"], "x"], "private")
    with ledger.reading() as entries:
        assert known_ids(entries, [FORMS["NFD"], "x", "e\u0301"]) == [FORMS["NFD"], "x", "é"]


def test_public_ids_likewise(tmp_path):
    people = private_people()
    people["id"][5] = FORMS["NFD"]
    workspace = fitted(tmp_path, people)
    assert status(workspace)["records"]["private"] == 150
