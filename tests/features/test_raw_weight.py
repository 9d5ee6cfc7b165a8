"""The weight of raw columns beside leaves: by the leave-one-out error on rows no tree has seen."""

import numpy as np
import pytest
from scipy import sparse

from expunge.features.raw_weight import (
    RIDGES,
    WEIGHTS,
    Part,
    choose_raw_weight,
    halves,
    least_errors,
    worth,
)

RNG = np.random.default_rng(0)
CELLS = RNG.integers(0, 12, 240)
LEAVES = sparse.csr_array(np.eye(12)[CELLS])
RAW = RNG.uniform(-0.6, 0.6, size=(240, 3))


def part(targets, first=0):
    told = targets[:, None] + 0.3 * RNG.normal(size=(240, 1))
    return Part(first + np.arange(240), LEAVES, RAW, told)


def test_the_error_is_that_of_models_that_never_saw_the_row():
    """By the definition: solved anew without each row, in the columns and not by a kernel."""
    rows, targets = RAW[:40], RAW[:40, :1] ** 2 + RAW[:40, 1:2]
    kernel = rows @ rows.T
    room = float(np.mean(np.diag(kernel)))
    design = np.column_stack([rows, np.full(40, np.sqrt(room))])
    errors = []
    for ridge in RIDGES * room * 40:
        apart = []
        for out in range(40):
            seen = np.arange(40) != out
            matrix = design[seen].T @ design[seen] + ridge * np.eye(4)
            weights = np.linalg.solve(matrix, design[seen].T @ targets[seen])
            apart.append((targets[out] - design[out] @ weights) ** 2)
        errors.append(np.mean(apart))
    assert least_errors(kernel, targets).mean() == pytest.approx(min(errors), rel=1e-6)


def test_columns_that_tell_everything_leave_leaves_out_or_nearly_so():
    assert choose_raw_weight([part(3 * RAW[:, 0])]) >= 8


def test_leaves_that_tell_everything_are_never_left_out():
    assert choose_raw_weight([part(RNG.normal(size=12)[CELLS])]) < np.inf


def test_parts_are_judged_together():
    straight, cells = part(3 * RAW[:, 0]), part(RNG.normal(size=12)[CELLS], first=240)
    assert choose_raw_weight([straight, cells]) in WEIGHTS[:-1]  # infinity would give up the second


def test_rows_that_are_tried_again_are_no_more_rows():
    """A standard error that shrank with repetitions would tell weights apart that rows cannot."""
    for _ in range(10):
        once = part(RAW[:, 0] + 0.3 * RNG.normal(size=12)[CELLS] + RNG.normal(size=240))
        assert choose_raw_weight([once] * 9) == choose_raw_weight([once])


@pytest.mark.parametrize(("rows", "ways"), [(101, 3), (999, 2), (2001, 1)])
def test_halves_share_no_row_and_have_every_class_in_both(rows, ways):
    targets = np.repeat([0, 1], [rows - 11, 11])
    pairs = list(halves(targets, classes=True))
    assert len(pairs) == 2 * ways
    for grown, held in pairs:
        assert sorted([*grown, *held]) == list(range(rows))
        assert {int(targets[side].sum()) for side in (grown, held)} == {5, 6}
    for there, back in zip(pairs[::2], pairs[1::2], strict=True):
        np.testing.assert_array_equal(there[0], back[1])
    assert len({tuple(sorted(grown)) for grown, _ in pairs}) == 2 * ways


def test_rows_are_worth_less_the_fewer_have_the_other_label():
    assert worth(np.repeat([0, 1], 50)) == pytest.approx(100)
    assert worth(np.repeat([0, 1], [95, 5])) == pytest.approx(4 * 0.95 * 0.05 * 100)
    assert worth(np.repeat([0, 1, 2], 40)) == pytest.approx(120)
    assert 80 < worth(np.repeat([0, 1, 2], [60, 59, 1])) < 120  # the first two tell enough


def test_leaves_that_say_what_the_columns_say_do_not_count():
    """Every weight is as good then, and the largest is taken."""
    targets = 3 * RAW[:, :1] + RNG.normal(size=(240, 1))
    assert choose_raw_weight([Part(np.arange(240), sparse.csr_array(RAW), RAW, targets)]) >= 16
