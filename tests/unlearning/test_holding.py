"""Who holds a fitted state hands out copies of its certificate, and says what pickle left out."""

import pickle
from dataclasses import replace

import pytest

from expunge.errors import NoCertificate
from expunge.unlearning.holding import was_released
from tests.unlearning.networks.test_unlearner import fitted as fitted_network
from tests.unlearning.test_released import CertifiedClassifier, fitted


@pytest.fixture(params=["linear", "network"])
def model(request):
    if request.param == "network":
        made = fitted_network("retrain")
        made.forget("p1")
        return made
    return fitted(CertifiedClassifier, forgotten=True)[0]


def certificate_of(model):
    return model.certificate_


def test_the_certificate_is_a_copy_that_changes_nothing_here(model):
    certificate_of(model).assumptions.clear()
    assert certificate_of(model).assumptions == model.fitted_.certificate.assumptions != {}
    assert model.history_ == model.fitted_.outcome.history


@pytest.mark.filterwarnings("ignore:pickling writes the released model alone")
def test_after_pickling_the_certificate_is_there_and_the_state_is_not(model):
    again = pickle.loads(pickle.dumps(model))
    assert certificate_of(again) == certificate_of(model)
    for ask in (lambda: again.fitted_, lambda: again.history_):
        with pytest.raises(NoCertificate, match="only the released model is here"):
            ask()


def test_what_was_handed_out_is_known_of_every_kind_of_earlier_fit(model):
    assert was_released(model.fitted_)
    assert was_released(model.release())
    assert not was_released(None)


def test_a_model_after_a_deletion_was_handed_out_though_the_fitted_one_never_was(model):
    kept = replace(model.fitted_, released=False)
    assert was_released(kept) is (kept.certificate is not None)
    assert not was_released(replace(kept, certificate=None))
