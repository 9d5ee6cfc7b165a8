"""Kill -9 at every touch of the disk: the old generation or the new one, whole, and swept."""

import pytest

from tests.store.killed import killed

SCENARIOS = {  # requests honoured by the generation before, None where there is none
    "first": None,
    "next": 1,
    "after a kill": 2,
    "settled": 2,
    "by ledger": 1,
}


@pytest.fixture(scope="module", params=SCENARIOS)
def outcomes(request, tmp_path_factory):
    entries = killed(request.param, tmp_path_factory.mktemp("killed"))
    old = SCENARIOS[request.param]
    new = {"first": 0, "settled": 2}.get(request.param, (old or 0) + 1)
    return entries, old, new


def test_every_touch_was_a_kill_and_without_one_the_work_is_done(outcomes):
    entries, _, new = outcomes
    *kills, whole = entries
    assert len(kills) >= 10
    assert all(entry["killed"] for entry in kills)
    assert (whole["killed"], whole["problem"], whole["seen"]) == (False, None, new)
    assert whole["after"] == new


def test_a_reader_sees_the_old_generation_or_the_new_one_whole(outcomes):
    entries, old, new = outcomes
    seen = [entry["seen"] for entry in entries]
    assert set(seen) == {old, new}
    assert seen == sorted(seen, key=[old, new].index)  # and never goes back


def test_the_next_writer_keeps_what_the_reader_saw(outcomes):
    entries, _, _ = outcomes
    assert [entry["after"] for entry in entries] == [entry["seen"] for entry in entries]


def test_no_certificate_ever_lies_beside_another_s_model(outcomes):
    entries, _, _ = outcomes
    for entry in entries:
        assert entry["on_top"] in (None, True)
        assert entry["on_top_after"] == (True if entry["after"] else None)


def test_the_next_writer_leaves_the_files_of_one_generation(outcomes):
    entries, _, _ = outcomes
    for entry in entries:
        files = {None: 0, 0: 9}.get(entry["after"], 10)  # the certificate comes with a request
        assert len(entry["left"]) == files
        assert entry["unerased"] == 0


def test_nothing_of_a_forgotten_row_is_left_by_the_next_writer(outcomes):
    entries, _, _ = outcomes
    for entry in entries:
        if entry["after"] is not None:
            assert entry["traces"] == [entry["after"] < request for request in (1, 2, 3)]


def test_at_no_moment_may_others_read_what_is_secret_or_not_current_yet(outcomes):
    entries, _, new = outcomes
    for entry in entries:
        assert set(entry["secret"]) <= {"0o600"}
        current = entry["seen"] == new
        assert set(entry["waiting"]) <= ({"0o600", "0o644"} if current else {"0o600"})
