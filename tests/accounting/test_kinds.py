"""A certificate's strategy, its kind of history, its comparator and its counts belong together."""

from dataclasses import replace

import pytest

from expunge.accounting import Assumptions, History, InvalidInput, Phase, Refused
from expunge.accounting.certificate import Stated, issue
from expunge.accounting.kinds import KINDS, check_capacity, forgotten_in

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


@pytest.mark.parametrize("strategy", [name for name in KINDS if name != "langevin"])
@pytest.mark.parametrize("kind", HISTORIES)
def test_another_kind_of_history_is_refused(strategy, kind):
    if kind == KIND_OF.get(strategy, strategy):
        return
    with pytest.raises(InvalidInput) as refused:
        issue(*HISTORIES[kind], delta=1e-5, stated=stated(strategy))
    assert refused.value.field == "strategy"


@pytest.mark.parametrize("strategy", KINDS)
def test_another_count_of_forgotten_records_is_refused(strategy):
    with pytest.raises(InvalidInput) as refused:
        issue(
            *HISTORIES[KIND_OF.get(strategy, strategy)],
            delta=1e-5,
            stated=stated(strategy, forgotten=30_000),
        )
    assert refused.value.field == "forgotten"


def test_a_history_without_learning_needs_to_be_told_how_many_records_there_were():
    with pytest.raises(InvalidInput, match="records: must be stated for residual"):
        issue(*HISTORIES["residual"], delta=1e-5, stated=Stated(strategy="residual"))


def test_a_strategy_of_another_package_states_its_comparator():
    with pytest.raises(InvalidInput, match="is unknown: state its comparator"):
        issue(*HISTORIES["langevin"], delta=1e-5, stated=stated("amnesia"))
    word = stated("amnesia", comparator="a fresh start", forgotten=10)
    certificate = issue(*HISTORIES["langevin"], delta=1e-5, stated=word)
    assert certificate.comparator == "a fresh start"


def test_a_model_has_one_file_and_not_two():
    both = stated("langevin", model_sha256="ab" * 32, commitments={"model": "cd" * 32})
    with pytest.raises(InvalidInput, match="a model has one file"):
        issue(*HISTORIES["langevin"], delta=1e-5, stated=both)


def test_releases_that_the_history_does_not_know_cannot_be_called_covered():
    word = stated("langevin", earlier_releases="covered")
    with pytest.raises(InvalidInput, match="earlier_releases"):
        issue(*HISTORIES["langevin"], delta=1e-5, stated=word)


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


def test_what_is_claimed_is_the_budget_because_whoever_asks_may_also_stop():
    """A GDP filter covers the budget fixed at fit, not what was spent when somebody stopped."""
    spent = issue(LOSS, CAPACITY, delta=1e-5).epsilon
    certificate = issue(LOSS, CAPACITY, delta=1e-5, stated=stated("langevin", **COUNTED))
    assert spent < certificate.epsilon == 5.0
    assert certificate.claim.mu >= issue(LOSS, CAPACITY, delta=1e-5).claim.mu
    assert "epsilon = 5 " in certificate.claim.statement[-1]
    with pytest.raises(Refused, match="beyond the budget"):
        issue(LOSS, CAPACITY, delta=1e-5, stated=stated("langevin", capacity=30, budget=spent / 2))
    for alone in ({"capacity": 30}, {"budget": 5.0}):
        with pytest.raises(InvalidInput, match="goes with the budget"):
            issue(LOSS, CAPACITY, delta=1e-5, stated=stated("langevin", **alone))


def test_without_insertions_every_phase_of_a_fit_leaves_the_same_records():
    phases = (Phase(50, 1.0, 1.0, 10**6, 10), Phase(5, 1.0, 1.0, 990))
    word = Stated(workspace="ab" * 16)
    with pytest.raises(InvalidInput) as refused:
        issue(LOSS, History(phases), delta=1e-7, stated=word)
    assert refused.value.field == "history.phases[0].samples"


def test_a_model_without_noise_is_named_by_a_commitment_alone():
    plain = stated("retrain", model_sha256="ab" * 32)
    with pytest.raises(InvalidInput, match="needs a commitment"):
        issue(*HISTORIES["retrain"], delta=1e-5, stated=plain)


def test_a_release_starts_at_a_distance():
    nowhere = replace(IDENTITY, initial_distance=0.0)
    with pytest.raises(InvalidInput, match="another kind of history"):
        issue(nowhere, HISTORIES["residual"][1], delta=1e-5, stated=stated("residual"))


CHAIN = {
    "sequence": 2,
    "generation": 2,
    "previous": "ab" * 32,
    "earlier_releases": "not covered",
}


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"earlier_releases": "none known"}, "earlier_releases"),
        ({"earlier_releases": None}, "earlier_releases"),
        ({"generation": 0}, "generation"),
        ({"sequence": 50, "generation": 50}, "sequence"),
        ({"requests": [f"r{i}" for i in range(10)]}, "requests"),
        ({"subjects": 10**6}, "subjects"),
        ({"previous": None}, "previous"),
    ],
)
@pytest.mark.parametrize("strategy", KINDS)
def test_a_place_in_the_chain_that_cannot_be_is_refused(strategy, change, culprit):
    history = HISTORIES[KIND_OF.get(strategy, strategy)]
    issue(*history, delta=1e-5, stated=stated(strategy, **CHAIN))
    with pytest.raises(InvalidInput) as refused:
        issue(*history, delta=1e-5, stated=stated(strategy, **CHAIN | change))
    assert refused.value.field == culprit


OF_A_FIT = {
    "workspace": "ab" * 16,
    "commitments": {"model": "cd" * 32},
    "provenance": {"noise": "operating system", "state": "sole"},
}


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"commitments": {}}, "model_sha256"),
        ({"provenance": {"state": "sole"}}, "provenance.noise"),
        ({"provenance": {"noise": "seeded"}}, "provenance.state"),
        ({"witness": {"edges": [1]}}, "witness"),
    ],
)
@pytest.mark.parametrize("strategy", KINDS)
def test_a_fits_certificate_leaves_nothing_out(strategy, change, culprit):
    history = HISTORIES[KIND_OF.get(strategy, strategy)]
    issue(*history, delta=1e-5, stated=stated(strategy, **OF_A_FIT))
    with pytest.raises(InvalidInput) as refused:
        issue(*history, delta=1e-5, stated=stated(strategy, **OF_A_FIT | change))
    assert refused.value.field == culprit
