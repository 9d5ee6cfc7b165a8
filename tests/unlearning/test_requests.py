"""One procedure for every kind of model: a request changes everything or nothing."""

import contextlib
import copy
import threading
from dataclasses import replace

import pytest
import torch

from expunge.accounting.target import EpsilonDelta
from expunge.accounting.verification import differences
from expunge.errors import InvalidInput, NoCertificate, NotConverged
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.requests import honour, honour_batch, join, refresh
from tests.unlearning.networks.test_unlearner import fitted as fitted_network
from tests.unlearning.records import labelled
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


class Noiseless(Residual):
    """Says that it is sound for everybody, and draws an eighth of the noise it should."""

    name = "noiseless"
    comparator = "retraining"
    observers = ("final", "all")

    def noise(self, job):
        noise_std, grid = super().noise(job)
        return noise_std / 8, grid / 8

    def record(self, job, noise_std, grid):
        return super().record(replace(job, target=EpsilonDelta(20.0, 1e-5)), noise_std, grid)


@pytest.mark.parametrize(
    ("observer", "said"), [("final", "is above the target"), ("all", "'all' was promised")]
)
def test_what_was_promised_is_held_against_every_certificate(observer, said):
    X, y = labelled(80)
    model = CertifiedClassifier(strategy=Noiseless(1e-8), observer=observer, l2=0.05)
    model.fit(X, y)
    with pytest.raises(NoCertificate, match=said):
        model.forget(3)


def test_a_copy_of_a_state_and_its_original_both_say_that_there_are_two():
    before = states()["classifier"]
    other = copy.deepcopy(before)
    for state in (before, other):
        assert honour(state, some_ids(state))[1].provenance.state == "copied"


def test_ids_cannot_be_turned_to_other_rows():
    before = states()["network"]
    with pytest.raises(TypeError, match="item assignment"):
        before.job.roster.ids["p1"] = 55


def test_a_refresh_that_fails_changes_nothing(monkeypatch):
    state = states()["classifier"]
    before = stored(state)

    def fails(*_):
        raise NotConverged("planted")

    monkeypatch.setattr(Residual, "refresh", fails)
    with pytest.raises(NoCertificate, match="planted"):
        refresh(state)
    assert all(map(torch.equal, stored(state), before))
    state.check_unchanged()


def test_a_refresh_of_changed_records_or_of_an_earlier_state_is_refused():
    state = states()["classifier"]
    later, _ = honour(state, some_ids(state))
    with pytest.raises(NoCertificate, match="a later request has erased records"):
        refresh(state)
    later.job.features[-1] *= 0.5
    with pytest.raises(NoCertificate, match="the stored records changed"):
        refresh(later)


def test_networks_have_no_anchor_to_refresh():
    state = fitted_network("retrain").fitted_
    with pytest.raises(InvalidInput, match="'retrain' keeps no anchor"):
        refresh(state)


# Records that join.


def newcomers(state, count=3):
    """Values as the row store has them: copies of the first private records."""
    first = state.job.roster.public
    return [column[first : first + count].clone() for column in state.job.row_columns]


NAMES = ["n0", "n1", "n2"]
LINEAR = pytest.mark.parametrize("kind", ["classifier", "regressor"])


@LINEAR
def test_records_join_without_a_certificate_until_one_is_forgotten(kind):
    before = states()[kind]
    rows = before.job.roster.records
    state, nothing = join(before, newcomers(before), NAMES)
    assert nothing is None
    assert (state.certificate, len(state.issued)) == (None, 1)
    state.check_unchanged()
    state, first = honour(state, ["n0", *some_ids(before)])
    state, second = join(state, newcomers(before), ["n3", "n4", "n5"], request="more")
    for certificate in (first, second):
        assert not differences(certificate)
        assert certificate.forgotten == 3
    assert (first.sequence, first.generation) == (1, 2)
    assert (second.sequence, second.generation, second.previous) == (2, 3, first.sha256)
    assert (first.records, second.records) == (rows + 3, rows + 6)
    assert second.requests == ["more"]
    assert state.issued[1:] == (first.sha256, second.sha256)
    state.check_unchanged()


@LINEAR
def test_the_state_before_an_addition_refuses_from_then_on_and_sees_what_is_erased(kind):
    before = states()[kind]
    after, _ = join(before, newcomers(before), NAMES)
    with pytest.raises(NoCertificate, match="or added some"):
        honour(before, some_ids(before))
    with pytest.raises(NoCertificate, match="or added some"):
        join(before, newcomers(before), NAMES)
    (row,) = after.job.roster.rows_of(some_ids(before, 1))
    honour(after, some_ids(before, 1))
    assert not before.job.features[row].any()
    assert not after.job.features[row].any()


FAULTS = {
    "the strategy": ("expunge.unlearning.linear.residual.Residual.add", "planted"),
    "the certificate": ("expunge.unlearning.requests.certify", "planted"),
    "its place in the chain": ("expunge.unlearning.fitted.Fitted.with_certificates", "planted"),
}


