"""What verification ties: every certificate that says one thing and shows another is found."""

import json
import sys

import pytest

from expunge.accounting.certificate import Certificate
from expunge.accounting.verification import (
    differences,
    file_differences,
    proof_level,
    read_certificate,
)
from expunge.errors import InvalidInput
from tests.accounting.test_certificate import full, issued, resealed
from tests.accounting.test_kinds import HISTORIES, KIND_OF, KINDS, issue, stated


def relabelled(strategy: str, /, **changes) -> list[str]:
    """Fields found wrong after these were changed and all fingerprints renewed."""
    assumptions, history = HISTORIES[KIND_OF.get(strategy, strategy)]
    certificate = issue(assumptions, history, delta=1e-5, stated=stated(strategy))
    return [found.field for found in differences(resealed(certificate.model_copy(update=changes)))]


@pytest.mark.parametrize("strategy", KINDS)
def test_thirty_thousand_forgotten_instead_of_ten_are_found(strategy):
    assert relabelled(strategy, forgotten=30_000) == ["forgotten"]


@pytest.mark.parametrize("strategy", KINDS)
def test_another_comparator_is_found(strategy):
    assert relabelled(strategy, comparator="any model at all") == ["comparator"]


@pytest.mark.parametrize(
    ("strategy", "other"), [(a, b) for a in KINDS for b in KINDS if KINDS[a] != KINDS[b]]
)
def test_another_strategys_name_is_found(strategy, other):
    assert relabelled(strategy, strategy=other)


@pytest.mark.parametrize("strategy", KINDS)
def test_two_different_models_are_found(strategy):
    two = relabelled(strategy, model_sha256="ab" * 32, commitments={"model": "cd" * 32})
    assert two == ["model_sha256"]


def test_the_model_it_names_is_the_file_with_that_hash_and_no_other():
    assert file_differences(full(), "ab" * 32) == []
    assert [d.field for d in file_differences(full(), "cd" * 32)] == ["model_sha256"]
    (missing,) = file_differences(issued(), "ab" * 32)
    assert "names no model" in missing.problem


@pytest.mark.parametrize("field", ["reservations", "scope", "not_claimed"])
def test_what_was_left_out_is_found(field):
    """A certificate may not keep quiet about what speaks against it."""
    whole = getattr(full(), field)
    liar = resealed(full().model_copy(update={field: whole[:-1]}))
    assert [difference.field.split(".")[0] for difference in differences(liar)] == [field]


def test_a_constant_that_was_left_out_is_found():
    given = full().assumptions
    kept = {name: constant for name, constant in given.items() if name != "initial_distance"}
    liar = resealed(full().model_copy(update={"assumptions": kept}))
    missing = {"assumptions.initial_distance.value", "assumptions.initial_distance.mark"}
    assert {difference.field for difference in differences(liar)} == missing


def test_orders_that_are_no_numbers_are_named():
    claim = full().claim.model_copy(update={"renyi": {"a": 1.0}})
    liar = resealed(full().model_copy(update={"claim": claim}))
    assert [difference.field for difference in differences(liar)] == ["claim.renyi"]


def test_what_is_no_certificate_is_refused():
    for text in ("[]", "{}", json.dumps({"schema_version": "1"}), "not JSON"):
        with pytest.raises(InvalidInput):
            read_certificate(text)


# ---- Proofs --------------------------------------------------------------------------------------


@pytest.fixture
def without_flint(monkeypatch):
    """A machine on which python-flint is not installed."""
    monkeypatch.setitem(sys.modules, "flint", None)


def issued_by(strategy: str, **given) -> Certificate:
    assumptions, history = HISTORIES[KIND_OF.get(strategy, strategy)]
    return issue(assumptions, history, delta=1e-5, stated=stated(strategy), **given)


def with_claim(certificate: Certificate, **changes) -> Certificate:
    claim = certificate.claim.model_copy(update=changes)
    return resealed(certificate.model_copy(update={"claim": claim}))


