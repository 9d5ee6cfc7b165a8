"""The comparison of certificates covers every kind of history and sees every change."""

import copy

import pytest

from tests.accounting.compare_certificates import KINDS, certified, compare


@pytest.fixture(scope="module")
def said():
    return list(certified(4 * len(KINDS)))


def test_equal_code_says_the_same_of_equal_histories(said):
    assert compare(said, list(certified(4 * len(KINDS)))) == []


def test_every_kind_of_history_is_certified(said):
    assert {line["kind"] for line in said if "refused" not in line} == set(KINDS)
    strategies = {line.get("strategy") for line in said}
    assert {"langevin", "noise_first", "residual", "clipped", "retrain"} <= strategies


@pytest.mark.parametrize(
    "path", [("claim", "epsilon"), ("claim", "mu"), ("bounds", "shift", "epsilon"), ("forgotten",)]
)
def test_the_last_digit_of_one_number_is_seen(said, path):
    changed = copy.deepcopy(said)
    *outer, last = path
    line = next(line for line in changed if line["claim"]["epsilon"] > 0)
    place = line
    for name in outer:
        place = place[name]
    place[last] *= 1 + 2**-52
    (difference,) = compare(said, changed)
    assert difference == f"case {line['case']} ({line['kind']}): {path[0]}"


def test_a_dropped_reservation_a_refusal_and_a_missing_certificate_are_seen(said):
    changed = copy.deepcopy(said)
    with_some = next(line for line in changed if line.get("reservations"))
    with_some["reservations"].pop()
    assert len(compare(said, changed)) == 1
    refused = [{"case": 0, "kind": "langevin", "refused": "why"}, *said[1:]]
    assert len(compare(said, refused)) == 1
    assert compare(said, said[:-1]) == [f"{len(said)} certificates against {len(said) - 1}"]