@LINEAR
@pytest.mark.parametrize("fault", FAULTS)
def test_an_addition_that_fails_changes_nothing(monkeypatch, kind, fault):
    before, _ = honour(states()[kind], some_ids(states()[kind]))
    known, rows, columns = stored(before), before.rows.erasures, before.rows.columns

    def fails(*_, **__):
        raise NoCertificate("planted")

    monkeypatch.setattr(FAULTS[fault][0], fails)
    with pytest.raises(NoCertificate, match="planted"):
        join(before, newcomers(before), NAMES)
    monkeypatch.undo()
    assert all(map(torch.equal, stored(before), known))
    assert before.rows.columns is columns
    assert before.rows.erasures == rows
    before.check_unchanged()
    join(before, newcomers(before), NAMES)


def test_the_caller_may_object_to_an_addition():
    before = states()["classifier"]

    def object_to(after):
        raise NoCertificate(f"planted: {after.job.roster.joined}")

    with pytest.raises(NoCertificate, match="planted: 3"):
        join(before, newcomers(before), NAMES, accept=object_to)
    before.check_unchanged()


def test_nobody_joins_records_that_have_changed_since():
    """Passes read all of them, a step its own rows' block: both notice."""
    before = states()["classifier"]
    before.job.features[-1] *= 0.5
    with pytest.raises(NoCertificate, match="the stored records changed"):
        join(before, newcomers(before), NAMES)


@LINEAR
def test_of_copies_that_took_records_in_both_say_so(kind):
    before = states()[kind]
    other = copy.deepcopy(before)
    for state in (before, other):
        after, _ = join(state, newcomers(state), NAMES)
        assert honour(after, "n1")[1].provenance.state == "copied"


def test_a_refresh_after_an_addition_keeps_model_and_lineage():
    before = states()["classifier"]
    after, _ = join(before, newcomers(before), NAMES)
    again = refresh(after)
    assert torch.equal(again.outcome.theta, after.outcome.theta)
    assert again.outcome.salt == after.outcome.salt
    assert honour(again, "n2")[1].forgotten == 1


def test_of_two_threads_that_add_one_is_refused():
    before, outcomes = states()["classifier"], []
    ready = threading.Barrier(2, timeout=20)

    def ask(name):
        ready.wait()
        try:
            outcomes.append(join(before, newcomers(before, 1), [name])[0].job.roster.joined)
        except NoCertificate as error:
            outcomes.append(error)

    threads = [threading.Thread(target=ask, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(isinstance(outcome, NoCertificate) for outcome in outcomes) == [False, True]


def test_networks_take_nobody_in_and_say_so():
    before = states()["network"]
    with pytest.raises(NoCertificate, match="no records can join a network"):
        join(before, [before.job.targets[:1]], ["n0"])
    before.check_unchanged()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("each", [True, False])
def test_a_batch_leads_to_one_state_with_all_of_its_certificates(kind, each):
    before = states()[kind]
    one, two, three = some_ids(before, 3)
    after, certificates = honour_batch(before, [[one], [two, three]], ["a", "b"], each=each)
    hashes = [certificate.sha256 for certificate in certificates]
    assert [certificate.requests for certificate in certificates] == (
        [["a"], ["b"]] if each else [["a", "b"]]
    )
    assert (after.issued, after.beside) == ((hashes[-1],), tuple(hashes[:-1]))
    assert after.certificate == certificates[-1]
    assert after.job.roster.request == 1
    after.check_unchanged()


@pytest.mark.parametrize(
    ("requests", "names", "complaint"),
    [
        ([], None, "requests: none given"),
        ("ab", None, "requests: must be a list with the ids of each"),
        ({0: [0]}, None, "requests: must be a list"),
        ([[0], []], None, "no ids given"),
        ([[0], [0]], None, "id 0 is given twice"),
        ([[0], ["nobody"]], None, "unknown id 'nobody'"),
        ([[0], [1]], ["a"], "names: must be one for each of the 2 requests"),
        ([[0], [1]], "ab", "names: must be one for each"),
        ([[0], [1]], ["a", ""], "names: must be texts"),
        ([[0], [1]], ["a", "a"], "names: one is given twice"),
    ],
)
def test_a_batch_that_cannot_be_is_refused_as_a_whole(requests, names, complaint):
    before = states()["classifier"]
    assert before.job.roster.rows_of([0, 1])
    values = stored(before)
    with pytest.raises(ValueError, match=complaint):
        honour_batch(before, requests, names)
    assert all(map(torch.equal, stored(before), values))
    before.check_unchanged()


def test_a_certificate_that_is_refused_in_the_middle_of_a_batch_undoes_all_of_it(monkeypatch):
    from expunge.unlearning import issuing

    before, issue, issued = states()["classifier"], issuing.issue, []

    def refuse(*given, **named):
        if len(issued) == 2:
            raise NoCertificate("planted")
        issued.append(issue(*given, **named))
        return issued[-1]

    monkeypatch.setattr(issuing, "issue", refuse)
    values = stored(before)
    with pytest.raises(NoCertificate, match="planted"):
        honour_batch(before, [[0], [1], [2]])
    assert len(issued) == 2
    assert all(map(torch.equal, stored(before), values))
    before.check_unchanged()
