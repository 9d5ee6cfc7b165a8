"""Parts that are whole and contradict each other are told apart, for linear models and networks."""

from dataclasses import replace

import pytest

from expunge.accounting.target import EpsilonDelta
from expunge.store.index import digest
from expunge.unlearning.linear.retrain import Retrain
from expunge.unlearning.saved_checks import check_certificate
from tests.unlearning.networks.test_unlearner import fitted as fitted_network
from tests.unlearning.test_released import CertifiedClassifier, fitted


@pytest.fixture(params=["linear", "network"])
def state(request):
    if request.param == "network":
        model = fitted_network("langevin", random_state=1)
        model.forget("p1")
        return model.fitted_
    return fitted(CertifiedClassifier, forgotten=True)[0].fitted_


def sha256(state):
    return digest(state.model_bytes)


def test_what_belongs_together_passes(state):
    check_certificate(state, sha256(state))
    before = fitted(CertifiedClassifier, forgotten=False)[0].fitted_
    check_certificate(before, sha256(before))


def another_history(state):
    outcome = state.outcome
    phases = [replace(phase, samples=phase.samples + 1) for phase in outcome.history.phases]
    history = replace(outcome.history, phases=tuple(phases))
    return replace(state, outcome=replace(outcome, history=history))


def another_constant(state):
    outcome = state.outcome
    name = next(n for n in ("lipschitz", "clip") if getattr(outcome.assumptions, n) is not None)
    smaller = 0.9 * getattr(outcome.assumptions, name)
    assumptions = replace(outcome.assumptions, **{name: smaller})
    return replace(state, outcome=replace(outcome, assumptions=assumptions))


def another_target(state):
    return replace(state, job=replace(state.job, target=EpsilonDelta(1.0, 1e-2)))


CONTRADICTIONS = {
    "about another history": another_history,
    "is about another history": another_constant,
    "about another request": another_target,
    "another request": lambda s: replace(s, strategy=Retrain()),
    "0 certificates for 1 requests": lambda s: replace(s, issued=(), certificate=None),
    "1 certificates for 1 requests": lambda s: replace(s, certificate=None),
    "not the last one issued": lambda s: replace(s, issued=("0" * 64,)),
}


@pytest.mark.parametrize("said", CONTRADICTIONS)
def test_what_contradicts_the_certificate_is_refused(state, said):
    with pytest.raises(ValueError, match=said):
        check_certificate(CONTRADICTIONS[said](state), sha256(state))


def test_weights_that_the_index_does_not_name_are_refused(state):
    with pytest.raises(ValueError, match="not those that the index names"):
        check_certificate(state, "0" * 64)
