"""On disk: whole, matching, what may leave the house apart; and what an adversary may try."""

import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading

import pytest
import torch
from safetensors.torch import load_file, save_file

from expunge.accounting.canonical import sha256
from expunge.accounting.certificate import parse_certificate
from expunge.unlearning.networks import files, saved
from expunge.unlearning.networks.files import load
from tests.unlearning.networks.problems import bits, network, rows
from tests.unlearning.networks.test_saved import ROOT
from tests.unlearning.networks.test_saved import load as resume
from tests.unlearning.networks.test_unlearner import fitted, state


def test_what_was_saved_loads_with_its_certificate(tmp_path):
    made = fitted("head+finetune")
    certificate = made.forget("p1")
    made.save(tmp_path / "m")
    model = network(5)
    assert load(model, tmp_path / "m") == certificate
    assert bits(model.state_dict()) == bits(made.model.state_dict())
    content = (tmp_path / "m/model.safetensors").read_bytes()
    assert hashlib.sha256(content).hexdigest() == certificate.model_sha256
    network(6).load_state_dict(load_file(tmp_path / "m/model.safetensors"))


def test_nothing_secret_is_on_top_and_no_file_is_of_another_kind(tmp_path):
    made = fitted()
    made.forget("p1")
    made.save(tmp_path / "m")
    on_top = {"model.safetensors", "certificate.json", "secret"}
    assert {p.name for p in (tmp_path / "m").iterdir()} == on_top
    assert set(load_file(tmp_path / "m/model.safetensors")) == set(made.model.state_dict())
    index, state_file = sorted((tmp_path / "m/secret").iterdir(), key=lambda p: p.suffix)
    assert index.name == "unlearner.json"
    json.loads(index.read_text())
    load_file(state_file)
    shutil.rmtree(tmp_path / "m/secret")
    assert load(network(5), tmp_path / "m") == made.certificate


def test_before_a_deletion_there_is_no_certificate(tmp_path):
    made = fitted()
    made.save(tmp_path / "m")
    assert load(network(5), tmp_path / "m") is None


@pytest.mark.parametrize("strategy", ["head", "retrain"])  # a hash, and a commitment
def test_a_model_that_changed_is_neither_saved_nor_loaded_as_certified(tmp_path, strategy):
    made = fitted(strategy)
    certificate = made.forget("p1")
    made.save(tmp_path / "m")
    assert load(network(5), tmp_path / "m") == certificate
    fitted(strategy).save(tmp_path / "other")
    (tmp_path / "m/model.safetensors").write_bytes(
        (tmp_path / "other/model.safetensors").read_bytes()
    )
    model = network(5)
    before = bits(model.state_dict())
    with pytest.raises(ValueError, match="not the one that its certificate is about"):
        load(model, tmp_path / "m")
    assert bits(model.state_dict()) == before
    with torch.no_grad():
        made.model.fc.bias += 1
    with pytest.raises(ValueError, match="not the one that its certificate is about"):
        made.save(tmp_path / "n")
    assert not (tmp_path / "n").exists()


def test_a_folder_with_something_else_is_not_touched(tmp_path):
    for place in ("a", "b/secret"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "thesis.txt").write_text("years of work")
        with pytest.raises(ValueError, match="not touched"):
            fitted().save(tmp_path / place.split("/")[0])
        assert [p.name for p in (tmp_path / place).iterdir()] == ["thesis.txt"]


def test_another_architecture_is_refused(tmp_path):
    fitted().save(tmp_path / "m")
    with pytest.raises(ValueError, match="not a saved network of this kind"):
        load(network(hidden=7), tmp_path / "m")
    with pytest.raises(ValueError, match="not a saved network"):
        load(network(), tmp_path / "nowhere")


def test_a_later_save_replaces_everything(tmp_path):
    made = fitted(evaluate=rows(9))
    made.forget("p1")
    made.save(tmp_path)
    second = made.forget("p2")
    made.save(str(tmp_path))
    assert load(network(5), tmp_path) == second
    assert state(resume(tmp_path)) == state(made)
    assert len(list((tmp_path / "secret").iterdir())) == 2


