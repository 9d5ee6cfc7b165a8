"""A fitted linear model: what it predicts with, and what its certificates say of it."""

import numpy as np
import torch
from safetensors.torch import load

from tests.unlearning.test_released import CertifiedClassifier, CertifiedRegressor, fitted


def test_its_head_predicts_what_the_estimator_predicts():
    model, rows = fitted(CertifiedClassifier)
    assert np.array_equal(model.fitted_.head.predict(rows), model.predict(rows))


def test_its_file_holds_the_weights_and_is_the_one_that_is_handed_out():
    model, _ = fitted(CertifiedRegressor)
    assert torch.equal(load(model.fitted_.model_bytes)["theta"], model.fitted_.outcome.theta)
    assert model.fitted_.model_bytes == model.model_bytes()


def test_a_label_set_has_an_origin_and_a_regression_has_none():
    assert fitted(CertifiedClassifier)[0].fitted_.provenance.labels == "public"
    assert fitted(CertifiedRegressor)[0].fitted_.provenance.labels is None
