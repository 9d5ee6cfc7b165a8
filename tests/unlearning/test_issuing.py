"""What a certificate says of the model file."""

import hashlib
from dataclasses import replace

import pytest
import torch

from expunge.accounting.stated import COUNTED, JOINED, UNSEEN
from expunge.accounting.verification import differences, file_differences
from expunge.unlearning.batch_requests import certify_batch
from expunge.unlearning.issuing import certify
from expunge.unlearning.linear.langevin import Langevin
from expunge.unlearning.linear.linear_fitted import PREPROCESSING, LinearFitted
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.model_file import add_salt, model_bytes
from expunge.unlearning.row_store import RowStore
from tests.unlearning.problems import job_of, without


def state(outcome, job, **changed):
    """The state that a first request leads to."""
    given = {"strategy": Residual(), "released": True, "released_before": False, "classes": None}
    rows = RowStore((job.features, job.targets))
    given |= {"job": job, "rows": rows, "outcome": outcome, "lineage": "ab" * 16}
    return LinearFitted(**given | changed)


JOB = without(job_of(), [50])


@pytest.fixture(scope="module")
def outcome():
    return Residual().forget(JOB, Residual().fit(job_of()))


def test_a_noised_model_is_named_by_its_plain_hash(outcome):
    certificate = certify(state(outcome, JOB), "r1")
    assert certificate.model_sha256 == file_sha256(outcome.theta)
    assert not certificate.commitments
    assert not differences(certificate)
    assert certificate.declared == [*outcome.declared, PREPROCESSING]
    assert certificate.earlier_releases == "not covered"


def test_what_is_kept_is_listed(outcome):
    certificate = certify(state(outcome, JOB), "r1")
    assert [kept.what for kept in certificate.retained] == list(outcome.retained)
    assert any("an un-noised solution, at most 30 days old" in kept for kept in outcome.retained)


def test_certificates_of_one_fit_are_a_chain(outcome):
    first = certify(state(outcome, JOB), "r1")
    later = without(JOB, [51])
    left = Residual().forget(later, outcome)
    second = certify(state(left, later, certificate=first, issued=(first.sha256,)), "r2")
    assert (first.sequence, first.generation, first.previous) == (1, 1, None)
    assert (second.sequence, second.generation, second.previous) == (2, 2, first.sha256)
    assert first.workspace == second.workspace == "ab" * 16
    assert (first.requests, second.requests) == (["r1"], ["r2"])


def test_a_request_without_a_name_to_publish_is_known_by_its_place_alone(outcome):
    certificate = certify(state(outcome, JOB), None)
    assert certificate.requests == []
    assert certificate.sequence == 1


def test_certificates_of_a_batch_are_one_for_each_or_one(outcome):
    each = certify_batch(state(outcome, JOB), ["r1"], each=True)
    assert [(one.batch, one.requests) for one in each] == [(None, ["r1"])]  # a request alone
    without_any = certify_batch(state(outcome, JOB), [None], each=False)
    assert [(one.batch, one.requests) for one in without_any] == [(None, [])]


def file_sha256(*model):
    return hashlib.sha256(model_bytes(*model)).hexdigest()


def bare(outcome):
    return replace(outcome, noise_free=True, secret=add_salt())


def test_a_noise_free_model_gets_a_salted_commitment_that_nobody_can_try(outcome):
    first, second = (certify(state(bare(outcome), JOB), "r1") for _ in range(2))
    assert first.model_sha256 is None
    assert first.commitments["model"] != second.commitments["model"]
    assert first.commitments["model"] != file_sha256(outcome.theta)
    assert not differences(first)


def test_whoever_has_the_file_can_open_the_commitment_and_another_file_does_not(outcome):
    salted = bare(outcome)
    certificate = certify(state(salted, JOB), "r1")
    assert not file_differences(certificate, file_sha256(salted.theta, salted.salt))
    assert file_differences(certificate, file_sha256(salted.theta + 1, salted.salt))
    (difference,) = file_differences(certificate, file_sha256(salted.theta))  # without the salt
    assert difference.field == "commitments"


def test_a_noise_free_file_without_its_salt_is_never_certified(outcome, monkeypatch):
    plain = property(lambda fitted: model_bytes(fitted.outcome.theta))
    monkeypatch.setattr(LinearFitted, "model_bytes", plain)
    with pytest.raises(AssertionError):
        certify(state(bare(outcome), JOB), "r1")


def test_a_certificate_says_that_records_have_joined_and_what_it_is_then_compared_with():
    roster = JOB.roster.with_more(None, 2)
    columns = [torch.cat([column, column[:2]]) for column in JOB.row_columns]
    later, strategy = JOB.with_more(roster, columns), Residual()
    first = certify(state(strategy.forget(JOB, strategy.fit(job_of())), JOB), None)
    assert first.joined == 0
    assert not any(line.startswith(JOINED) for line in first.scope)
    after = strategy.add(later, strategy.forget(JOB, strategy.fit(job_of())))
    second = certify(state(after, later, certificate=first, issued=(first.sha256,)), None)
    assert not differences(second)
    joined = second.scope.index(f"{JOINED}: 2 of the 102 records")
    assert second.scope[joined + 1 : joined + 3] == [UNSEEN, COUNTED]
    assert (second.records, second.joined, second.forgotten, second.sequence) == (102, 2, 1, 2)


def test_where_every_model_counts_newcomers_may_depend_on_models():
    roster = JOB.roster.with_more(None, 1)
    columns = [torch.cat([column, column[:1]]) for column in JOB.row_columns]
    strategy, seeing = Langevin(learn_steps=40), replace(JOB, adaptive_requests=True, seed=0)
    before = strategy.forget(
        seeing, strategy.fit(replace(job_of(), adaptive_requests=True, seed=0))
    )
    later = seeing.with_more(roster, columns)
    first = certify(state(before, seeing, strategy=strategy), None)
    known = {"strategy": strategy, "certificate": first, "issued": (first.sha256,)}
    certificate = certify(state(strategy.add(later, before), later, **known), None)
    assert not differences(certificate)
    assert certificate.capacity == 6  # a tenth of sixty, whoever joins
    assert any(line.startswith(JOINED) for line in certificate.scope)
    assert UNSEEN not in certificate.scope
