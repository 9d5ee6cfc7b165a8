"""Requests seen through: what is pending is honoured in order, and a batch by one model."""

from expunge.ledger import RequestBatch
from expunge.workspace import honour as module
from expunge.workspace.folder import Folder
from expunge.workspace.see_through import see_through, unfinished
from tests.workspace.tables_made import usual


def test_what_is_pending_is_taken_in_order_and_a_batch_as_a_whole(tmp_path, monkeypatch):
    folder, taken = Folder.opened(usual(tmp_path)), []
    with folder.ledger.writing() as entries:
        entries.add_request(["00003"], "first")
        entries.add_batch([("second", ["00004"]), ("third", ["00005"])], each=False)
        entries.add_request(["00006"], "fourth")
    assert unfinished(folder) == [1, 2, 3, 4]
    honour = module.honour

    def noted(folder, lease, batch: RequestBatch, *others):
        taken.append((batch.numbers, batch.each))
        return honour(folder, lease, batch, *others)

    monkeypatch.setattr(module, "honour", noted)
    from expunge.core.part_engine import HERE

    worked = see_through(folder, [4], HERE, lambda _: None)
    assert taken == [((1,), True), ((2, 3), False), ((4,), True)]
    assert worked.honoured == ["first", "second", "third", "fourth"]
    assert unfinished(folder) == []
