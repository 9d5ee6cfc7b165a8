"""Faults that were found once: unlucky moments, unlucky files, power cuts."""

import errno
import subprocess
import sys

import pytest

from expunge.ledger import Busy
from expunge.workspace import report as report_module
from expunge.workspace.at_work import Pending
from expunge.workspace.folder import Folder
from expunge.workspace.forget import forget
from expunge.workspace.report import report
from expunge.workspace.status import status
from tests.cli.test_main import expunge
from tests.workspace.tables_made import change_ledger, fitted, ledger_rows, usual


def pending(workspace, *ids):
    change_ledger(workspace, "INSERT INTO requests VALUES (1, 'old', '2026-01-01', 'pending')")
    for one in ids:
        change_ledger(workspace, "INSERT INTO requested VALUES (1, ?)", one)


def test_a_run_whose_own_request_was_refused_does_not_exit_0(tmp_path):
    """An older pending request is honoured, the one asked for now is not."""
    workspace = fitted(tmp_path, strategy="langevin")
    pending(workspace, "00100")
    many = "\n".join(f"{row:05d}" for row in range(60))
    outcome = expunge("forget", workspace, "--ids", "-", "--json", stdin=many)
    assert [one["state"] for one in status(workspace)["requests"]] == ["honoured", "pending"]
    assert outcome.status == 1


def test_a_committed_request_is_not_said_to_be_pending(tmp_path, monkeypatch):
    """Another process takes the ledger between the commit and the erasure."""
    workspace = usual(tmp_path)

    def busy(*_):
        raise Busy("another process is working on it")

    monkeypatch.setattr(Folder, "finish", busy)
    with pytest.raises(Pending, match="request 1 is committed, but not erased") as refused:
        forget(workspace, ["00003"])
    document = refused.value.document
    assert [one["state"] for one in document["requests"]] == ["committed"]


def test_exit_status_2_means_that_nothing_was_recorded(tmp_path):
    workspace = usual(tmp_path)
    (secret,) = (workspace / "secret").glob("*/secret/state-*")
    secret.write_bytes(secret.read_bytes()[:-1] + b"\x07")
    before = ledger_rows(workspace)
    outcome = expunge("forget", workspace, "00003")
    assert "restore" in outcome.err
    assert outcome.status == 1 or ledger_rows(workspace) == before


def test_report_beside_a_forget_that_finishes_raises_no_false_alarm(tmp_path, monkeypatch):
    workspace = usual(tmp_path)
    loaded, calls = report_module.loaded, []

    def meanwhile(*arguments):
        calls.append(1)
        if len(calls) == 1:
            forget(workspace, ["00003"])
        return loaded(*arguments)

    monkeypatch.setattr(report_module, "loaded", meanwhile)
    report(workspace, tmp_path / "report.html")


def test_one_line_even_where_the_reason_has_several(tmp_path, monkeypatch):
    from expunge.errors import NoCertificate
    from expunge.unlearning.linear.certified import Certified

    def no(*_, **__):
        raise NoCertificate("first line\nsecond line")

    workspace = usual(tmp_path)
    monkeypatch.setattr(Certified, "forget_batch", no)
    assert expunge("forget", workspace, "00003").err.count("\n") == 1


def test_a_bad_output_is_found_before_the_work(tmp_path, monkeypatch):
    workspace = usual(tmp_path)
    monkeypatch.setattr(report_module, "page", lambda *_: pytest.fail("drew it all"))
    with pytest.raises(OSError, match="folder"):
        report(workspace, tmp_path)
    assert "must end in" in expunge("predict", workspace, "-", "--output", "x.txt").complaint


def test_the_names_of_the_new_secret_files_are_on_disk_before_the_commit(tmp_path, monkeypatch):
    """Otherwise a power cut after the commit could lose secret/<token>."""
    from expunge.store import writing
    from expunge.workspace import honour as module

    workspace, synced = usual(tmp_path), []
    sync = module.sync
    for where in (module, writing):
        monkeypatch.setattr(where, "sync", lambda path: (synced.append(path), sync(path))[1])
    forget(workspace, ["00003"])
    (secret,) = (workspace / "secret").iterdir()
    assert secret in synced


def test_fit_syncs_every_folder_it_fills(tmp_path, monkeypatch):
    from expunge.core import whole_folder
    from expunge.store import writing
    from expunge.workspace import fit as module

    synced = []
    sync = module.sync
    for where in (module, writing, whole_folder):
        monkeypatch.setattr(where, "sync", lambda path: (synced.append(path), sync(path))[1])
    fitted(tmp_path)
    names = {path.name for path in synced}
    assert {"models", "records", "secret"} <= names
    assert tmp_path in synced  # after the rename


def test_a_full_disk_leaves_the_request_pending_and_says_so(tmp_path, monkeypatch):
    from expunge.store import writing

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    workspace = usual(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(writing, "write_whole", full)
        outcome = expunge("forget", workspace, "00003")
    assert outcome.status == 1
    assert "stays pending" in outcome.err
    assert outcome.err.count("\n") == 1
    assert expunge("forget", workspace).status == 0


def test_a_headline_is_rounded_up(tmp_path):
    from expunge.accounting.attack_power import round_up_text

    workspace = usual(tmp_path)
    epsilon = forget(workspace, ["00003"])["certificate"]["epsilon"]
    report(workspace, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert f"ε ≤ {round_up_text(epsilon)} at" in text
    assert float(round_up_text(epsilon)) >= epsilon


@pytest.mark.slow
def test_bad_input_after_reading_parquet_exits_2_every_time(tmp_path):
    """Arrow's threads used to abort the exiting process, one time in three."""
    from tests.workspace.tables_made import public_people, write

    workspace = usual(tmp_path)
    people = public_people()
    people.pop("age")
    lacking = write(tmp_path / "lacking.parquet", people)
    code = (
        "import sys; from expunge.cli.main import start; "
        f"sys.argv = ['expunge', 'predict', {str(workspace)!r}, {str(lacking)!r}, "
        "'--output', 'out.csv']; start()"
    )
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 2, done.stderr
