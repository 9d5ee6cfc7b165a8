"""One request honoured: files first; until the commit nothing counts."""

import pytest

from expunge.accounting.verification import differences
from expunge.ledger import Overtaken, RequestBatch
from expunge.workspace.folder import Folder
from expunge.workspace.honour import honour
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.tables_made import usual


def honoured(workspace, meanwhile=lambda _: None):
    """Honour a request for one record; `meanwhile` happens before the commit."""
    folder = Folder.opened(workspace)
    with folder.ledger.writing() as entries:
        request = entries.add_request(["00003"])
    with folder.leased() as lease:
        stages = []

        def progress(stage):
            stages.append(stage)
            if stage.endswith("writing"):
                meanwhile(folder)

        (certificate,) = honour(folder, lease, RequestBatch((request,)), progress)
    assert [stage.split(": ")[1].split()[0] for stage in stages] == [
        *("loading", "forgetting", "writing")
    ]
    return certificate


def test_the_commit_makes_model_and_certificate_current(tmp_path):
    workspace = usual(tmp_path)
    certificate = honoured(workspace)
    assert differences(certificate) == []
    assert certificate.requests == []
    assert status(workspace)["model"]["sha256"] == certificate.model_sha256
    assert status(workspace)["requests"][0]["state"] == "committed"
    assert verify(workspace)["valid"]


def interrupt(_):
    raise KeyboardInterrupt


def test_without_the_commit_the_model_is_as_before(tmp_path):
    workspace = usual(tmp_path)
    before = status(workspace)
    with pytest.raises(KeyboardInterrupt):
        honoured(workspace, interrupt)
    after = status(workspace)
    assert after["model"] == before["model"]
    assert after["requests"][0]["state"] == "pending"
    assert verify(workspace)["valid"]


def test_requests_are_taken_in_while_another_is_in_work(tmp_path):
    """No transaction is open while it trains."""
    workspace = usual(tmp_path)

    def ask(folder):
        other = Folder.opened(folder.path)
        with other.ledger.writing() as entries:
            entries.add_request(["00004"])
        other.ledger.close()

    honoured(workspace, ask)
    states = [request["state"] for request in status(workspace)["requests"]]
    assert states == ["committed", "pending"]


def take_over(folder):
    with folder.ledger.writing() as entries:
        entries.take_lease("a successor")


def replace_the_model(folder):
    with folder.ledger.writing() as entries:
        entries.add_model(sha256="0" * 64, seal="0" * 64)


@pytest.mark.parametrize(
    ("meanwhile", "complaint"),
    [(take_over, "lease 1 was taken over by lease 2"), (replace_the_model, "no longer current")],
)
def test_whoever_was_overtaken_commits_nothing(tmp_path, meanwhile, complaint):
    workspace = usual(tmp_path)
    with pytest.raises(Overtaken, match=complaint):
        honoured(workspace, meanwhile)
    document = status(workspace)
    assert document["requests"][0]["state"] == "pending"
    assert document["certificate"] is None
    assert document["records"]["forgotten"] == 0
