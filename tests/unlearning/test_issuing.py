"""What a certificate says of the model file."""

import hashlib
from dataclasses import replace

import pytest

from expunge.accounting.certificate import differences, file_differences
from expunge.unlearning.issuing import issued
from expunge.unlearning.model_file import model_bytes
from expunge.unlearning.residual import Residual
from tests.unlearning.problems import job_of, without

SETTINGS = {
    "delta": 1e-5,
    "strategy": "residual",
    "forgotten": 1,
    "requests": ["r1"],
    "covered": False,
    "declared": ("mine",),
}


@pytest.fixture(scope="module")
def outcome():
    return Residual().forget(without(job_of(), [50]), Residual().fit(job_of()))


def test_a_noised_model_is_named_by_its_plain_hash(outcome):
    certificate = issued(outcome, b"model", **SETTINGS)
    assert certificate.model_sha256 == hashlib.sha256(b"model").hexdigest()
    assert not certificate.commitments
    assert not differences(certificate)
    assert certificate.declared == [*outcome.declared, "mine"]
    assert certificate.earlier_releases == "not covered"


def file_sha256(*model):
    return hashlib.sha256(model_bytes(*model)).hexdigest()


def bare(outcome):
    return replace(outcome, noise_free=True, secret={})


def test_a_noise_free_model_gets_a_salted_commitment_that_nobody_can_try(outcome):
    same = [bare(outcome) for _ in range(2)]
    first, second = (issued(o, model_bytes(o.theta, o.salt), **SETTINGS) for o in same)
    assert first.model_sha256 is None
    assert first.commitments["model"] != second.commitments["model"]
    assert first.commitments["model"] != file_sha256(outcome.theta)
    assert not differences(first)


def test_whoever_has_the_file_can_open_the_commitment_and_another_file_does_not(outcome):
    found = bare(outcome)
    certificate = issued(found, model_bytes(found.theta, found.salt), **SETTINGS)
    assert not file_differences(certificate, file_sha256(found.theta, found.salt))
    assert file_differences(certificate, file_sha256(found.theta + 1, found.salt))
    (one,) = file_differences(certificate, file_sha256(found.theta))  # without the salt
    assert one.field == "commitments"


def test_a_noise_free_file_without_its_salt_is_never_certified(outcome):
    with pytest.raises(AssertionError):
        issued(bare(outcome), model_bytes(outcome.theta), **SETTINGS)
