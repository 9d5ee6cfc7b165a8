"""A certificate's strategy, its kind of history, its comparator and its counts belong together."""

from dataclasses import replace

import pytest

from expunge.accounting import Assumptions, History, InvalidInput, Phase
from expunge.accounting.issue import issue
from expunge.accounting.kinds import (
    KINDS,
    arrivals_in,
    check_capacity,
    check_retained,
    forgotten_in,
)
from expunge.accounting.stated import Stated
from expunge.accounting.verification import differences

LOSS = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
IDENTITY = Assumptions(strong_convexity=0.0, smoothness=0.0, lipschitz=1.0, initial_distance=1e-3)
ANYWHERE = Assumptions(clip=1.0, weight_decay=0.5, initial_distance=2.0)
HISTORIES = {
    "langevin": (LOSS, History((Phase(50, 1.0, 1.0, 1000, 10), Phase(5, 1.0, 1.0, 990)))),
    "noise_first": (
        LOSS,
        History((Phase(50, 1.0, 0.0, 1000, 10), Phase(1, 1.0, 9.0, 990), Phase(4, 1.0, 0.0, 990))),
    ),
    "residual": (IDENTITY, History((Phase(1, 0.5, 1.0, 990),))),
    "clipped": (ANYWHERE, History((Phase(9, 1.0, 9.0, 990),))),
    "retrain": (replace(IDENTITY, initial_distance=0.0), History((Phase(1, 0.5, 0.0, 990),))),
}
KIND_OF = {"head": "residual", "head+finetune": "residual"}


def stated(strategy: str, **facts) -> Stated:
    return Stated(strategy=strategy, records=1000, **facts)


@pytest.mark.parametrize("strategy", KINDS)
def test_a_strategy_is_certified_with_its_own_kind_of_history(strategy):
    assumptions, history = HISTORIES[KIND_OF.get(strategy, strategy)]
    certificate = issue(assumptions, history, delta=1e-5, stated=stated(strategy))
    assert certificate.forgotten == 10
    assert certificate.comparator
    if KINDS[strategy].comparator is not None:
        assert certificate.comparator == KINDS[strategy].comparator


@pytest.mark.parametrize("strategy", ["residual", "head", "head+finetune"])
def test_certificates_with_an_earlier_versions_comparator_still_verify(strategy):
    (before,) = KINDS[strategy].formerly
    facts = {"delta": 1e-5, "stated": stated(strategy, comparator=before)}
    certificate = issue(*HISTORIES["residual"], **facts)
    assert certificate.comparator == before
    assert not differences(certificate)
    other = issue(*HISTORIES["residual"], delta=1e-5, stated=stated(strategy, comparator="mine"))
    assert other.comparator == KINDS[strategy].comparator


@pytest.mark.parametrize("strategy", [name for name in KINDS if name != "langevin"])
@pytest.mark.parametrize("kind", HISTORIES)
def test_another_kind_of_history_is_refused(strategy, kind):
    if kind == KIND_OF.get(strategy, strategy):
        return
    with pytest.raises(InvalidInput) as refused:
        issue(*HISTORIES[kind], delta=1e-5, stated=stated(strategy))
    assert refused.value.field == "strategy"


COUNTED = {"capacity": 30, "budget": 5.0}
CAPACITY = History(
    (
        Phase(50, 1.0, 1.0, 1000, 30, released=True),
        Phase(1, 1.0, 1.0, 990, 20, released=True),
        Phase(1, 1.0, 1.0, 975, 5, released=True),
    )
)


def test_a_capacity_is_counted_whole_at_every_model_handed_out():
    check_capacity(CAPACITY, capacity=30, records=1000)
    certificate = issue(LOSS, CAPACITY, delta=1e-5, stated=stated("langevin", **COUNTED))
    assert certificate.forgotten == 25
    assert "requests must not depend on released models" not in certificate.reservations


@pytest.mark.parametrize(
    ("place", "change", "culprit"),
    [
        (0, {"forgotten": 25}, "history.phases[0].forgotten"),
        (2, {"forgotten": 0}, "history.phases[2].forgotten"),
        (0, {"released": False}, "history.phases[0].released"),
        (1, {"released": False}, "history.phases[1].released"),
        (1, {"batches": (20,), "batch_size": 990}, "history.phases[1]"),
    ],
)
def test_a_history_that_counts_less_than_its_capacity_is_refused(place, change, culprit):
    phases = list(CAPACITY.phases)
    phases[place] = replace(phases[place], **change)
    with pytest.raises(InvalidInput) as refused:
        issue(LOSS, History(tuple(phases)), delta=1e-5, stated=stated("langevin", **COUNTED))
    assert refused.value.field == culprit


def test_forgotten_records_are_those_of_the_longest_phase_or_those_that_are_missing():
    assert forgotten_in(KINDS["langevin"], HISTORIES["langevin"][1], 1000) == 10
    assert forgotten_in(KINDS["residual"], HISTORIES["residual"][1], 1000) == 10


def test_a_release_starts_at_a_distance():
    nowhere = replace(IDENTITY, initial_distance=0.0)
    with pytest.raises(InvalidInput, match="another kind of history"):
        issue(nowhere, HISTORIES["residual"][1], delta=1e-5, stated=stated("residual"))


# Timelines in which records joined.

JOINED = History(
    (
        Phase(50, 1.0, 1.0, 1000, 13),  # ten of the first, three that left later
        Phase(5, 1.0, 1.0, 990, 3),
        Phase(5, 1.0, 1.0, 1010, 8),  # twenty joined, five of whom left
        Phase(5, 1.0, 1.0, 1002),
    )
)


def test_whoever_joins_makes_the_samples_more():
    assert arrivals_in(JOINED) == 20
    assert arrivals_in(HISTORIES["langevin"][1]) == 0


def test_forgotten_newcomers_are_in_no_phase_before_they_came_and_are_counted_all_the_same():
    assert forgotten_in(KINDS["langevin"], JOINED, 1020) == 18
    assert forgotten_in(KINDS["residual"], JOINED, 1020) == 18


def test_what_a_phase_leaves_grows_by_no_more_than_those_who_joined():
    check_retained(JOINED)
    for place, change, culprit in (
        (0, {"forgotten": 14}, 0),
        (0, {"forgotten": 12}, 0),
        (1, {"forgotten": 2}, 0),
        (2, {"forgotten": 0}, 1),
        (3, {"samples": 1003}, 2),
    ):
        phases = list(JOINED.phases)
        phases[place] = replace(phases[place], **change)
        with pytest.raises(InvalidInput) as refused:
            check_retained(History(tuple(phases)))
        assert refused.value.field == f"history.phases[{culprit}].samples"


COUNTED_JOINS = History(
    (
        Phase(50, 1.0, 1.0, 1000, 30, released=True),
        Phase(1, 1.0, 1.0, 1005, 30, released=True),
        Phase(1, 1.0, 1.0, 995, 20, released=True),
    )
)


def test_a_capacity_stays_what_it_was_whoever_joins():
    check_capacity(COUNTED_JOINS, capacity=30, records=1005)
    with pytest.raises(InvalidInput, match="left of the capacity"):
        check_capacity(COUNTED_JOINS, capacity=35, records=1005)
    with pytest.raises(InvalidInput, match="left of the capacity"):
        check_capacity(COUNTED_JOINS, capacity=30, records=1000)
