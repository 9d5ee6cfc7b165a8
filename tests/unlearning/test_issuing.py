"""What a certificate says of the model file."""

import hashlib
from dataclasses import replace

import pytest

from expunge.accounting.certificate import differences
from expunge.unlearning.issuing import issued
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


def test_a_noise_free_model_gets_a_salted_commitment_that_nobody_can_try(outcome):
    bare = replace(outcome, noise_free=True)
    first, second = (issued(bare, b"model", **SETTINGS) for _ in range(2))
    assert first.model_sha256 is None
    assert first.commitments["model"] != second.commitments["model"]
    assert first.commitments["model"] != hashlib.sha256(b"model").hexdigest()
