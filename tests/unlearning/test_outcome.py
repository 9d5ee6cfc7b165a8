"""An outcome: one class for every kind of model; making it draws nothing and changes nothing."""

import pytest
import torch

from expunge.unlearning.model_file import SALT, add_salt
from expunge.unlearning.outcome import Outcome

THETA = torch.arange(12, dtype=torch.float64).reshape(3, 4) / 7


def test_the_salt_is_the_callers_and_making_a_record_changes_nothing():
    state = {"theta": THETA}
    assert set(add_salt(state)) == {"theta", SALT}
    assert set(state) == {"theta"}
    with pytest.raises(ValueError, match="no salt for its file"):
        Outcome({"theta": THETA}, None, None, noise_free=True, secret=state)
    assert set(state) == {"theta"}
    made = [
        Outcome({"theta": THETA}, None, None, noise_free=True, secret=add_salt()) for _ in range(2)
    ]
    assert made[0].salt != made[1].salt


def test_a_model_with_noise_has_no_salt_even_where_secret_state_holds_one():
    assert Outcome({"theta": THETA}, None, None, secret=add_salt()).salt is None


def test_what_a_file_would_bring_back_is_contiguous_and_equal():
    turned = Outcome({"theta": THETA}, None, None, secret={"gram": THETA.T})
    laid = turned.lay_out()
    assert not turned.secret["gram"].is_contiguous()
    assert laid.secret["gram"].is_contiguous()
    assert torch.equal(laid.secret["gram"], THETA.T)
