"""One procedure for every kind of model: a request changes everything or nothing."""

import pytest
import torch

from expunge.accounting.verification import differences
from expunge.errors import NoCertificate, NotConverged
from expunge.unlearning.requests import honour
from tests.unlearning.networks.test_unlearner import fitted as fitted_network
from tests.unlearning.test_released import CertifiedClassifier, CertifiedRegressor, fitted


def states():
    return {
        "classifier": fitted(CertifiedClassifier, forgotten=False)[0].fitted_,
        "regressor": fitted(CertifiedRegressor, forgotten=False)[0].fitted_,
        "network": fitted_network("head").fitted_,
        "clipped": fitted_network("clipped").fitted_,
    }


KINDS = ["classifier", "regressor", "network", "clipped"]


def some_ids(state, count=2):
    return list(state.job.roster.ids)[:count]


def stored(state):
    return [value.clone() for value in state.job.stored_values()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_leads_to_a_new_state_with_its_certificate(kind):
    before = states()[kind]
    after, certificate = honour(before, some_ids(before), request="r1")
    assert not differences(certificate)
    assert after.certificate is not certificate  # what is handed out is a copy
    assert after.certificate == certificate
    assert after.issued == (certificate.sha256,)
    assert (before.certificate, before.issued) == (None, ())
    assert after.job.roster.forgotten == certificate.forgotten == 2
    assert certificate.requests == ["r1"]
    after.check_unchanged()


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_erased_in_the_one_store_and_the_earlier_state_refuses_from_then_on(kind):
    before = states()[kind]
    after, _ = honour(before, some_ids(before))
    rows = [row - before.rows.first for row in before.job.roster.rows_of(some_ids(before))]
    assert before.rows is after.rows
    for column in after.rows.columns:
        assert not torch.as_tensor(column[rows]).any()
    with pytest.raises(NoCertificate, match="a later request has erased records"):
        honour(before, list(before.job.roster.ids)[5])
    honour(after, list(before.job.roster.ids)[5])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["strategy", "certificate"])
def test_a_failure_at_any_stage_changes_nothing(kind, where, monkeypatch):
    before = states()[kind]
    values, held = stored(before), {n: v.clone() for n, v in before.outcome.secret.items()}

    def fail(*args, **kwargs):
        raise NotConverged("planted") if where == "strategy" else NoCertificate("planted")

    if where == "strategy":
        monkeypatch.setattr(type(before.strategy), "forget", fail)
    else:
        monkeypatch.setattr("expunge.unlearning.requests.certify", fail)
    with pytest.raises(NoCertificate, match="planted"):
        honour(before, some_ids(before))
    assert all(map(torch.equal, stored(before), values))
    assert all(torch.equal(before.outcome.secret[name], value) for name, value in held.items())
    monkeypatch.undo()
    honour(before, some_ids(before))


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_request_is_refused_before_anything_is_run(kind, monkeypatch):
    before = states()[kind]
    monkeypatch.setattr(type(before.strategy), "forget", None)
    with pytest.raises(ValueError, match="unknown id 'nobody'"):
        honour(before, "nobody")
    with pytest.raises(ValueError, match="must be a text that names the request"):
        honour(before, some_ids(before), request=5)
    with pytest.raises(ValueError, match="is given twice"):
        honour(before, some_ids(before) * 2)
