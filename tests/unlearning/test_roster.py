"""Who is there, and who left when: counted, never guessed, and never changed in place."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import torch

from expunge.sampling.batches import keys_of
from expunge.unlearning.ids import RowNumbers, id_rows
from expunge.unlearning.roster import Roster

NAMED = Roster(id_rows(["a", "b", "c"], 3, offset=10), 10)


def roster(private=60, public=40):
    return Roster(id_rows(None, private, public), public)


@pytest.mark.parametrize("ids", ["b", ["b"], ("b",), np.array(["b"]), pd.Index(["b"]), {"b"}])
def test_ids_come_alone_or_in_any_collection(ids):
    assert NAMED.rows_of(ids) == [11]


def test_numpy_numbers_are_plain_numbers():
    known = Roster(id_rows(np.arange(3), 3, offset=0), 0)
    assert known.rows_of([np.int64(2), 1]) == [2, 1]


@pytest.mark.parametrize(
    ("ids", "culprit"),
    [("z", "'z'"), (["a", "a"], "'a' is given twice"), ([], "no ids"), ([True, False], "mask")],
)
def test_wrong_ids_are_named(ids, culprit):
    with pytest.raises(ValueError, match=culprit):
        NAMED.rows_of(ids)


def test_a_forgotten_id_is_said_to_be_forgotten():
    with pytest.raises(ValueError, match="already forgotten"):
        NAMED.without([12]).rows_of("c")


def test_counts_follow_the_requests():
    later = roster().without([40, 99]).without([50])
    assert (later.records, later.public, later.private) == (100, 40, 60)
    assert (later.request, later.forgotten, later.retained) == (2, 3, 97)
    assert (roster().request, roster().forgotten, roster().retained) == (0, 0, 100)


def test_those_present_after_each_request():
    later = roster().without([40, 99]).without([50])
    gone = [set((~later.present_after(n)).nonzero()[:, 0].tolist()) for n in range(3)]
    assert gone == [set(), {40, 99}, {40, 50, 99}]
    assert torch.equal(later.present, later.present_after(2))
    assert later.last.nonzero()[:, 0].tolist() == [50]
    assert later.left[[39, 40, 50, 99]].tolist() == [0, 1, 2, 1]
    assert not roster().last.any()


def test_a_request_leaves_the_roster_before_it_as_it_was():
    before = roster()
    before.without([50])
    assert before.request == 0
    assert before.present.all()


def test_what_a_roster_gives_away_cannot_change_it():
    later = roster().without([50])
    later.present[41] = False
    later.left[41] = 7
    assert later.present[41]
    assert later.left[41] == 0
    with pytest.raises(ValueError, match="read-only"):
        later.departures[0][0] = 41


@pytest.mark.parametrize("row", [-1, 0, 39, 100, 50])
def test_only_private_records_that_are_there_can_leave(row):
    with pytest.raises(ValueError, match=f"row {row} is no private record"):
        roster().without([50]).without([row])


def test_somebody_must_remain():
    with pytest.raises(ValueError, match="no comparator"):
        Roster(id_rows(None, 2, 0), 0).without([0]).without([1])
    assert Roster(id_rows(None, 2, 1), 1).without([1, 2]).retained == 1


def test_who_left_when_is_enough_to_make_it_again():
    later = roster().without([40, 99]).without([50])
    again = Roster.of(later.ids, later.public, later.left)
    assert all(map(np.array_equal, again.departures, later.departures))
    assert torch.equal(again.keys, later.keys)


def test_keys_follow_from_ids_and_public_places_alone():
    assert torch.equal(NAMED.keys[10:], keys_of(["a", "b", "c"]))
    assert torch.equal(NAMED.keys[:10], roster(public=10).keys[:10])


def test_the_public_records_alone():
    alone = roster().without([50]).public_only
    assert (alone.records, alone.private, alone.forgotten) == (40, 0, 0)


def test_leaving_touches_nothing_that_is_as_long_as_the_table(monkeypatch):
    """Its cost is the request's: no array of the table's length is made, whatever that is."""
    large = Roster(id_rows(None, 10**7, 0), 0, torch.empty(0))

    def long(*_, **__):
        raise AssertionError("an array of the table's length")

    for name in ("ones", "zeros", "arange"):
        monkeypatch.setattr(np, name, long)
    for row in range(3):
        large = large.without([row])
    assert [len(rows) for rows in large.departures] == [1, 1, 1]


def test_after_many_requests_whoever_left_is_looked_up_in_a_few_arrays():
    order = np.random.default_rng(0).permutation(np.arange(40, 3000)).tolist()
    later, gone = roster(private=2960), set()
    for request in range(1000):
        rows = order[2 * request : 2 * request + 1 + request % 2]
        later, gone = later.without(rows), gone | set(rows)
        assert sorted(later.last_rows) == sorted(rows)
    assert len(later.merged) <= 12
    assert set(np.concatenate(later.merged).tolist()) == gone
    assert later.forgotten == len(gone)
    assert later.places == sum(set(range(3000)) - gone)
    for row in range(40, 3000):
        if row in gone:
            with pytest.raises(ValueError, match="still there"):
                later.without([row])
        else:
            later.without([row])


def test_a_roster_made_of_its_parts_knows_who_left():
    later = roster().without([40, 99]).without([50])
    again = Roster.after(later.ids, later.public, later.departures)
    assert (again.forgotten, again.places) == (later.forgotten, later.places)
    with pytest.raises(ValueError, match="still there"):
        again.without([99])
    assert roster().last_rows == []


def test_ids_stay_in_this_process():
    with pytest.raises(TypeError, match="private records"):
        pickle.dumps(NAMED)
    assert "'a'" not in repr(NAMED)
    assert copy.deepcopy(NAMED).rows_of("b") == [11]


def test_records_that_join_have_the_next_rows_and_are_there_from_then_on():
    later = roster().without([40, 99]).with_more(None, 3).without([100, 50])
    assert (later.records, later.private, later.at_fit, later.joined) == (103, 63, 100, 3)
    assert (later.request, later.forgotten, later.retained) == (3, 4, 99)
    there = [set(later.present_after(n).nonzero()[:, 0].tolist()) for n in range(4)]
    everyone = set(range(100))
    assert there == [
        everyone,
        everyone - {40, 99},
        (everyone | {100, 101, 102}) - {40, 99},
        (everyone | {101, 102}) - {40, 50, 99},
    ]
    assert later.places == sum(there[-1])
    assert later.last_joined == range(103, 103)
    assert later.rows_of([61]) == [101]
    with pytest.raises(ValueError, match="already forgotten"):
        later.rows_of([60])


def test_the_last_to_join_are_told_from_the_last_to_leave():
    before = roster().without([40])
    later = before.with_more(["x", "y"], 2)
    assert (later.last_rows, list(later.last_joined)) == ([], [100, 101])
    assert (before.last_rows, list(before.last_joined)) == ([40], [])
    assert not later.last.any()
    assert before.records == 100


def test_keys_of_newcomers_follow_from_their_ids_alone():
    later = NAMED.with_more(["d", "e"], 2)
    assert torch.equal(later.keys, torch.cat([NAMED.keys, keys_of(["d", "e"])]))


def test_an_id_that_is_there_or_was_forgotten_is_refused_by_name():
    without_b = NAMED.without([11])
    with pytest.raises(ValueError, match="id 'a' is already there"):
        without_b.with_more(["z", "a"], 2, again=True)
    with pytest.raises(ValueError, match="id 'b' was forgotten; again=True"):
        without_b.with_more(["z", "b"], 2)
    with pytest.raises(ValueError, match="no records given"):
        NAMED.with_more([], 0)


def test_an_id_that_came_back_is_a_new_record():
    again = NAMED.without([11]).with_more(["b"], 1, again=True)
    assert again.rows_of("b") == [13]
    assert (again.private, again.forgotten, again.retained) == (4, 1, 13)
    gone = again.without([13])
    with pytest.raises(ValueError, match="already forgotten"):
        gone.rows_of("b")
    assert gone.with_more(["b"], 1, again=True).rows_of("b") == [14]
    assert torch.equal(again.keys[13], again.keys[11])


def test_who_joined_and_left_when_is_enough_to_make_it_again():
    later = (
        NAMED.with_more(["d"], 1)
        .without([11, 13])
        .with_more(["b", "e"], 2, again=True)
        .without([14])
    )
    again = Roster.after(later.ids, later.public, later.departures, later.sizes)
    assert all(map(np.array_equal, again.departures, later.departures))
    assert (again.sizes, again.forgotten, again.places) == (later.sizes, 3, later.places)
    assert torch.equal(again.keys, later.keys)
    assert torch.equal(again.present_after(2), later.present_after(2))


def test_records_take_the_place_of_others_in_one_request():
    later = NAMED.with_more(["d"], 1).with_more(["b", "e", "f"], 3, again=True, leaving=[11, 13])
    assert (later.request, later.sizes, later.forgotten) == (2, (13, 14, 17), 2)
    assert (later.last_rows, list(later.last_joined)) == ([11, 13], [14, 15, 16])
    assert later.rows_of(["b", "f"]) == [14, 16]
    assert later.present_after(1).tolist() == [True] * 14 + [False] * 3
    again = Roster.after(later.ids, later.public, later.departures, later.sizes)
    assert all(map(np.array_equal, again.departures, later.departures))
    assert (again.sizes, again.places) == (later.sizes, later.places)
    assert torch.equal(again.keys, later.keys)
    with pytest.raises(ValueError, match="'d' is already there"):
        NAMED.with_more(["d"], 1).with_more(["d"], 1, again=True, leaving=[11])


@pytest.mark.parametrize(
    "sizes", [(13, 14), (13, 12, 14), (15, 15, 14), (9, 14, 14), (13, 14, 13), ()]
)
def test_sizes_that_no_requests_could_have_led_to_are_refused(sizes):
    later = NAMED.with_more(["d"], 1).without([11])
    with pytest.raises(ValueError, match=r"sizes|never become fewer"):
        Roster.after(later.ids, later.public, later.departures, sizes)


def test_joining_takes_time_in_proportion_to_the_newcomers_but_for_keys():
    """Only keys are laid out anew; ids and departures are not."""
    large = Roster(id_rows(None, 10**7, 0), 0, torch.empty(0, dtype=torch.int64))
    named = large.with_more(["x"], 1).without([5])
    assert named.rows_of("x") == [10**7]
    assert isinstance(large.with_more(None, 5).ids, RowNumbers)
