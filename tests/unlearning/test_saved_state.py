"""What saved models of every kind have in common comes back as it was."""

import json
from dataclasses import fields, replace
from types import SimpleNamespace

import pytest
import torch

from expunge.accounting.target import EpsilonDelta
from expunge.store.index import digest
from expunge.unlearning.joined_ids import restore_ids
from expunge.unlearning.linear.retrain import Retrain
from expunge.unlearning.roster import Roster
from expunge.unlearning.saved_state import (
    check_certificate,
    ids_document,
    lineage_of,
    outcome_document,
    restore_outcome,
    restore_roster,
    restore_terms,
    secret_tensors,
    terms_document,
)
from expunge.unlearning.settings import describe
from tests.unlearning.networks.test_unlearner import fitted as fitted_network
from tests.unlearning.test_released import CertifiedClassifier, fitted


@pytest.fixture(params=["linear", "network", "before any request"])
def state(request):
    if request.param == "network":
        model = fitted_network("langevin", random_state=1)
        model.forget("p1")
        return model.fitted_
    return fitted(CertifiedClassifier, forgotten=request.param == "linear")[0].fitted_


def through_json(document):
    return json.loads(json.dumps(document))


def test_an_outcome_comes_back_whole(state):
    outcome = state.outcome
    document = through_json(outcome_document(outcome))
    again = restore_outcome(document, outcome.state, secret_tensors(outcome) | {"other": None})
    for field in {field.name for field in fields(outcome)} - {
        "assumptions",
        "secret",
        "read_every_row",
    }:
        assert getattr(again, field) is outcome.state or (
            getattr(again, field) == getattr(outcome, field)
        )
    assert set(again.secret) == set(outcome.secret)
    assert all(torch.equal(again.secret[name], value) for name, value in outcome.secret.items())


def test_a_history_comes_back_to_the_last_bit(state):
    outcome = state.outcome
    document = through_json(outcome_document(outcome))
    again = restore_outcome(document, outcome.state, secret_tensors(outcome))
    assert again.history == outcome.history
    assert stated(again.assumptions) == stated(outcome.assumptions)


def stated(assumptions):
    """Every constant with its mark."""
    if assumptions is None:
        return None
    names = assumptions.constants()
    return {name: (getattr(assumptions, name), assumptions.mark(name)) for name in names}


def test_terms_are_those_of_the_fit(state):
    document = through_json({"strategy": describe(state.strategy, "strategy")})
    saved = SimpleNamespace(document=document, index=SimpleNamespace(lineage=lineage_of(state)))
    for_job, for_fitted = restore_terms(saved, through_json(terms_document(state)))
    assert {name: getattr(state.job, name) for name in for_job} == for_job
    assert {name: getattr(replace(state, copied=True), name) for name in for_fitted} == for_fitted
    assert {"target", "observer", "adaptive_requests", "seed"} == set(for_job)
    assert {
        "released",
        "released_before",
        "lineage",
        "issued",
        "beside",
        "copied",
        "strategy",
    } == set(for_fitted)


def test_the_lineage_names_the_fit_and_its_certificates(state):
    lineage = lineage_of(state)
    assert lineage.fit == state.lineage
    assert lineage.issued == state.issued
    assert len(lineage.issued) == state.job.roster.request


def test_the_roster_comes_back_as_it_was(state):
    roster = state.job.roster
    again = restore_roster(ids_document(roster), roster.private, roster.public, roster.left)
    assert (dict(again.ids), again.public) == (dict(roster.ids), roster.public)
    assert torch.equal(again.left, roster.left)


@pytest.mark.parametrize(("private", "public"), [(2**70, 0), (0, 2**70), (-1, 4), (4, -1), (2, 2)])
def test_counts_that_are_not_the_states_are_refused_before_anything_of_their_size(private, public):
    with pytest.raises(ValueError, match="3 records in the state"):
        restore_roster(None, private, public, torch.zeros(3, dtype=torch.int64))


def test_a_roster_with_newcomers_comes_back_as_it_was(state):
    """With the rows of an id that left and came back."""
    roster = state.job.roster
    gone = next(id_ for id_, row in roster.ids.items() if roster.present[row])
    later = roster.without([roster.ids[gone]]).with_more(["n1", gone], 2, again=True)
    later = later.without(later.rows_of("n1")).with_more(["n2"], 1)
    counts = later.private, later.public
    ids = restore_ids(ids_document(later), *counts, list(later.sizes))
    again = Roster.after(ids, later.public, later.departures, later.sizes)
    assert dict(again.ids) == dict(later.ids)
    assert (again.sizes, again.last_joined) == (later.sizes, later.last_joined)
    assert torch.equal(again.left, later.left)
    assert torch.equal(again.keys, later.keys)
    with pytest.raises(ValueError, match="sizes"):
        Roster.after(ids, later.public, later.departures, [*later.sizes[:-1], 7])


# What is whole and contradicts itself.


@pytest.fixture(params=["linear", "network"])
def certified(request):
    if request.param == "network":
        model = fitted_network("langevin", random_state=1)
        model.forget("p1")
        return model.fitted_
    return fitted(CertifiedClassifier, forgotten=True)[0].fitted_


def sha256(state):
    return digest(state.model_bytes)


def test_what_belongs_together_passes(certified):
    check_certificate(certified, sha256(certified))
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
def test_what_contradicts_the_certificate_is_refused(certified, said):
    with pytest.raises(ValueError, match=said):
        check_certificate(CONTRADICTIONS[said](certified), sha256(certified))


def test_weights_that_the_index_does_not_name_are_refused(certified):
    with pytest.raises(ValueError, match="not those that the index names"):
        check_certificate(certified, "0" * 64)
