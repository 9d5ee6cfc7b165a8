"""Readers never write and never wait: whatever state the workspace is in, whoever is at work."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from expunge.ledger import Ledger
from expunge.workspace.evaluate import evaluate
from expunge.workspace.folder import Folder
from expunge.workspace.forget import forget
from expunge.workspace.predict import predict
from expunge.workspace.report import report
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.tables_made import usual

READERS = {
    "status": status,
    "verify": verify,
    "predict": lambda workspace: predict(
        workspace, workspace.parent / "public.csv", workspace.parent / "guesses.csv"
    ),
    "evaluate": lambda workspace: evaluate(workspace, workspace.parent / "public.csv"),
    "report": lambda workspace: report(workspace, workspace.parent / "report.html"),
}
STATES = {  # and what a reader says of the request
    "untouched": [],
    "asked": ["pending"],
    "in work": ["pending"],
    "committed": ["committed"],
}
ROOT, MODULE = Path(__file__).parents[2], "tests.workspace.test_readers"


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def bring_to(workspace, state):
    """Go on until the workspace is in that state, and die there; for a process of its own."""
    workspace = Path(workspace)
    if state == "asked":
        with Ledger(workspace / "ledger.sqlite").writing() as entries:
            entries.add_request(["00003"])
        die()
    if state == "committed":
        finish = Folder.finish
        Folder.finish = lambda *given: die() if status(workspace)["certificate"] else finish(*given)
    forget(
        workspace,
        ["00003"],
        progress=lambda stage: state == "in work" and stage.endswith("writing") and die(),
    )


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A workspace in each state, as the process that brought it there left it by dying."""
    made = {}
    for state in STATES:
        made[state] = usual(tmp_path_factory.mktemp("readers"))
        if state != "untouched":
            code = f"from {MODULE} import bring_to; bring_to({str(made[state])!r}, {state!r})"
            done = subprocess.run([sys.executable, "-c", code], cwd=ROOT)
            assert done.returncode == -signal.SIGKILL
    return made


def everything(workspace):
    """Every file's content and time of change, and every folder's time."""
    return {
        path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes())
        for path in (workspace, *sorted(workspace.rglob("*")))
    }


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("verb", READERS)
def test_a_reader_changes_no_byte_and_no_time(places, state, verb):
    workspace = places[state]
    before = everything(workspace)
    assert READERS[verb](workspace)
    assert everything(workspace) == before


@pytest.mark.parametrize("state", STATES)
def test_a_reader_sees_how_far_a_request_is(places, state):
    document, checked = status(places[state]), verify(places[state])
    states = [request["state"] for request in document["requests"]]
    assert states == STATES[state]
    assert checked["valid"]
    assert checked["pending"] == states.count("pending")
    assert checked["committed"] == ["request 1"] * states.count("committed")
    assert bool(document["unerased"]) == bool(checked["unerased"]) == (states == ["committed"])


@pytest.mark.parametrize("verb", READERS)
def test_a_reader_does_not_wait_for_a_writer_in_its_transaction(tmp_path, verb):
    """Nor for a lease; a second writer would be told that the ledger is busy."""
    workspace = usual(tmp_path)
    folder = Folder.opened(workspace)
    with folder.leased(), folder.ledger.writing() as entries:
        entries.add_request(["00003"])
        assert READERS[verb](workspace)
        assert status(workspace)["requests"] == []


# ---- a disk that cannot be written --------------------------------------------------------------


def mounted_read_only(workspace, *commands):
    """Run command lines in a namespace where the workspace can only be read: status and stderr."""
    lines = " ".join(f"mount --bind {workspace} {workspace} &&".split())
    lines += f" mount -o remount,bind,ro {workspace} && exec {sys.executable} -c "
    code = f"""
import json, sys
from tests.workspace.killed import ran
print(json.dumps([ran(line) for line in {[[str(one) for one in line] for line in commands]!r}]))
"""
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'{lines} "$0"', code],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode and "mount" in f"{done.stderr}" and "Traceback" not in done.stderr:
        pytest.skip(f"no namespaces here: {done.stderr.strip()}")
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare here")
@pytest.mark.parametrize("state", STATES)
def test_on_a_disk_that_can_only_be_read_readers_read_and_writers_are_refused(places, state):
    workspace = places[state]
    outside = workspace.parent
    *read, refused = mounted_read_only(
        workspace,
        ["status", workspace, "--json"],
        ["verify", workspace, "--json"],
        ["predict", workspace, outside / "public.csv", "--output", outside / "guesses.csv"],
        ["report", workspace, "--output", outside / "report.html"],
        ["forget", workspace, "00004"],
    )
    assert [one["status"] for one in read] == [0] * 4, read
    assert [one["state"] for one in json.loads(read[0]["out"])["requests"]] == STATES[state]
    assert refused["status"] == 2
    assert refused["err"].count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare here")
def test_a_log_without_its_index_on_such_a_disk_is_one_line_and_exit_2(places, tmp_path):
    shutil.copytree(places["asked"], tmp_path / "workspace")
    (tmp_path / "workspace/ledger.sqlite-shm").unlink()
    (outcome,) = mounted_read_only(tmp_path / "workspace", ["status", tmp_path / "workspace"])
    assert outcome["status"] == 2
    assert outcome["err"].count("\n") == 1
    assert "entries of an interrupted run wait" in outcome["err"]