def saved_after(tmp_path, requests=1, name="m", strategy="head"):
    made = fitted(strategy, random_state=3)
    for i in range(requests):
        made.forget(f"p{i}")
    made.save(tmp_path / name)
    return made, tmp_path / name


WRITES = ("state-", "unlearner.json", "model.safetensors", "certificate.json")


@pytest.mark.parametrize("moment", [*WRITES, "sync"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupted_save_leaves_the_old_state_or_the_new_one(
    tmp_path, monkeypatch, moment, when
):
    made, folder = saved_after(tmp_path)
    old = state(made)
    made.forget("p9")
    write_whole, sync = files.write_whole, files.sync

    def interrupted(path, content):
        if when == "after" or not path.name.startswith(moment):
            write_whole(path, content)
        if path.name.startswith(moment):
            raise KeyboardInterrupt

    def unsynced(path):
        sync(path)
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "write_whole", interrupted)
    if moment == "sync":
        monkeypatch.setattr(files, "sync", unsynced)
    with pytest.raises(KeyboardInterrupt):
        made.save(folder)
    monkeypatch.undo()
    found = state(resume(folder))
    assert found in (old, state(made))
    certificate, model = folder / "certificate.json", folder / "model.safetensors"
    if certificate.exists():
        stated = parse_certificate(certificate.read_text()).model_sha256
        assert stated == hashlib.sha256(model.read_bytes()).hexdigest()
    assert len(list((folder / "secret").iterdir())) == 2
    made.save(folder)
    assert state(resume(folder)) == state(made)


def test_an_interrupted_first_save_leaves_nothing(tmp_path, monkeypatch):
    def full(path, content):
        raise OSError("disk full")

    monkeypatch.setattr(files, "write_whole", full)
    with pytest.raises(OSError, match="disk full"):
        fitted().save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def edit(folder, change, *, sealed=False):
    """Change the document; with the seal renewed, as somebody with this library could."""
    path = folder / "secret/unlearner.json"
    document = json.loads(path.read_text())
    change(document)
    if sealed:
        document["sha256"] = files._seal(document)
    path.write_text(json.dumps(document))


def in_certificate(change):
    def apply(document):
        certificate = json.loads(document["certificate"])
        change(certificate)
        document["certificate"] = json.dumps(
            certificate, sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )

    return apply


EDITS = {
    "epsilon": in_certificate(lambda c: c["claim"].update(epsilon=1e-6)),
    "history": lambda d: d["outcome"]["account"]["phases"][0].update(sigma=1.0),
    "covered": lambda d: d.update(released_before=True),
    "released": lambda d: d["settings"].update(released=False),
    "target": lambda d: d["settings"].update(epsilon=0.1),
    "ids": lambda d: d["ids"].reverse(),
    "chain": lambda d: d.update(issued=[]),
    "format": lambda d: d.update(format=999),
    "path": lambda d: d["files"]["state"].update(name="../../state-00000000.safetensors"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_document_is_refused(tmp_path, name):
    _, folder = saved_after(tmp_path)
    edit(folder, EDITS[name])
    with pytest.raises(ValueError, match=r"was edited|format 999") as caught:
        resume(folder)
    assert str(folder) in str(caught.value)


RESEALED = {
    "epsilon": (EDITS["epsilon"], "not the last one issued"),
    "history": (EDITS["history"], "about another history"),
    "chain": (EDITS["chain"], "0 certificates for 1 requests"),
    "none": (lambda d: d.update(certificate=None, issued=[]), "0 certificates for 1 requests"),
    "delta": (lambda d: d["settings"].update(delta=1e-3), "about another request"),
    "strategy": (
        lambda d: d["settings"].update(
            strategy={"kind": "network.head+finetune", "training": {"kind": "Training"},
                      "head": d["settings"]["strategy"]}
        ),
        "about another request",
    ),
    "weights": (lambda d: d.update(model="0" * 64), "weights are not those"),
    "path": (EDITS["path"], "is no name of a state"),
    "start": (lambda d: d["module"]["fc.bias"].__setitem__(3, "0" * 64), "saved start"),
    "kind": (lambda d: d["settings"]["retraining"].update(kind="Popen"), "'Popen' is not known"),
    "ids": (EDITS["ids"], "record 'p58' is not what it was"),
    "field": (lambda d: d.pop("outcome"), "not a saved unlearner"),
}  # fmt: skip


@pytest.mark.parametrize("name", RESEALED)
def test_a_document_that_contradicts_its_state_is_refused_even_with_its_seal_renewed(
    tmp_path, name
):
    _, folder = saved_after(tmp_path)
    change, said = RESEALED[name]
    edit(folder, change, sealed=True)
    for on_top in ("model.safetensors", "certificate.json"):
        (folder / on_top).unlink()
    model = network()
    before = bits(model.state_dict())
    with pytest.raises(ValueError, match=said):
        resume(folder, model=model)
    assert bits(model.state_dict()) == before


def test_a_certificate_with_its_own_place_in_the_chain_must_still_recompute(tmp_path):
    """Whoever renews every hash is left with what the history itself supports."""
    _, folder = saved_after(tmp_path)

    def better(document):
        EDITS["epsilon"](document)
        document["issued"][-1] = sha256(json.loads(document["certificate"]))

    edit(folder, better, sealed=True)
    (folder / "certificate.json").unlink()
    with pytest.raises(ValueError, match=r"certificate's claim\.epsilon"):
        resume(folder)


@pytest.mark.parametrize("exchanged", ["state", "model", "certificate"])
def test_a_file_of_another_state_is_refused(tmp_path, exchanged):
    made, folder = saved_after(tmp_path)
    made.forget("p9")
    made.save(tmp_path / "later")
    if exchanged == "state":
        (source,) = (tmp_path / "later/secret").glob("state-*")
        (target,) = (folder / "secret").glob("state-*")
    else:
        name = {"model": "model.safetensors", "certificate": "certificate.json"}[exchanged]
        source, target = tmp_path / "later" / name, folder / name
    shutil.copy(source, target)
    with pytest.raises(ValueError, match=r"is not the file|is of another state"):
        resume(folder)


def test_weights_inside_the_state_cannot_be_exchanged_with_all_hashes_renewed(tmp_path):
    """The certificate names the model's own hash."""
    _, folder = saved_after(tmp_path)
    (path,) = (folder / "secret").glob("state-*")
    tensors = load_file(path)
    tensors["state.fc.bias"] += 1
    save_file(tensors, path)
    wrong = network()
    wrong.load_state_dict(load_file(folder / "model.safetensors"))
    with torch.no_grad():
        wrong.fc.bias += 1

    def renewed(document):
        document["files"]["state"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        document["model"] = hashlib.sha256(files.network_bytes(wrong)).hexdigest()

    edit(folder, renewed, sealed=True)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="not those that the certificate is about"):
        resume(folder)


def test_missing_files_on_top_are_no_obstacle(tmp_path):
    made, folder = saved_after(tmp_path)
    for on_top in ("model.safetensors", "certificate.json"):
        (folder / on_top).unlink()
    again = resume(folder)
    assert state(again) == state(made)
    again.save(folder)
    assert load(network(5), folder) == made.certificate


def test_a_state_from_before_a_request_is_refused_where_it_can_be_known(tmp_path):
    made, folder = saved_after(tmp_path)
    first = made.certificate
    shutil.copytree(folder, tmp_path / "backup")
    second = made.forget("p9")
    made.save(folder)
    # Only the secret half was put back: what is on top tells.
    shutil.rmtree(folder / "secret")
    shutil.copytree(tmp_path / "backup/secret", folder / "secret")
    with pytest.raises(ValueError, match="is of another state"):
        resume(folder)
    # All of it was: the last certificate tells, or the record that is gone.
    old = tmp_path / "backup"
    with pytest.raises(ValueError, match="has not issued this certificate"):
        resume(old, certificate=second)
    inputs, targets = rows(60, seed=1)
    left = [i for i in range(60) if i not in (0, 9)]
    gone = {"private": (inputs[left], targets[left]), "ids": [f"p{i}" for i in left]}
    with pytest.raises(ValueError, match="no record 'p9', which this state has not forgotten"):
        resume(old, **gone)
    # With neither it cannot be known; the docstrings say so.
    assert resume(old, certificate=first).certificate == first


def test_a_newer_state_has_issued_every_certificate_so_far(tmp_path):
    made, folder = saved_after(tmp_path, requests=0)
    first = made.forget("p1")
    second = made.forget("p2")
    made.save(folder)
    for one in (first, second):
        assert resume(folder, certificate=one).certificate == second
    other = fitted(random_state=4).forget("p1")
    with pytest.raises(ValueError, match="has not issued this certificate"):
        resume(folder, certificate=other)


def test_a_save_does_not_undo_a_request_that_another_process_honoured(tmp_path):
    made, folder = saved_after(tmp_path)
    other = resume(folder)
    made.forget("p8")
    other.forget("p9")
    other.save(folder)
    with pytest.raises(ValueError, match="has not honoured; load it from there"):
        made.save(folder)
    assert state(resume(folder)) == state(other)
    older = resume(tmp_path / "m")
    assert older.certificate == other.certificate


def test_an_edited_document_is_not_overwritten(tmp_path):
    made, folder = saved_after(tmp_path)
    edit(folder, EDITS["chain"])
    with pytest.raises(ValueError, match="not touched"):
        made.save(folder)


def test_an_edited_certificate_is_not_loaded_by_whoever_is_given_it(tmp_path):
    _, folder = saved_after(tmp_path)
    path = folder / "certificate.json"
    document = json.loads(path.read_text())
    document["claim"]["epsilon"] = 1e-6
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"certificate's claim\.epsilon"):
        load(network(5), folder)


def test_a_folder_that_is_no_saved_unlearner_is_named(tmp_path):
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(ValueError, match="not a saved unlearner") as caught:
            resume(folder)
        assert str(folder) in str(caught.value)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/unlearner.json").write_text("{not json")
    with pytest.raises(ValueError, match="not valid JSON"):
        resume(tmp_path)


def test_what_ran_on_a_gpu_goes_on_without_one_where_that_is_said(tmp_path, monkeypatch):
    made, folder = saved_after(tmp_path)
    edit(folder, lambda document: document["settings"].update(device="cuda"), sealed=True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="'cuda' is not available; use 'cpu'"):
        resume(folder)
    assert state(resume(folder, device="cpu")) == state(made)


@pytest.mark.parametrize("moment", WRITES)
def test_while_one_saves_nobody_else_saves_or_loads(tmp_path, monkeypatch, moment):
    _, folder = saved_after(tmp_path)
    first, second = resume(folder), resume(folder)
    first.forget("p8")
    second.forget("p9")
    write_whole, refused = files.write_whole, []

    def meanwhile(path, content):
        monkeypatch.setattr(files, "write_whole", write_whole)
        if not path.name.startswith(moment):
            write_whole(path, content)
            monkeypatch.setattr(files, "write_whole", meanwhile)
            return
        for verb in (second.save, resume):
            with pytest.raises(ValueError, match="another process is saving or loading") as caught:
                verb(folder)
            refused.append(str(caught.value))
        write_whole(path, content)

    monkeypatch.setattr(files, "write_whole", meanwhile)
    first.save(folder)
    assert len(refused) == 2
    assert state(resume(folder)) == state(first)
    with pytest.raises(ValueError, match="has not honoured; load it from there"):
        second.save(folder)
    assert {p.name[:6] for p in (folder / "secret").iterdir()} == {"state-", "unlear"}


def test_a_lock_that_was_taken_away_meanwhile_is_none(tmp_path, monkeypatch):
    """Somebody opens it, its holder deletes it, a third makes another: only one may go on."""
    made, folder = saved_after(tmp_path)
    flock = files.fcntl.flock

    def late(handle, kind):
        (folder / "secret/.lock").unlink()
        (folder / "secret/.lock").touch()
        flock(handle, kind)

    monkeypatch.setattr(files.fcntl, "flock", late)
    with pytest.raises(ValueError, match="another process is saving or loading"):
        made.save(folder)
    monkeypatch.undo()
    made.save(folder)  # the file alone is no obstacle: its process is gone


def test_a_request_in_another_thread_waits_for_the_save(tmp_path, monkeypatch):
    made = fitted(random_state=3)
    before = made.fitted_.job.roster.present.clone()
    tensors_to_save = saved.tensors_to_save
    other = threading.Thread(target=lambda: made.forget("p1"))

    def meanwhile(*known):
        other.start()
        other.join(timeout=0.5)
        return tensors_to_save(*known)

    monkeypatch.setattr(saved, "tensors_to_save", meanwhile)
    made.save(tmp_path / "m")
    other.join()
    assert torch.equal(resume(tmp_path / "m").fitted_.job.roster.present, before)
    assert made.certificate.forgotten == 1


def test_requests_of_another_fit_are_not_overwritten(tmp_path):
    made, folder = saved_after(tmp_path)
    content = (folder / "certificate.json").read_bytes()
    again = fitted()
    with pytest.raises(ValueError, match="requests of another fit; choose another folder"):
        again.save(folder)
    again.forget("p5")
    (folder / "certificate.json").unlink()  # its state tells as well
    with pytest.raises(ValueError, match="requests of another fit; choose another folder"):
        again.save(folder)
    assert state(resume(folder)) == state(made)
    (folder / "certificate.json").write_bytes(content)
    shutil.rmtree(folder / "secret")  # what was published is no less a promise
    with pytest.raises(ValueError, match="requests of another fit; choose another folder"):
        again.save(folder)
    assert (folder / "certificate.json").read_bytes() == content
    assert not (folder / "secret").exists()
    made.save(folder)
    assert state(resume(folder)) == state(made)


def test_a_fit_without_requests_may_be_replaced(tmp_path):
    _, folder = saved_after(tmp_path, requests=0)
    again = fitted(random_state=4)
    again.save(folder)
    assert state(resume(folder)) == state(again)


def test_what_a_killed_save_left_behind_is_gone_after_loading(tmp_path):
    """Killed after unlearner.json names the new state: the old one has what was forgotten."""
    folder = tmp_path / "m"
    code = f"""
import os, signal
from expunge.unlearning.networks import files
from tests.unlearning.networks.test_unlearner import fitted
made = fitted(random_state=3)
made.save({str(folder)!r})
made.forget("p1")
files._sweep = lambda folder: os.kill(os.getpid(), signal.SIGKILL)
made.save({str(folder)!r})
"""
    killed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    feature = fitted(random_state=3).fitted_.outcome.secret["rows.features"][41].numpy().tobytes()
    inside = folder / "secret"
    assert any(feature in path.read_bytes() for path in inside.iterdir())
    assert resume(folder).certificate.forgotten == 1
    assert not any(feature in path.read_bytes() for path in inside.iterdir())
    assert len(list(inside.iterdir())) == 2


def test_only_the_owner_reads_what_is_secret(tmp_path):
    inside = tmp_path / "m/secret"
    inside.mkdir(mode=0o755, parents=True)
    mask = os.umask(0o022)
    try:
        fitted().save(tmp_path / "m")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(inside.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in inside.iterdir()} == {0o600}
    assert stat.S_IMODE((tmp_path / "m/model.safetensors").stat().st_mode) == 0o644
