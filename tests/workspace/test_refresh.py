"""A refresh: the model stays, the secret state is another, and the one before is in no file."""

import json
import os
import shutil
import signal
from collections import Counter
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from expunge.core.part_engine import HERE
from expunge.core.ray_cluster import Cluster
from expunge.errors import InvalidInput
from expunge.ledger import Ledger
from expunge.losses import passes
from expunge.store import read
from expunge.store.lock import hold_lock
from expunge.unlearning.linear import saved_rows
from expunge.workspace import at_work
from expunge.workspace import refresh as module
from expunge.workspace.at_work import Pending
from expunge.workspace.audit import audit
from expunge.workspace.folder import Folder
from expunge.workspace.forget import forget
from expunge.workspace.refresh import refresh
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.killed import killed
from tests.workspace.tables_made import (
    change_ledger,
    everything_in,
    files_of,
    fitted,
    ledger_rows,
    people,
    usual,
)


@pytest.fixture
def workspace(tmp_path):
    return usual(tmp_path)


def anchor(workspace):
    (state,) = (workspace / "secret").glob("saved/secret/state-*.safetensors")
    return load_file(state)


@pytest.mark.parametrize("forgotten", [[], ["00003", "00004"]])
def test_model_certificate_and_records_stay_and_the_journal_says_what_was_done(
    workspace, forgotten
):
    if forgotten:
        forget(workspace, forgotten)
    before, files = status(workspace), files_of(workspace)
    after = refresh(workspace)
    (entry,) = after.pop("journal")
    assert before.pop("journal") == []
    assert after == before
    assert (entry["what"], entry["model"], entry["state"]) == (
        "refresh",
        before["model"]["number"],
        "honoured",
    )
    assert verify(workspace)["valid"]
    kept = {name: content for name, content in files.items() if "secret/" not in name}
    assert {n: c for n, c in files_of(workspace).items() if "secret/" not in n} == kept


@pytest.fixture
def large(tmp_path):
    """One large enough for a request to go without a pass, on the anchor of before."""
    tables = people(3000, seed=2, prefix="0"), people(500, seed=1, prefix="9")
    workspace = fitted(tmp_path, *tables)
    forget(workspace, ["00003"])
    return workspace


def test_the_anchor_that_a_forgotten_record_helped_to_make_is_in_no_file(large):
    """A float64 of the old point: searched for byte by byte."""
    workspace = large
    old = anchor(workspace)["secret.theta"].numpy().tobytes()[:16]
    assert any(old in content for content in files_of(workspace).values())
    names = {name for name in files_of(workspace) if "/state-" in name or "/document-" in name}
    refresh(workspace)
    assert not any(old in content for content in files_of(workspace).values())
    assert not names & set(files_of(workspace))
    assert not (workspace / "ledger.sqlite-wal").exists()


def test_the_new_anchor_counts_no_request(large):
    rows, _, _, served, *_ = anchor(large)["secret.anchor"].tolist()
    assert served == 1
    refresh(large)
    found = anchor(large)["secret.anchor"].tolist()
    assert found[0] == rows
    assert found[3] == 0


def test_requests_go_on_from_the_new_state(workspace):
    refresh(workspace)
    document = forget(workspace, ["00003"])
    assert document["honoured"] == ["request 1"]
    assert document["certificate"]["epsilon"] <= 1
    assert verify(workspace)["valid"]
    assert [entry["state"] for entry in refresh(workspace)["journal"]] == ["honoured"] * 2


@pytest.mark.parametrize("strategy", ["retrain", "langevin"])
def test_a_strategy_without_an_anchor_is_told_so_and_nothing_changes(tmp_path, strategy):
    workspace = fitted(tmp_path, strategy=strategy)
    before = files_of(workspace)
    with pytest.raises(InvalidInput, match=f"strategy '{strategy}' keeps no anchor to replace"):
        refresh(workspace)
    assert files_of(workspace) == before
    assert ledger_rows(workspace)["journal"] == []


def test_nothing_is_said_of_distances_or_of_the_solver(workspace):
    told = []
    document = refresh(workspace, progress=told.append)
    assert told == ["loading", "a pass over the records", "writing"]
    assert set(document["journal"][0]) == {"number", "what", "model", "done", "state"}
    assert document.keys() == status(workspace).keys()


def test_a_pending_request_stays_pending(workspace):
    with Ledger(workspace / "ledger.sqlite").writing() as entries:
        entries.add_request(["00003"])
    assert [one["state"] for one in refresh(workspace)["requests"]] == ["pending"]
    assert forget(workspace)["honoured"] == ["request 1"]


