"""Which figures are proven, and which are the accountant's."""

import random

import pytest

from expunge.accounting import Assumptions, History, Phase, checker
from expunge.accounting.bounds import shift
from expunge.accounting.bounds.taut_string import LEAST_MU
from expunge.accounting.conversions import epsilon_from_gdp
from expunge.accounting.proofs import prove
from expunge.accounting.witness import Stretch, Witness
from expunge.errors import InvalidInput, Refused
from tests.accounting.random_histories import REGIMES, draw

LOSS = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
HISTORY = History((Phase(50, 0.5, 0.3, 1000, 10), Phase(20, 0.5, 0.3, 990)))


def test_what_is_reported_is_what_the_checker_proves():
    shifted = shift.bound(LOSS, HISTORY)
    proof = prove(LOSS, HISTORY, shifted)
    assert proof.level == "proven"
    assert proof.witness == shifted.witness
    assert proof.guarantee.mu == checker.prove_mu(LOSS, HISTORY, shifted.witness) < shifted.mu


def test_where_it_is_not_proven_the_accountant_speaks():
    shifted = shift.bound(LOSS, HISTORY)
    proof = prove(LOSS, HISTORY, shifted, wanted=False)
    assert (proof.level, proof.witness) == ("recomputed", shifted.witness)
    assert proof.guarantee == shifted


@pytest.mark.parametrize("regime", REGIMES)
def test_the_allowance_covers_what_the_checker_finds(regime):
    """mu and epsilon without python-flint are never below those with it."""
    for number in range(6):
        case, shifted = draw(regime, number, seed=6)
        proven = prove(*case, shifted).guarantee
        assert proven.mu <= shifted.mu <= proven.mu * (1 + 1e-9)
        delta = 10 ** random.Random(number).uniform(-9, -3)
        if shifted.mu < 30:
            epsilon = epsilon_from_gdp(shifted.mu, delta)
            assert epsilon_from_gdp(proven.mu, delta) <= epsilon
            assert checker.meets(proven.mu, epsilon, delta)
            assert checker.meets(proven.mu, proven.epsilon(delta), delta)


def test_a_given_witness_that_fits_nothing_is_the_givers_fault():
    wrong, shifted = Witness((Stretch(edges=(7,)),)), shift.bound(LOSS, HISTORY)
    with pytest.raises(InvalidInput):
        prove(LOSS, HISTORY, shifted, witness=wrong)


def test_an_own_witness_that_fits_nothing_is_refused(monkeypatch):
    shifted = shift.bound(LOSS, HISTORY)
    monkeypatch.setattr(shift.Shifted, "witness", Witness((Stretch(edges=(7,)),)))
    with pytest.raises(Refused, match="does not accept the witness"):
        prove(LOSS, HISTORY, shifted)


def test_steps_beyond_what_json_keeps_are_not_proven():
    most = 2**53
    history = History((Phase(most, 0.5, 0.3, 1000, 10), Phase(20, 0.5, 0.3, 990)))
    shifted = shift.bound(LOSS, history)
    proof = prove(LOSS, history, shifted)
    assert (proof.level, proof.witness, proof.guarantee.mu) == ("recomputed", None, shifted.mu)


def test_a_mu_that_no_double_holds_is_reported_as_the_least():
    history = History((Phase(50, 0.5, 0.3, 1000, 10), Phase(20_000, 0.5, 0.3, 990)))
    shifted = shift.bound(LOSS, history)
    assert prove(LOSS, history, shifted).guarantee.mu == LEAST_MU


def test_nothing_forgotten_is_proven_to_be_zero():
    history = History((Phase(5, 0.5, 0.0, 100, released=True), Phase(5, 0.5, 0.3, 100)))
    proof = prove(LOSS, history, shift.nothing_forgotten(history))
    assert (proof.level, proof.guarantee.mu) == ("proven", 0.0)
