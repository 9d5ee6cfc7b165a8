"""One procedure for every kind of model: a request changes everything or nothing."""

import contextlib
import copy
import threading

import pytest
import torch

from expunge.accounting.verification import differences
from expunge.errors import NoCertificate, NotConverged
from expunge.unlearning.requests import honour
from tests.unlearning.networks.test_unlearner import fitted as fitted_network
from tests.unlearning.records import every_value
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
    return [value.clone() for value in every_value(state.job)]


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


# What an adversary found: each of these changed something, or certified what it should not.


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_after_the_erasure_puts_everything_back(kind, monkeypatch):
    before = states()[kind]
    values, held = stored(before), {n: v.clone() for n, v in before.outcome.secret.items()}

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(before), "with_certificates", interrupt)
    with pytest.raises(KeyboardInterrupt):
        honour(before, some_ids(before))
    monkeypatch.undo()
    assert all(map(torch.equal, stored(before), values))
    assert all(torch.equal(before.outcome.secret[name], value) for name, value in held.items())
    honour(before, some_ids(before))


def test_the_caller_may_object_to_the_new_state_before_anything_is_erased():
    before, seen = states()["classifier"], []

    def object_to(after):
        seen.append(after.job.roster.forgotten)
        raise NoCertificate("planted")

    with pytest.raises(NoCertificate, match="planted"):
        honour(before, some_ids(before), accept=object_to)
    assert seen == [2]
    before.check_unchanged()


def test_of_two_threads_one_is_refused(monkeypatch):
    before = states()["classifier"]
    plain, together = type(before.strategy).forget, threading.Barrier(2, timeout=20)

    def slow(*given):
        with contextlib.suppress(threading.BrokenBarrierError):
            together.wait(timeout=0.5)  # nobody else may be here meanwhile
        return plain(*given)

    monkeypatch.setattr(type(before.strategy), "forget", slow)
    ids, outcomes = list(before.job.roster.ids), []

    def ask(id_):
        try:
            outcomes.append(honour(before, id_)[1])
        except NoCertificate as error:
            outcomes.append(error)

    threads = [threading.Thread(target=ask, args=(id_,)) for id_ in ids[:2]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(isinstance(outcome, NoCertificate) for outcome in outcomes) == [False, True]


def test_a_copy_of_a_state_and_its_original_both_say_that_there_are_two():
    before = states()["classifier"]
    other = copy.deepcopy(before)
    for state in (before, other):
        assert honour(state, some_ids(state))[1].provenance.state == "copied"


def test_ids_cannot_be_turned_to_other_rows():
    before = states()["network"]
    with pytest.raises(TypeError, match="item assignment"):
        before.job.roster.ids["p1"] = 55
