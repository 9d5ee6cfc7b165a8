"""What verification ties: every certificate that says one thing and shows another is found."""

import json

import pytest

from expunge.accounting.verification import differences, file_differences, read_certificate
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
