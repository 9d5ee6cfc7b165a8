"""A commitment holds a record to its last bit, and tells nothing without its key."""

import pytest
import torch

from expunge.core.inputs import Columns
from expunge.unlearning.networks.commitments import SIZE, commitments, form_of, tensor_sha256
from tests.unlearning.networks.problems import rows

KEY = bytes(range(32))


def made(inputs, targets, keep=None, key=KEY):
    keep = torch.ones(len(targets), dtype=torch.bool) if keep is None else keep
    return commitments(inputs, targets, keep, key)


def test_one_bit_of_one_record_moves_its_commitment_alone():
    inputs, targets = rows(8)
    changed = inputs.clone()
    changed[3, 1] = torch.nextafter(changed[3, 1], torch.tensor(torch.inf))
    differ = (made(inputs, targets) != made(changed, targets)).any(1)
    assert differ.tolist() == [i == 3 for i in range(8)]
    other = targets.clone()
    other[5] += 1
    differ = (made(inputs, targets) != made(inputs, other)).any(1)
    assert differ.tolist() == [i == 5 for i in range(8)]


def test_every_column_counts():
    first, second = rows(4)[0], rows(4, seed=1)[0]
    table = Columns({"a": first, "b": second}, named=True)
    moved = table.clone()
    moved.columns["b"][2] += 1
    targets = torch.zeros(4)
    differ = (made(table, targets) != made(moved, targets)).any(1)
    assert differ.tolist() == [False, False, True, False]


def test_forgotten_records_leave_none_and_other_keys_others():
    inputs, targets = rows(5)
    keep = torch.tensor([True, False, True, True, True])
    found = made(inputs, targets, keep)
    assert found.shape == (5, SIZE)
    assert int(found[1].sum()) == 0
    assert (found[keep].sum(1) > 0).all()
    assert (found != made(inputs, targets, keep, key=bytes(32)))[keep].any(1).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int8, torch.bool], ids=str)
def test_records_of_any_type_and_shape_are_held(dtype):
    inputs, targets = rows(4)[0].reshape(4, 2, 2).to(dtype), torch.arange(4)
    assert len(set(map(bytes, made(inputs, targets).numpy()))) == 4
    assert form_of(inputs, targets) == {"inputs": f"(2, 2) {dtype}", "targets": "() torch.int64"}


def test_a_hash_of_tensors_depends_on_every_one():
    one, other = torch.zeros(3), torch.ones(())
    assert tensor_sha256(one, other) != tensor_sha256(other, one)
    assert tensor_sha256(one) == tensor_sha256(torch.zeros(3))
