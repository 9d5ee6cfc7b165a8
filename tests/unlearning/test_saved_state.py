"""What saved models of every kind have in common comes back as it was."""

import json
from dataclasses import fields, replace
from types import SimpleNamespace

import pytest
import torch

from expunge.unlearning.saved_state import (
    account_document,
    ids_document,
    lineage_of,
    outcome_document,
    records_in,
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
    document = through_json(account_document(outcome.assumptions, outcome.history))
    assumptions, history = records_in(document)
    assert history == outcome.history
    assert stated(assumptions) == stated(outcome.assumptions)


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
    assert {"released", "released_before", "lineage", "issued", "copied", "strategy"} == set(
        for_fitted
    )


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
    again = restore_roster(ids_document(later), *counts, later.left, list(later.sizes))
    assert dict(again.ids) == dict(later.ids)
    assert (again.sizes, again.last_joined) == (later.sizes, later.last_joined)
    assert torch.equal(again.left, later.left)
    assert torch.equal(again.keys, later.keys)
    with pytest.raises(ValueError, match="sizes"):
        restore_roster(ids_document(later), *counts, later.left, [*later.sizes[:-1], 7])
