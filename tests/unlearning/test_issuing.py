"""What a certificate says of the model file."""

import hashlib
from dataclasses import dataclass, replace

import pytest

from expunge.accounting.certificate import Certificate
from expunge.accounting.reservations import Provenance
from expunge.accounting.verification import differences, file_differences
from expunge.unlearning.issuing import certify
from expunge.unlearning.model_file import model_bytes, salted
from expunge.unlearning.residual import Residual
from tests.unlearning.problems import job_of, without

REQUEST = {"forgotten": 1, "request": "r1", "declared": ("mine",)}


FRESH = Provenance(noise="operating system", state="sole")


@dataclass(frozen=True)
class Fit:
    """The circumstances of a first request."""

    strategy_name: str = "residual"
    delta: float = 1e-5
    budget: float = 1.0
    records: int = len(job_of().keep)
    covered: bool = False
    provenance: Provenance = FRESH
    lineage: str = "ab" * 16
    certificate: Certificate | None = None


@pytest.fixture(scope="module")
def outcome():
    return Residual().forget(without(job_of(), [50]), Residual().fit(job_of()))


def test_a_noised_model_is_named_by_its_plain_hash(outcome):
    certificate = certify(outcome, b"model", Fit(), **REQUEST)
    assert certificate.model_sha256 == hashlib.sha256(b"model").hexdigest()
    assert not certificate.commitments
    assert not differences(certificate)
    assert certificate.declared == [*outcome.declared, "mine"]
    assert certificate.earlier_releases == "not covered"


def test_what_is_kept_is_listed(outcome):
    certificate = certify(outcome, b"model", Fit(), **REQUEST)
    assert [kept.what for kept in certificate.retained] == list(outcome.retained)
    assert "the un-noised solution" in outcome.retained


def test_certificates_of_one_fit_are_a_chain(outcome):
    first = certify(outcome, b"model", Fit(), **REQUEST)
    left = Residual().forget(without(job_of(), [50, 51]), Residual().fit(job_of()))
    request = {"forgotten": 2, "request": "r2", "declared": ()}
    second = certify(left, b"other", Fit(certificate=first), **request)
    assert (first.sequence, first.generation, first.previous) == (1, 1, None)
    assert (second.sequence, second.generation, second.previous) == (2, 2, first.sha256)
    assert first.workspace == second.workspace == "ab" * 16
    assert second.requests == ["r1", "r2"]


def file_sha256(*model):
    return hashlib.sha256(model_bytes(*model)).hexdigest()


def bare(outcome):
    return replace(outcome, noise_free=True, secret=salted())


def test_a_noise_free_model_gets_a_salted_commitment_that_nobody_can_try(outcome):
    same = [bare(outcome) for _ in range(2)]
    first, second = (certify(o, model_bytes(o.theta, o.salt), Fit(), **REQUEST) for o in same)
    assert first.model_sha256 is None
    assert first.commitments["model"] != second.commitments["model"]
    assert first.commitments["model"] != file_sha256(outcome.theta)
    assert not differences(first)


def test_whoever_has_the_file_can_open_the_commitment_and_another_file_does_not(outcome):
    salted = bare(outcome)
    certificate = certify(salted, model_bytes(salted.theta, salted.salt), Fit(), **REQUEST)
    assert not file_differences(certificate, file_sha256(salted.theta, salted.salt))
    assert file_differences(certificate, file_sha256(salted.theta + 1, salted.salt))
    (difference,) = file_differences(certificate, file_sha256(salted.theta))  # without the salt
    assert difference.field == "commitments"


def test_a_noise_free_file_without_its_salt_is_never_certified(outcome):
    with pytest.raises(AssertionError):
        certify(bare(outcome), model_bytes(outcome.theta), Fit(), **REQUEST)
