"""What holds records is never pickled and never shown; copies in memory are whole."""

import copy
import pickle

import pytest
import torch

from tests.unlearning.networks.test_unlearner import fitted as fitted_network
from tests.unlearning.test_released import CertifiedClassifier, fitted


def secrets():
    state, network = fitted(CertifiedClassifier)[0].fitted_, fitted_network("head").fitted_
    return [state, state.job, state.outcome, network, network.job, network.outcome]


@pytest.mark.parametrize("place", range(6))
def test_it_is_not_pickled(place):
    with pytest.raises(TypeError, match=r"holds private records.*release\(\)"):
        pickle.dumps(secrets()[place])


@pytest.mark.parametrize("place", range(6))
def test_it_is_not_shown(place):
    assert "not shown" in repr(secrets()[place])
    assert len(repr(secrets()[place])) < 80


def test_copies_in_memory_are_whole():
    job = secrets()[1]
    deep, shallow = copy.deepcopy(job), copy.copy(job)
    assert torch.equal(deep.features, job.features)
    assert deep.features is not job.features
    assert shallow.features is job.features
    assert type(deep) is type(job)
