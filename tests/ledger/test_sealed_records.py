"""A seal in each record, and their number and sum: a request checks its own, `verify` all."""

import pytest

from expunge.errors import Altered, InvalidInput
from expunge.ledger import Ledger
from expunge.ledger.sealed_records import RecordCount, check_rows, record_row


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "ledger.sqlite")
    made.create()
    yield made
    made.close()


def test_a_ledger_without_records_counts_none(ledger):
    with ledger.reading() as entries:
        assert entries.counts() == {"public": 0, "private": 0, "forgotten": 0}
    assert ledger.check() == 0


def test_places_follow_the_order_in_which_records_are_added(ledger):
    with ledger.writing() as entries:
        entries.add_records(["p1", "p2"], "public")
        entries.add_records(["b", "a"], "private")
    with ledger.writing() as entries:
        entries.add_records(["c"], "private")
        assert entries.places(["c", "p1", "a", "b"]) == [4, 0, 3, 2]
        with pytest.raises(InvalidInput, match="'nobody' is unknown"):
            entries.places(["a", "nobody"])
    assert ledger.check() == 5


@pytest.mark.parametrize("ids", [["a", "b", "a"], ["c", "p1"]])
def test_an_id_that_is_there_twice_is_named_and_nothing_is_added(ledger, ids):
    with ledger.writing() as entries:
        entries.add_records(["p1"], "public")
    with pytest.raises(InvalidInput, match=r"'(a|p1)' is there twice"), ledger.writing() as entries:
        entries.add_records(ids, "private")
    assert ledger.check() == 1


def test_the_sum_does_not_depend_on_how_records_were_added():
    rows = [record_row(f"r{i}", "private", i) for i in range(5)]
    one = RecordCount().with_rows(rows)
    other = RecordCount().with_rows(rows[:2]).with_rows(rows[2:])
    assert one == other == RecordCount.of(one.document())
    assert (one.public, one.private, one.records) == (0, 5, 5)


@pytest.mark.parametrize("place", range(0, 52, 3))
def test_a_count_that_was_changed_anywhere_is_refused(place):
    document = RecordCount().with_rows([record_row("r", "private", 0)]).document()
    changed = document[:place] + chr(ord(document[place]) ^ 1) + document[place + 1 :]
    with pytest.raises(ValueError, match=r"."):
        RecordCount.of(changed)


@pytest.mark.parametrize("change", [{"id": "s"}, {"role": "public"}, {"place": 2}, {"seal": 0}])
def test_a_row_whose_seal_does_not_fit_is_refused(change):
    class Row:
        def __init__(self, **values):
            vars(self).update(values)

    row = record_row("r", "private", 1)
    check_rows("ledger.sqlite", [Row(**row)])
    with pytest.raises(Altered, match="records was changed"):
        check_rows("ledger.sqlite", [Row(**row | change)])
