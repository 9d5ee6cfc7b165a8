"""`expunge verify`: a certificate is recomputed, and the first wrong field is named."""

import copy
import json
import sys

import pytest

from tests.cli.test_main import EXAMPLE, expunge
from tests.cli.workspaces import made, printed, refused, tables
from tests.workspace.tables_made import change_ledger


@pytest.fixture
def certificate(tmp_path):
    file = tmp_path / "certificate.json"
    history = json.dumps(EXAMPLE)
    assert expunge("account", "-", "--certificate", file, stdin=history).status == 0
    return file


def test_verify_accepts_what_account_wrote(certificate):
    outcome = expunge("verify", certificate, "--json")
    assert outcome.status == 0
    assert outcome.err == ""
    assert outcome.document["valid"] is True
    assert outcome.document["first_difference"] is None
    assert outcome.document["differences"] == []


def test_verify_reads_standard_input_and_prints_the_statement(certificate):
    outcome = expunge("verify", "-", stdin=certificate.read_text())
    assert outcome.status == 0
    assert outcome.out.startswith("valid")
    for line in json.loads(certificate.read_text())["claim"]["statement"]:
        assert line in outcome.out


def test_verify_says_whether_it_proved_or_recomputed(certificate, monkeypatch):
    assert expunge("verify", certificate, "--json").document["proof"] == "proven"
    assert "(proven from its witness)" in expunge("verify", certificate).out
    monkeypatch.setitem(sys.modules, "flint", None)
    assert expunge("verify", certificate, "--json").document["proof"] == "recomputed"
    assert "(recomputed; expunge[proof] would prove it)" in expunge("verify", certificate).out


def test_a_witness_that_proves_another_mu_exits_1_and_is_named(certificate):
    document = json.loads(certificate.read_text())
    (stretch,) = document["witness"]["stretches"]
    stretch["edges"] = [1, *stretch["edges"]]
    certificate.write_text(json.dumps(document))
    outcome = expunge("verify", certificate, "--json")
    assert outcome.status == 1
    assert outcome.document["first_difference"] == "witness.stretches[0].edges"


@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_an_altered_number_exits_1_and_is_named_first(certificate, json_option):
    document = json.loads(certificate.read_text())
    document["claim"]["epsilon"] /= 2
    certificate.write_text(json.dumps(document))
    outcome = expunge("verify", certificate, *json_option)
    assert outcome.status == 1
    if json_option:
        assert outcome.document["valid"] is False
        assert outcome.document["first_difference"] == "claim.epsilon"
    else:
        assert outcome.out.startswith("NOT VALID: claim.epsilon ")


def test_verify_accepts_any_layout_of_the_same_certificate(certificate):
    document = json.loads(certificate.read_text())
    certificate.write_text(json.dumps(document, indent=3))
    assert expunge("verify", certificate).status == 0


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda d: d.update(extra=1), "extra"),
        (lambda d: d.pop("claim"), "claim"),
        (lambda d: d["claim"].update(epsilon=-1.0), "claim.epsilon"),
        (lambda d: d["claim"].update(delta=1.0), "claim.delta"),
        (lambda d: d["history"].update(phases=[]), "history.phases"),
        (lambda d: d["history"]["phases"][0].update(steps=True), "history.phases[0].steps"),
        (lambda d: d.update(schema_version="3"), "schema_version"),
        (lambda d: d.update(observer="some"), "observer"),
        (lambda d: d["claim"].update(epsilon=float("nan")), "claim.epsilon"),
    ],
)
def test_what_is_no_certificate_exits_2_and_names_the_field(certificate, change, named):
    document = copy.deepcopy(json.loads(certificate.read_text()))
    change(document)
    assert f" {named}:" in expunge("verify", "-", "--json", stdin=json.dumps(document)).complaint


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"claim": 1, "claim": 2}'])
def test_what_is_no_json_object_exits_2(text):
    assert expunge("verify", "-", stdin=text).complaint


def test_a_missing_file_exits_2(tmp_path):
    assert "none.json" in expunge("verify", tmp_path / "none.json").complaint


def test_a_certificate_of_no_model_says_so_when_asked_about_one(certificate):
    outcome = expunge("verify", certificate, "--model", certificate)
    assert outcome.status == 1
    assert outcome.out.startswith("NOT VALID: model_sha256 is missing")


# ---- workspaces ---------------------------------------------------------------------------------


@pytest.fixture
def workspace(tmp_path):
    made_here = made(tmp_path)
    assert expunge("forget", made_here, "00003").status == 0
    return made_here


def test_a_whole_workspace_is_verified(workspace):
    document = printed("verify", workspace)
    assert document["valid"] is True
    assert document["differences"] == []
    assert document["certificates"] == 1
    outcome = expunge("verify", workspace)
    assert outcome.out.startswith("valid: every number follows")
    for line in document["claim"]["statement"]:
        assert line in outcome.out


@pytest.mark.parametrize("strategy", ["residual", "retrain"])  # a hash, and a commitment
def test_whoever_has_certificate_and_model_can_tell_that_they_belong_together(tmp_path, strategy):
    workspace = tmp_path / "shop"
    printed("fit", workspace, *tables(tmp_path), "--strategy", strategy)
    printed("forget", workspace, "00003")
    certificate = workspace / "certificates/1.json"
    (model,) = (workspace / "models").iterdir()
    assert printed("verify", certificate, "--model", model)["valid"] is True
    assert "the model that it names" in expunge("verify", certificate, "--model", model).out
    assert printed("verify", workspace)["valid"] is True
    outcome = expunge("verify", certificate, "--model", certificate)
    named = "model_sha256" if strategy == "residual" else "commitments"
    assert outcome.status == 1
    assert outcome.out.startswith(f"NOT VALID: {named} is that of another model's file")
    assert "a workspace has its own" in refused("verify", workspace, "--model", model)
    assert "none.safetensors" in refused("verify", certificate, "--model", "none.safetensors")


def test_a_workspace_that_forgot_nothing_certifies_nothing(tmp_path):
    outcome = expunge("verify", made(tmp_path))
    assert outcome.status == 0
    assert "nothing is certified" in outcome.out


@pytest.mark.parametrize("kind", ["model", "certificate file", "certificate in the ledger"])
def test_an_altered_workspace_exits_1_and_names_what_was_altered(workspace, kind):
    file = workspace / "certificates/1.json"
    if kind == "model":
        (file,) = (workspace / "models").iterdir()
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
    elif kind == "certificate file":
        file.write_text(file.read_text().replace('"forgotten": 1', '"forgotten": 2', 1))
    else:
        change = "UPDATE certificates SET document = replace(document, ?, ?)"
        change_ledger(workspace, change, '"forgotten":1', '"forgotten":2')
    outcome = expunge("verify", workspace, "--json")
    assert outcome.status == 1
    assert outcome.err == ""
    assert outcome.document["valid"] is False
    assert str(file) in outcome.document["first_difference"]
    outcome = expunge("verify", workspace)
    assert outcome.status == 1
    assert outcome.out.startswith(f"NOT VALID: {file}")


def test_pending_requests_are_told(workspace):
    change_ledger(workspace, "INSERT INTO requests VALUES (2, 'new', '2026-01-01', 'pending')")
    assert (
        "pending requests: 1; honour them with expunge forget" in expunge("verify", workspace).out
    )


def test_a_folder_that_is_no_workspace_exits_2(tmp_path):
    assert "not a workspace" in refused("verify", tmp_path)