def test_what_cannot_be_erased_keeps_the_refresh_committed_until_somebody_can(workspace, tmp_path):
    (old,) = (workspace / "secret/saved/secret").glob("state-*")
    elsewhere = tmp_path / "elsewhere"
    shutil.move(old, elsewhere)
    old.symlink_to(elsewhere)
    with pytest.raises(Pending, match="the one before is not erased") as stuck:
        refresh(workspace)
    assert stuck.value.document["journal"][0]["state"] == "committed"
    assert stuck.value.document["unerased"] == [str(old)]
    assert elsewhere.exists()
    old.unlink()
    assert forget(workspace, ["00003"])["journal"][0]["state"] == "honoured"
    assert not old.is_symlink()


def test_an_index_that_cannot_be_replaced_keeps_the_refresh_committed(workspace, monkeypatch):
    index, replace = workspace / "secret/saved/secret/index.json", os.replace

    def immutable(source, target):
        if Path(target) == index:
            raise PermissionError(1, "Operation not permitted", str(source), None, str(target))
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", immutable)
        with pytest.raises(Pending, match=f"not erased: {index}: Operation not permitted"):
            refresh(workspace)
        assert status(workspace)["journal"][0]["state"] == "committed"
        assert str(index) in status(workspace)["unerased"]
        assert verify(workspace)["valid"]
    assert forget(workspace, ["00003"])["journal"][0]["state"] == "honoured"
    assert status(workspace)["unerased"] == []


def test_a_disk_that_is_full_before_the_commit_changes_nothing(workspace, monkeypatch):
    before = everything_in(workspace)

    def full(*_):
        raise OSError(28, "No space left on device", "state")

    with monkeypatch.context() as patch:
        patch.setattr("expunge.workspace.honour.write_generation", full)
        with pytest.raises(OSError, match="No space left"):
            refresh(workspace)
    files, rows = everything_in(workspace)
    assert files == before[0]
    assert {name: rows[name] for name in ("models", "journal")} == {
        name: before[1][name] for name in ("models", "journal")
    }


def test_a_model_that_would_change_is_refused_and_nothing_is_done(workspace, monkeypatch):
    before = everything_in(workspace)
    told = module.hashlib
    monkeypatch.setattr(module, "hashlib", _Other(told))
    with pytest.raises(InvalidInput, match="would change the model"):
        refresh(workspace)
    assert files_of(workspace) == before[0]
    assert ledger_rows(workspace)["models"] == before[1]["models"]


class _Other:
    def __init__(self, real):
        self.real = real

    def sha256(self, content):
        return self.real.sha256(content + b"!")


def test_whoever_is_overtaken_begins_again(workspace, monkeypatch):
    """Another request is honoured between the pass and the commit."""
    leased, tried = Folder.leased, []

    def fails_once(folder):
        tried.append(1)
        if len(tried) == 1:
            raise module.Overtaken("lease 1 was taken over")
        return leased(folder)

    monkeypatch.setattr(Folder, "leased", fails_once)
    monkeypatch.setattr(at_work, "PAUSE", 0.0)
    told = []
    assert refresh(workspace, progress=told.append)["journal"]
    assert told[0] == "waiting for the process that works on the requests"


def test_it_waits_for_whoever_works(workspace, monkeypatch):
    held = hold_lock(workspace)
    held.__enter__()
    monkeypatch.setattr(at_work.time, "sleep", lambda _: held.__exit__(None, None, None))
    told = []
    assert refresh(workspace, progress=told.append)["journal"]
    assert told[0].startswith("waiting")


def test_a_reader_that_began_before_looks_again(workspace):
    """The files that it was about to read are erased under its hands."""
    folder, passes = Folder.opened(workspace), []

    def look(model):
        passes.append(model.seal)
        if len(passes) == 1:
            refresh(workspace)
        return read(folder.saved, seal=model.seal)

    folder.steady(lambda _, model: model, look)
    assert len(set(passes)) == 2


def test_a_ledger_without_a_journal_gets_one(workspace):
    """As an earlier version wrote it."""
    change_ledger(workspace, "DELETE FROM seals WHERE name = 'journal'", sealed=False)
    _drop_journal(workspace)
    assert status(workspace)["journal"] == []
    assert verify(workspace)["valid"]
    forget(workspace, ["00003"])
    assert len(refresh(workspace)["journal"]) == 1
    assert verify(workspace)["valid"]


def _drop_journal(workspace):
    import sqlite3

    from sqlalchemy import URL, create_engine

    from expunge.ledger.sealing import renew_seal

    connection = sqlite3.connect(workspace / "ledger.sqlite")
    connection.execute("DROP TABLE journal")
    connection.commit()
    connection.close()
    engine = create_engine(URL.create("sqlite", database=str(workspace / "ledger.sqlite")))
    with engine.begin() as changed:
        renew_seal(changed)
    engine.dispose()


