"""A small seeded sample of the kills, and faults that the same rounds catch."""

import pytest

from tests.torture.dying import own_process
from tests.torture.sampled import FAULTS


def sample(count, seed, scratch, fault="none"):
    return own_process("tests.torture.sampled", str(count), str(seed), str(scratch), fault)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_whoever_dies_among_others_loses_and_doubles_no_request(tmp_path, seed):
    lines = sample(4, seed, tmp_path)
    assert [line["wrong"] for line in lines] == [[]] * 4
    assert sum(len(line["kills"]) for line in lines) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "none"])
def test_a_planted_fault_is_noticed(tmp_path, fault):
    problems = " ".join(
        problem for line in sample(3, 1, tmp_path, fault) for problem in line["wrong"]
    )
    assert FAULTS[fault] in problems
