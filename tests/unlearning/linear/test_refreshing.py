"""A refresh makes the secret state anew, and changes neither the model nor its lineage."""

import pytest
import torch

from expunge.errors import InvalidInput, NoCertificate, NotConverged
from expunge.unlearning.linear.joining import join
from expunge.unlearning.linear.refreshing import refresh
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.requests import honour
from tests.unlearning.linear.test_joining import NAMES, newcomers
from tests.unlearning.networks.test_unlearner import fitted as fitted_network
from tests.unlearning.test_requests import some_ids, states, stored


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


def test_a_refresh_after_an_addition_keeps_model_and_lineage():
    before = states()["classifier"]
    after, _ = join(before, newcomers(before), NAMES)
    again = refresh(after)
    assert torch.equal(again.outcome.theta, after.outcome.theta)
    assert again.outcome.salt == after.outcome.salt
    assert honour(again, "n2")[1].forgotten == 1
