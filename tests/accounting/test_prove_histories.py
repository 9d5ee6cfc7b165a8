"""A sample of the campaign: random histories of every regime, proven; wrong witnesses, rejected."""

import json
import math
import random

import pytest

from expunge.accounting import Assumptions, History, Phase, checker
from expunge.accounting.witness import Stretch, Witness
from tests.accounting import prove_histories
from tests.accounting.prove_histories import RESULTS, Broken, evaluate, judge
from tests.accounting.random_histories import REGIMES, draw

ASKED = 100_000


@pytest.mark.parametrize("regime", REGIMES)
def test_histories_of_every_regime_are_proven(regime):
    judged = [judge(regime, number, seed=1) for number in range(8)]
    assert sum(each["lengths"] for each in judged) >= 16


@pytest.mark.slow
@pytest.mark.parametrize("regime", REGIMES)
def test_many_histories_of_every_regime_are_proven(regime):
    altered = [judge(regime, number, seed=2).get("altered") for number in range(60)]
    assert len([verdict for verdict in altered if verdict]) == 9


def test_the_plain_evaluation_agrees_with_the_checker_on_honest_witnesses():
    for regime in ("nonconvex", "capped by a diameter", "clipped smooth", "Poisson batches"):
        for number in range(20):
            case, shifted = draw(regime, number, seed=3)
            if sum(phase.steps for phase in case[1].phases) < 300:
                mu = checker.prove_mu(*case, shifted.witness)
                assert abs(float(evaluate(case, shifted.witness)) - mu) <= 1e-12 * mu


def test_the_plain_evaluation_charges_a_chord_that_runs_below_zero():
    """Distances grow, nothing is unlearned: every step is an edge of its own."""
    case = Assumptions(smoothness=1.0, lipschitz=1.0), History((Phase(9, 0.1, 1.0, 100, 5),))
    honest = Witness((Stretch(edges=((9, (1,)),)),))
    assert abs(evaluate(case, honest) - checker.prove_mu(*case, honest)) < 1e-12
    chord = Witness((Stretch(edges=(9,)),))
    assert 1.01 * checker.prove_mu(*case, honest) < evaluate(case, chord)
    assert evaluate(case, chord) <= checker.prove_mu(*case, chord)


def test_a_checker_that_accepts_everything_is_found_out(monkeypatch):
    """Altered witnesses pass it, and the plain evaluation says that they prove nothing."""
    monkeypatch.setattr(prove_histories, "accepts", lambda *_: True)
    caught = 0
    for number in range(40):
        case, shifted = draw("nonconvex", number, seed=4)
        mu, rng = checker.prove_mu(*case, shifted.witness), random.Random(number)
        try:
            prove_histories.judge_altered(rng, case, shifted.witness, mu)
        except Broken:
            caught += 1
    assert caught >= 10


def test_the_committed_campaign_found_nothing_wrong():
    """It stops at the first history that is not proven, so that every one it counts is."""
    results = json.loads(RESULTS.read_text())
    totals = results["regimes"]
    assert set(totals) == set(REGIMES)
    assert results["proven"] == sum(total["proven"] for total in totals.values())
    for total in totals.values():
        assert 0 <= total["largest gap to the accountant"] <= prove_histories.CLOSE
        assert total["proven"] >= results["proven"] // len(REGIMES)
        assert sum(total["altered"].values()) == math.ceil(total["proven"] / prove_histories.EVERY)
    if results["proven"] >= results["asked"] == ASKED:  # it can be stopped, and go on later
        assert min(total["proven"] for total in totals.values()) >= 5_000
        assert results["altered"]["rejected"] + results["altered"]["still proves it"] >= 10_000