def fields(certificate: Certificate) -> list[str]:
    return [difference.field for difference in differences(certificate)]


@pytest.mark.parametrize("strategy", KINDS)
def test_every_strategys_certificate_is_proven_from_its_witness(strategy):
    certificate = issued_by(strategy)
    assert certificate.proof == "proven"
    assert proof_level(certificate) == "proven"
    assert certificate.witness is not None
    assert differences(certificate) == []


@pytest.mark.parametrize("strategy", [name for name in KINDS if name != "retrain"])
def test_a_mu_below_its_proof_is_found_to_the_last_bit(strategy):
    certificate = issued_by(strategy)
    assert certificate.claim.mu
    for lower in (1e-15, 1e-13, 1e-6):
        liar = with_claim(certificate, mu=certificate.claim.mu * (1 - lower))
        assert fields(liar)[0] == "claim.mu"


def test_a_rényi_divergence_below_its_proof_is_found():
    certificate = issued_by("langevin")
    assert certificate.claim.mu
    renyi = {**certificate.claim.renyi, "2": certificate.claim.mu**2 * (1 - 1e-13)}
    assert fields(with_claim(certificate, renyi=renyi))[0] == "claim.renyi.2"


@pytest.mark.parametrize("strategy", KINDS)
def test_another_witness_is_found(strategy):
    certificate = issued_by(strategy)
    (stretch,) = certificate.witness.stretches
    steps = sum(stretch.edges) if stretch.edges else 1
    for edges in ([*stretch.edges, 1], [steps + 1], [1, *stretch.edges]):
        other = stretch.model_copy(update={"edges": edges})
        witness = certificate.witness.model_copy(update={"stretches": [other]})
        liar = resealed(certificate.model_copy(update={"witness": witness}))
        assert fields(liar) == ["witness.stretches[0].edges"]
    assert fields(resealed(certificate.model_copy(update={"witness": None})))


def test_a_witness_that_proves_less_is_not_the_certificates():
    """Every step an edge: feasible, and far from the reported mu."""
    certificate = issued_by("langevin")
    (stretch,) = certificate.witness.stretches
    steps = sum(stretch.edges)
    other = stretch.model_copy(update={"edges": [1] * steps})
    witness = certificate.witness.model_copy(update={"stretches": [other]})
    liar = resealed(certificate.model_copy(update={"witness": witness}))
    assert "claim.mu" in fields(liar) or "witness.stretches[0].edges" in fields(liar)


@pytest.mark.parametrize("strategy", KINDS)
def test_without_python_flint_a_proven_certificate_is_recomputed(strategy, monkeypatch):
    certificate = issued_by(strategy, proven=True)
    assert certificate.proof == "proven"
    monkeypatch.setitem(sys.modules, "flint", None)
    assert proof_level(certificate) == "recomputed"
    assert differences(certificate) == []
    if certificate.claim.mu:
        assert fields(with_claim(certificate, mu=certificate.claim.mu * (1 - 1e-6)))


@pytest.mark.parametrize("strategy", KINDS)
def test_a_certificate_issued_without_python_flint_can_be_proven_later(strategy):
    certificate, proven = issued_by(strategy, proven=False), issued_by(strategy)
    assert certificate.proof == "recomputed"
    assert certificate.witness == proven.witness
    assert proven.claim.mu <= certificate.claim.mu <= proven.claim.mu * (1 + 1e-9)
    assert proven.claim.epsilon <= certificate.claim.epsilon
    assert differences(certificate) == []
    assert proof_level(certificate) == "proven"


def test_where_it_is_missing_the_certificate_says_so(without_flint):
    certificate = issued_by("langevin")
    assert certificate.proof == "recomputed"
    assert proof_level(certificate) == "recomputed"
    assert differences(certificate) == []
    with pytest.raises(InvalidInput, match="needs python-flint"):
        issued_by("langevin", proven=True)
