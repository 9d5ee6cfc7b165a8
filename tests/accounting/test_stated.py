"""What an issuer states is held against the history: gaps are filled, contradictions refused."""

import pytest

from expunge.accounting import History, InvalidInput, Phase
from expunge.accounting.issue import issue
from expunge.accounting.kinds import KINDS
from expunge.accounting.stated import Stated
from tests.accounting.test_kinds import HISTORIES, KIND_OF, LOSS, stated


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
        ({"witness": {"stretches": []}}, "witness.stretches"),
    ],
)
@pytest.mark.parametrize("strategy", KINDS)
def test_a_fits_certificate_leaves_nothing_out(strategy, change, culprit):
    history = HISTORIES[KIND_OF.get(strategy, strategy)]
    issue(*history, delta=1e-5, stated=stated(strategy, **OF_A_FIT))
    with pytest.raises(InvalidInput) as refused:
        issue(*history, delta=1e-5, stated=stated(strategy, **OF_A_FIT | change))
    assert refused.value.field == culprit
