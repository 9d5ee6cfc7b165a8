"""A model's file: its bytes are a function of the weights and, without noise, of a salt."""

import torch
from safetensors.torch import load

from expunge.unlearning.model_file import add_salt, model_bytes, salt_in, salt_of

THETA = torch.arange(12, dtype=torch.float64).reshape(3, 4) / 7


def test_the_file_holds_the_weights_exactly():
    assert torch.equal(load(model_bytes(THETA))["theta"], THETA)


def test_equal_weights_make_equal_files_however_they_lie_in_memory():
    turned = THETA.T.contiguous().T
    assert not turned.is_contiguous()
    assert model_bytes(turned) == model_bytes(THETA)


def test_a_salt_changes_the_file_and_not_the_weights():
    salts = [salt_of(add_salt()) for _ in range(2)]
    assert len({model_bytes(THETA), *(model_bytes(THETA, salt) for salt in salts)}) == 3
    for salt in (None, *salts):
        content = model_bytes(THETA, salt)
        assert torch.equal(load(content)["theta"], THETA)
        assert salt_in(content) == salt
    assert salt_of({}) is None


def test_the_file_changes_with_the_last_bit():
    moved = THETA.clone()
    moved[2, 3] = torch.nextafter(moved[2, 3], torch.tensor(10.0).double())
    assert model_bytes(moved) != model_bytes(THETA)