@pytest.mark.slow
@pytest.mark.parametrize("moments", ["crucial", "all"])
def test_whoever_is_killed_leaves_the_old_state_or_the_new_one(tmp_path, moments):
    workspace, scratch = usual(tmp_path), tmp_path / "scratch"
    forget(workspace, ["00003"])
    scratch.mkdir()
    look = [["status", "@", "--json"], ["verify", "@", "--json"]]
    guess = ["predict", "@", str(tmp_path / "public.csv"), "--output", "@.csv", "--json"]
    outcomes = killed(
        {
            "command": ["refresh", "@", "--json"],
            "then": [*look, guess, ["forget", "@", "00004", "--json"], *look],
            "start": str(workspace),
            "scratch": str(scratch),
            "moments": moments,
        }
    )
    assert [one["killed"] for one in outcomes] == [True] * (len(outcomes) - 1) + [False]
    states = [_state(one, status(workspace)["model"]) for one in outcomes]
    order = ["none", "committed", "honoured"]
    assert states == sorted(states, key=order.index)
    assert set(states) == set(order)


def _state(outcome, model):
    """What the kill left, after a look at everything that must hold in any state."""
    assert [one["status"] for one in outcome["then"]] == [0] * 6, outcome
    shown, checked, _, asked, again, checked_again = (
        json.loads(one["out"]) for one in outcome["then"]
    )
    assert shown["model"] == model
    assert checked["valid"]
    assert checked_again["valid"]
    assert asked["honoured"] == ["request 2"]
    kinds = Counter(name.split("/")[0] for name in outcome["after"] if "." in name and "/" in name)
    assert {kind: kinds[kind] for kind in ("models", "records", "certificates")} == {
        "models": 1,
        "records": 1,
        "certificates": 2,
    }
    assert len({name.split("/")[1] for name in outcome["after"] if "secret/" in name[:7]}) == 1
    journal = shown["journal"]
    assert [entry["state"] for entry in again["journal"]] == ["honoured"] * len(journal)
    assert bool(shown["unerased"]) <= ([e["state"] for e in journal] == ["committed"])
    return journal[0]["state"] if journal else "none"


def test_an_audit_of_the_same_model_is_made_again(workspace):
    """Its file names the secret state that it was made with."""
    audit(workspace, models=200, seed=1)
    refresh(workspace)
    assert verify(workspace)["valid"]


# ---- on a cluster -----------------------------------------------------------------------------


class Killing:
    """A cluster of which one worker dies in the middle of a pass, by `kill -9`.

    Args:
        marker: Is made by whoever dies, so that only one does.
    """

    together = 1

    def __init__(self, cluster, marker):
        self.cluster, self.marker, self.passes = cluster, marker, 0

    def map(self, compute, shared, parts):
        self.passes += 1
        third, marker = self.passes == 3, self.marker

        def computed(shared, numbered):
            number, part = numbered
            if third and number == 2 and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return compute(shared, part)

        return self.cluster.map(computed, shared, enumerate(parts))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_two_ray_workers_give_the_local_numbers_even_if_one_is_killed_in_fit_and_in_refresh(
    tmp_path, monkeypatch
):
    """The same bits, not only the same certificate: partial sums are added up in one order."""
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(passes, "STRETCH", 512)
    monkeypatch.setattr(saved_rows, "CHUNK_ROWS", 512)
    tables = people(2000, seed=2, prefix="0"), people(500, seed=1, prefix="9")
    (tmp_path / "local").mkdir()
    (tmp_path / "ray").mkdir()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        markers = {verb: tmp_path / f"died in {verb}" for verb in ("fit", "refresh")}
        elsewhere = {verb: Killing(Cluster(), marker) for verb, marker in markers.items()}
        seen = [
            through(tmp_path / "local", tables, dict.fromkeys(markers, HERE)),
            through(tmp_path / "ray", tables, elsewhere),
        ]
        assert all(marker.exists() for marker in markers.values())
    finally:
        ray.shutdown()
        torch.set_num_threads(before)
    assert seen[0] == seen[1]


def through(folder, tables, engines):
    """What is known after a fit, after a request and after a refresh."""
    workspace = fitted(folder, *tables, engine=engines["fit"])
    states = [known(anchor(workspace))]
    forget(workspace, ["00003", "01000"])
    refresh(workspace, engine=engines["refresh"])
    claim = json.loads((workspace / "certificates/1.json").read_text())["claim"]
    return claim, [*states, known(anchor(workspace))]


def known(state):
    """The bits of a state, without the time of its anchor and without what is random."""
    kept = {name: value for name, value in state.items() if name.startswith("secret.")}
    apart = {"secret.anchor", "secret.salt"}
    return {n: value.numpy().tobytes() for n, value in kept.items() if n not in apart}
