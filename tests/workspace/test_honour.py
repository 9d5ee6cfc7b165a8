"""One request honoured: files first; until the commit nothing counts."""

import pytest

from expunge.accounting.verification import differences
from expunge.workspace.folder import Folder
from expunge.workspace.honour import honour
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.tables_made import usual


def honoured(workspace, stop=None):
    """Honour a request for one record; an exception before the commit undoes it."""
    folder = Folder.opened(workspace)
    with folder.ledger.writing() as entries:
        request = entries.add_request(["00003"])
        certificate = honour(folder, entries, request, lambda _: None)
        if stop is not None:
            raise stop
    return certificate


def test_the_commit_makes_model_and_certificate_current(tmp_path):
    workspace = usual(tmp_path)
    certificate = honoured(workspace)
    assert differences(certificate) == []
    assert certificate.requests == []
    assert status(workspace)["model"]["sha256"] == certificate.model_sha256
    assert verify(workspace)["valid"]


def test_without_the_commit_everything_is_as_before(tmp_path):
    workspace = usual(tmp_path)
    before = status(workspace)
    with pytest.raises(KeyboardInterrupt):
        honoured(workspace, stop=KeyboardInterrupt())
    assert status(workspace) == before
    assert verify(workspace)["valid"]
    assert len(list((workspace / "models").iterdir())) == 1  # the unused one was swept
