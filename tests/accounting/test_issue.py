"""Certificates are issued of the best bound, say what limits them, and can be issued again."""

import sys
from dataclasses import replace

import pytest

from expunge.accounting import Assumptions, History, InvalidInput, Phase, Refused, account
from expunge.accounting import issue as issuing
from expunge.accounting.attack_power import attack_in_words
from expunge.accounting.bounds import BOUNDS, shift
from expunge.accounting.bounds.shift import Shifted
from expunge.accounting.issue import issue, now, recompute
from expunge.accounting.verification import differences
from expunge.accounting.witness import Stretch, Witness
from tests.accounting.test_certificate import HISTORIES, LOSS, PIPELINE, full, issued
from tests.accounting.test_kinds import CAPACITY, COUNTED, stated

SURE = dict.fromkeys(("strong_convexity", "smoothness", "lipschitz", "radius"), "enforced")
SURE_LOSS = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0, marks=SURE)


@pytest.mark.parametrize("name", HISTORIES)
def test_a_certificate_states_what_its_history_supports(name):
    certificate, found = issued(name), account(*HISTORIES[name], delta=1e-5)
    assert certificate.claim.epsilon == found.epsilon
    assert certificate.claim.bound == found.best
    assert certificate.observer == found.observer
    assert certificate.comparator == found.comparator
    assert certificate.records_of_history()[1] == HISTORIES[name][1]


def test_what_every_bound_refuses_is_not_certified():
    noiseless = History((Phase(50, 1.0, 0.0, 1000, 10),))
    with pytest.raises(Refused, match="every bound refused"):
        issue(LOSS, noiseless, delta=1e-5)


def test_what_makes_no_sense_is_not_certified():
    with pytest.raises(InvalidInput, match="delta"):
        issue(LOSS, PIPELINE, delta=0.0)
    with pytest.raises(InvalidInput, match="2/L"):
        issue(LOSS, History((Phase(50, 2.5, 0.1, 1000, 10),)), delta=1e-5)


def test_assumed_constants_are_told_in_the_first_line():
    first = issued().claim.statement[0]
    assert first.startswith("This certificate rests on constants that were declared")
    for name in ("strong_convexity", "smoothness", "lipschitz"):
        assert name in first
    sure = issue(SURE_LOSS, PIPELINE, delta=1e-5)
    assert sure.claim.statement[0].startswith("Whoever sees the final model")


def test_one_assumed_constant_among_enforced_ones_is_enough():
    marks = SURE | {"lipschitz": "assumed"}
    loss = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0, marks=marks)
    first = issue(loss, PIPELINE, delta=1e-5).claim.statement[0]
    assert first.endswith(": lipschitz.")


def test_uncovered_releases_are_shouted():
    line = "EARLIER RELEASES NOT COVERED."
    assert line not in issued().claim.statement
    uncovered = issued(earlier_releases="not covered")
    assert line in uncovered.claim.statement
    assert uncovered.earlier_releases == "not covered"
    assert differences(uncovered) == []
    assert issued("released").earlier_releases == "covered"
    assert issued().earlier_releases == "none known"


def test_vacuity_is_printed_as_a_word():
    assert not any(line.startswith("VACUOUS") for line in issued().claim.statement)
    quiet = History((Phase(50, 1.0, 1e-4, 1000, 10),))
    vacuous = issue(SURE_LOSS, quiet, delta=1e-5)
    assert vacuous.claim.vacuous
    assert vacuous.claim.statement[0].startswith("VACUOUS")
    loose = issue(SURE_LOSS, PIPELINE, delta=0.01)
    assert loose.claim.statement[0].startswith("VACUOUS")


@pytest.mark.parametrize("sigma", [0.05, 0.1, 0.3, 1.0, 7.0])
def test_the_epsilon_in_words_is_never_below_the_claim(sigma):
    history = History((Phase(50, 1.0, sigma, 1000, 10),))
    claim = issue(SURE_LOSS, history, delta=1e-5).claim
    said = float(claim.statement[-2].split("epsilon = ")[1].split()[0])
    assert claim.epsilon <= said <= claim.epsilon * 1.02


def test_a_certificate_recomputes_itself():
    for certificate in (full(), *map(issued, HISTORIES)):
        assert recompute(certificate) == certificate


def test_the_time_of_issue_is_the_stated_one_or_now():
    stated_then = issued(issued="2020-01-01T00:00:00Z")
    assert stated_then.issued == "2020-01-01T00:00:00Z"
    assert issued().issued == now()


def test_what_is_claimed_is_the_budget_because_whoever_asks_may_also_stop():
    """A GDP filter covers the budget fixed at fit, not what was spent when somebody stopped."""
    spent = issue(LOSS, CAPACITY, delta=1e-5).epsilon
    certificate = issue(LOSS, CAPACITY, delta=1e-5, stated=stated("langevin", **COUNTED))
    assert spent < certificate.epsilon == 5.0
    assert certificate.claim.mu >= issue(LOSS, CAPACITY, delta=1e-5).claim.mu
    assert "epsilon = 5 " in certificate.claim.statement[-2]
    with pytest.raises(Refused, match="beyond the budget"):
        issue(LOSS, CAPACITY, delta=1e-5, stated=stated("langevin", capacity=30, budget=spent / 2))
    for alone in ({"capacity": 30}, {"budget": 5.0}):
        with pytest.raises(InvalidInput, match="goes with the budget"):
            issue(LOSS, CAPACITY, delta=1e-5, stated=stated("langevin", **alone))


def test_every_certificate_of_the_suite_is_proven_where_it_is_issued(monkeypatch):
    """`tests/conftest.py` puts the checker behind the one function that issues certificates."""
    assert issuing.issue is issue
    assert hasattr(issue, "__wrapped__")
    issue(SURE_LOSS, PIPELINE, delta=1e-5, proven=False)
    wrong = Witness((Stretch(edges=(1, *[1] * (sum(p.steps for p in PIPELINE.phases) - 1))),))
    monkeypatch.setattr(Shifted, "witness", wrong)
    with pytest.raises(AssertionError, match="is claimed"):
        issue(SURE_LOSS, PIPELINE, delta=1e-5, proven=False)


def test_an_accountant_whose_witness_does_not_fit_certifies_nothing_by_it(monkeypatch):
    monkeypatch.setattr(Shifted, "witness", Witness((Stretch(edges=(1,)),)))
    judged = account(SURE_LOSS, PIPELINE, delta=1e-5)
    assert "the checker does not accept the witness" in (judged.bounds["shift"].refused or "")
    assert judged.best != "shift"


def test_an_accountant_that_claims_too_little_reports_what_is_proven(monkeypatch):
    honest = issue(SURE_LOSS, PIPELINE, delta=1e-5)
    bound = shift.bound

    def optimist(*case):
        shifted = bound(*case)
        return replace(shifted, mu=shifted.mu / 2)

    module = sys.modules["expunge.accounting.account"]
    monkeypatch.setattr(module, "BOUNDS", {**BOUNDS, "shift": optimist})
    assert issue(SURE_LOSS, PIPELINE, delta=1e-5).claim == honest.claim


def test_the_last_line_says_what_an_attacker_can_do():
    claim = issue(SURE_LOSS, PIPELINE, delta=1e-5).claim
    assert claim.statement[-1] == attack_in_words(claim.epsilon, claim.delta, claim.mu)
