"""Working alone: whoever is overtaken begins again, and what is left over is said."""

import pytest

from expunge.ledger import Overtaken
from expunge.store import NotErased
from expunge.workspace import at_work
from expunge.workspace.at_work import Pending, status_after, work_alone
from expunge.workspace.folder import Folder
from expunge.workspace.status import status
from tests.workspace.tables_made import usual


@pytest.fixture
def folder(tmp_path):
    return Folder.opened(usual(tmp_path))


def test_the_work_is_done_once_under_a_lease(folder):
    leases = []
    assert work_alone(folder, lambda lease, _: leases.append(lease), print) == ()
    assert [lease.number for lease in leases] == [1]
    assert folder.look(lambda entries, _: entries.lease()).holder is None


def test_whoever_is_overtaken_waits_and_begins_again(folder, monkeypatch):
    monkeypatch.setattr(at_work, "PAUSE", 0.0)
    tries, told = [], []

    def work(lease, _):
        tries.append(lease)
        if len(tries) == 1:
            raise Overtaken("planted")

    work_alone(folder, work, told.append)
    assert len(tries) == 2
    assert told == ["waiting for the process that works on the requests"]


def test_what_could_not_be_erased_once_the_new_state_counts_is_left_to_the_end_to_say(
    folder, monkeypatch
):
    monkeypatch.setattr(Folder, "finish", lambda *_: ("a file",))

    def work(_, before):
        with folder.ledger.writing() as entries:
            entries.refresh_model(before, seal="0" * 64)
        raise NotErased([folder.path])

    assert work_alone(folder, work, print) == ("a file",)


def test_a_disk_that_fails_before_is_an_error(folder):
    def work(*_):
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        work_alone(folder, work, print)


def test_the_status_after_work_says_what_is_left_and_who_erases_it(folder):
    assert status_after(folder, (), "done, but it", "forget", {"joined": 3}) == (
        status(folder.path) | {"joined": 3}
    )
    remedy = f"repair it, then run expunge forget {folder.path}"
    with pytest.raises(Pending) as stuck:
        status_after(folder, ("one", "two"), "done, but it", "forget")
    assert str(stuck.value) == f"done, but it is not erased: one and 1 more; {remedy}"
    assert stuck.value.document == status(folder.path)
