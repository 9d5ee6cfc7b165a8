"""Records join one at a time or many, and an addition changes everything or nothing."""

import copy
import threading

import pytest
import torch

from expunge.accounting.verification import differences
from expunge.errors import NoCertificate
from expunge.unlearning.linear.joining import join
from expunge.unlearning.requests import honour
from tests.unlearning.test_requests import some_ids, states, stored


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
