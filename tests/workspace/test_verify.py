"""Verifying: whatever was changed is named."""

import hashlib
import json
import shutil

import numpy as np
import pytest

from expunge.errors import MissingPackage
from expunge.workspace import verify as module
from expunge.workspace.forget import forget
from expunge.workspace.verify import verify
from tests.cli.test_main import expunge
from tests.workspace.tables_made import change_ledger, everything_in, ledger_rows, usual


@pytest.fixture
def workspace(tmp_path):
    return usual(tmp_path)


@pytest.fixture
def certified(workspace):
    forget(workspace, ["00003"], name="first")
    forget(workspace, ["00004"], name="second")
    return workspace


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_a_fitted_workspace_is_valid_and_claims_nothing(workspace):
    found = verify(workspace)
    covered = found.pop("covered")
    tables = ledger_rows(workspace)
    assert covered["ledger_rows"] == sum(map(len, tables.values())) - len(tables["seals"])
    assert covered["files"] == sorted(
        str(path.relative_to(workspace)) for path in workspace.rglob("*") if path.is_file()
    )
    assert found == {
        "valid": True,
        "first_difference": None,
        "differences": [],
        "claim": None,
        "together": None,
        "certificates": 0,
        "pending": 0,
        "proof": None,
        "committed": [],
        "unerased": [],
    }


def test_a_workspace_that_forgot_is_valid_and_says_what_is_claimed(certified):
    before = everything_in(certified)
    found = verify(certified)
    assert found["valid"]
    assert found["certificates"] == 2
    stored = json.loads((certified / "certificates/2.json").read_text())
    assert found["claim"]["epsilon"] == stored["claim"]["epsilon"]
    assert everything_in(certified) == before


@pytest.mark.parametrize("place", [0, 8, 40, 100, -1])
def test_one_altered_byte_of_the_model_is_named(certified, place):
    (file,) = (certified / "models").iterdir()
    flip(file, place)
    found = verify(certified)
    assert not found["valid"]
    assert found["first_difference"] == str(file)
    assert "another hash" in found["differences"][0]["problem"]


def test_a_certificate_that_nobody_issued_is_named(certified):
    issued = max((certified / "certificates").iterdir())
    forged = certified / "certificates/99.json"
    forged.write_bytes(issued.read_bytes())
    assert verify(certified)["first_difference"] == str(forged)
    forged.unlink()
    (certified / "certificates/notes.json").write_text("{}")
    assert verify(certified)["valid"]


def test_a_missing_model_is_named(certified):
    (file,) = (certified / "models").iterdir()
    file.unlink()
    assert verify(certified)["first_difference"] == str(file)


@pytest.mark.parametrize("number", [1, 2])
def test_any_altered_byte_of_a_certificate_file_is_named(certified, number):
    file = certified / f"certificates/{number}.json"
    content = file.read_bytes()
    for place in range(0, len(content) - 1, 97):
        flip(file, place)
        found = verify(certified)
        assert not found["valid"], content[place - 20 : place + 20]
        assert found["first_difference"].startswith(str(file))
        file.write_bytes(content)
    assert verify(certified)["valid"]


def test_a_certificate_of_another_workspace_is_noticed(certified, tmp_path):
    (tmp_path / "other").mkdir()
    other = usual(tmp_path / "other")
    forget(other, ["00003"], name="first")
    shutil.copy(other / "certificates/1.json", certified / "certificates/1.json")
    found = verify(certified)
    assert found["first_difference"] == f"{certified}/certificates/1.json: certificate"


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("claim", "epsilon"), 0.001),
        (("forgotten",), 77),
        (("requests",), ["first", "third"]),
        (("strategy",), "retrain"),
        (("model_sha256",), "0" * 64),
    ],
)
def test_an_altered_certificate_in_the_ledger_is_noticed(certified, number, path, value):
    document = json.loads(dict(row[::2] for row in ledger_rows(certified)["certificates"])[number])
    inner = document
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    change_ledger(certified, "UPDATE certificates SET document = ? WHERE number = ?", text, number)
    found = verify(certified)
    assert not found["valid"]
    assert f"{number}.json" in found["first_difference"]


def test_a_model_that_the_certificate_is_not_about_is_named(certified):
    (file,) = (certified / "models").iterdir()
    content = file.read_bytes()[:-1] + b"\0"
    sha256 = hashlib.sha256(content).hexdigest()
    (certified / f"models/{sha256}.safetensors").write_bytes(content)
    change_ledger(certified, "UPDATE models SET sha256 = ? WHERE number = 3", sha256)
    found = verify(certified)
    assert found["first_difference"] == "model_sha256"


def test_a_certificate_in_the_ledger_that_cannot_be_read_is_named(certified):
    change = "UPDATE certificates SET document = replace(document, 'epsilon', 'epsilom')"
    change_ledger(certified, change)
    found = verify(certified)
    assert not found["valid"]
    assert found["claim"] is None


def test_a_request_that_is_honoured_meanwhile_is_no_false_alarm(workspace, monkeypatch):
    check, calls = module._file_difference, []

    def meanwhile(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            forget(workspace, ["00003"])
        return check(*arguments)

    monkeypatch.setattr(module, "_file_difference", meanwhile)
    found = verify(workspace)
    assert found["valid"]
    assert found["certificates"] == 1


def test_a_record_that_came_back_is_noticed(certified):
    change_ledger(certified, "DELETE FROM requested WHERE record = '00003'")
    assert verify(certified)["first_difference"] == "forgotten"


def test_pending_requests_are_counted(workspace):
    change_ledger(workspace, "INSERT INTO requests VALUES (1, 'request 1', '', 'pending')")
    found = verify(workspace)
    assert found["valid"]
    assert found["pending"] == 1


def test_a_certificate_that_needs_another_package_is_not_called_wrong(certified, monkeypatch):
    """Neither the current one nor, as here, an earlier one."""
    check = module.differences

    def check_with_the_first_orphaned(certificate):
        if certificate.sequence == 1:
            raise MissingPackage("bound", "needs the package other")
        return check(certificate)

    monkeypatch.setattr(module, "differences", check_with_the_first_orphaned)
    with pytest.raises(MissingPackage, match="needs the package other"):
        verify(certified)


def test_what_all_models_say_together_is_computed_and_said(certified):
    together = verify(certified)["together"]
    claims = [
        json.loads((certified / f"certificates/{number}.json").read_text())["claim"]
        for number in (1, 2)
    ]
    assert together["models"] == 2
    assert together["mu"] == pytest.approx(np.hypot(*(claim["mu"] for claim in claims)), rel=1e-9)
    assert together["epsilon"] > max(claim["epsilon"] for claim in claims)
    outcome = expunge("verify", certified)
    assert together["statement"] in outcome.out


def test_somebody_who_holds_the_certificates_alone_is_told_the_same(certified):
    first, second = (certified / f"certificates/{number}.json" for number in (1, 2))
    outcome = expunge("verify", second, "--earlier", first, "--json")
    assert outcome.status == 0
    assert outcome.document["together"] == verify(certified)["together"]
    swapped = expunge("verify", first, "--earlier", second, "--json")
    assert swapped.status == 1
    assert swapped.document["first_difference"] == "certificate 1: sequence"
    assert "has its own" in expunge("verify", certified, "--earlier", first).complaint
