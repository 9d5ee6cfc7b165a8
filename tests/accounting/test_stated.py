"""What an issuer states is held against the history: gaps are filled, contradictions refused."""

from dataclasses import replace

import pytest

from expunge.accounting import History, InvalidInput, Phase
from expunge.accounting.canonical import fingerprints
from expunge.accounting.issue import issue
from expunge.accounting.kinds import KINDS
from expunge.accounting.stated import COUNTED, DIVIDED, JOINED, UNSEEN, Stated
from expunge.accounting.verification import differences
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


@pytest.mark.parametrize("strategy", KINDS)
def test_whose_word_the_counts_are_is_said_where_the_history_does_not_show_them(strategy):
    """A line that follows from the strategy: nobody can take it off unnoticed."""
    history = HISTORIES[KIND_OF.get(strategy, strategy)]
    certificate = issue(*history, delta=1e-5, stated=stated(strategy))
    assert (COUNTED in certificate.scope) == (not KINDS[strategy].learns)


def test_that_records_joined_cannot_be_taken_off_a_certificate():
    certificate = issue(*HISTORIES["residual"], delta=1e-5, stated=stated("residual", joined=2))
    assert differences(certificate) == []
    bare = [line for line in certificate.scope if not line.startswith(JOINED)]
    altered = certificate.model_copy(update={"scope": bare})
    altered = altered.model_copy(update={"fingerprints": fingerprints(altered.body())})
    assert {fault.field.split("[")[0] for fault in differences(altered)} == {"scope"}


def test_some_records_must_have_been_there_at_fit():
    word = stated("residual", joined=stated("residual").records)
    with pytest.raises(InvalidInput, match="which leaves none at fit"):
        issue(*HISTORIES["residual"], delta=1e-5, stated=word)


def test_a_strategy_of_another_package_states_its_comparator():
    with pytest.raises(InvalidInput, match="is unknown: state its comparator"):
        issue(*HISTORIES["langevin"], delta=1e-5, stated=stated("amnesia"))
    word = stated("amnesia", comparator="a fresh start", forgotten=10)
    certificate = issue(*HISTORIES["langevin"], delta=1e-5, stated=word)
    assert certificate.comparator == "a fresh start"


@pytest.mark.parametrize("left_out", ["comparator", "forgotten"])
def test_a_strategy_of_another_package_states_all_that_no_history_shows(left_out):
    word = {"strategy": "amnesia", "comparator": "retraining", "forgotten": 3}
    assert issue(*HISTORIES["langevin"], delta=1e-5, stated=Stated(**word)).forgotten == 3
    with pytest.raises(InvalidInput, match="is unknown: state its comparator"):
        issue(*HISTORIES["langevin"], delta=1e-5, stated=Stated(**word | {left_out: None}))


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


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"batch": {"of": 3, "place": 4}}, "batch.place"),
        ({"batch": {"of": 5, "place": 3}}, "batch.place"),  # the third, in the second place of all
        ({"batch": {"of": 10, "place": 1}}, "batch.of"),  # eleven requests, and ten records
        ({"batch": {"of": 10, "place": None}}, "batch.of"),
        ({"batch": {"of": 3, "place": 1}, "generation": 1}, "generation"),
        ({"batch": {"of": 3, "place": 1}, "requests": ["a", "b"]}, "requests"),
        ({"batch": {"of": 3, "place": None}, "requests": list("abcde")}, "requests"),
        ({"batch": {"of": 3, "place": 1}, "earlier_releases": "none known"}, "earlier_releases"),
    ],
)
@pytest.mark.parametrize("strategy", KINDS)
def test_a_place_among_requests_of_one_model_that_cannot_be_is_refused(strategy, change, culprit):
    history = HISTORIES[KIND_OF.get(strategy, strategy)]
    for place in (1, 2, None):
        fine = stated(
            strategy, **CHAIN | {"batch": {"of": 9 if place != 2 else 10, "place": place}}
        )
        assert not differences(issue(*history, delta=1e-5, stated=fine))
    with pytest.raises(InvalidInput) as refused:
        issue(*history, delta=1e-5, stated=stated(strategy, **CHAIN | change))
    assert refused.value.field == culprit


def test_one_request_alone_is_no_batch():
    with pytest.raises(ValueError, match="greater than or equal to 2"):
        Stated.model_validate({"batch": {"of": 1, "place": 1}})


OF_A_FIT = {
    "workspace": "ab" * 16,
    "commitments": {"model": "cd" * 32},
    "provenance": {"noise": "operating system", "state": "sole"},
    "retained": [{"what": "the un-noised solution"}],
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


@pytest.mark.parametrize("strategy", ["residual", "head", "head+finetune"])
@pytest.mark.parametrize("joined", [0, 5])
def test_a_release_divides_losses_by_the_records_at_fit_or_by_those_present(strategy, joined):
    assumptions, history = HISTORIES["residual"]
    facts = stated(strategy, joined=joined, **OF_A_FIT)
    for count in (1000 - joined, 1001):
        fixed = replace(history, normaliser="fixed", normaliser_count=count)
        if count == 1000 - joined:
            certificate = issue(assumptions, fixed, delta=1e-5, stated=facts)
            assert differences(certificate) == []
            continue
        with pytest.raises(InvalidInput, match=f"is 1001, with {1000 - joined} records at fit"):
            issue(assumptions, fixed, delta=1e-5, stated=facts)


def test_what_losses_are_divided_by_cannot_be_taken_off_a_release_or_put_on_one():
    """The line follows from the history, and the history from the line."""
    assumptions, history = HISTORIES["residual"]
    fixed = replace(history, normaliser="fixed", normaliser_count=1000)
    facts = stated("residual", **OF_A_FIT)
    made = [issue(assumptions, each, delta=1e-5, stated=facts) for each in (fixed, history)]
    assert [DIVIDED.format(1000) in each.scope for each in made] == [True, False]
    for one, other in (made, made[::-1]):
        altered = one.model_copy(update={"scope": other.scope})
        altered = altered.model_copy(update={"fingerprints": fingerprints(altered.body())})
        assert {fault.field.split("[")[0] for fault in differences(altered)} == {"scope"}


GROWING = History(
    (Phase(50, 1.0, 1.0, 1000, 3), Phase(5, 1.0, 1.0, 1020, 8), Phase(5, 1.0, 1.0, 1012))
)


def fit_of(**change):
    return Stated(**OF_A_FIT | {"records": 1020} | change)


def test_records_are_all_that_were_there_at_any_time():
    certificate = issue(LOSS, GROWING, delta=1e-5, stated=fit_of())
    assert (certificate.records, certificate.forgotten) == (1020, 8)
    assert not differences(certificate)
    for wrong in ({"records": 1000}, {"forgotten": 3}, {"records": 1030}):
        with pytest.raises(InvalidInput) as refused:
            issue(LOSS, GROWING, delta=1e-5, stated=fit_of(**wrong))
        assert [refused.value.field] == list(wrong)


def test_a_history_alone_says_nothing_of_who_joined():
    """Without a fit behind it phases may be of any size; the first is what it was trained on."""
    certificate = issue(LOSS, GROWING, delta=1e-5, stated=Stated())
    assert (certificate.records, certificate.forgotten) == (1000, 8)
    assert not differences(certificate)


def test_every_certificate_of_a_fit_is_for_somebody_who_left_or_joined():
    most = CHAIN | {"sequence": 28, "generation": 28}
    issue(LOSS, GROWING, delta=1e-5, stated=fit_of(**most))
    with pytest.raises(InvalidInput, match="sequence"):
        issue(LOSS, GROWING, delta=1e-5, stated=fit_of(**most | {"sequence": 29, "generation": 29}))
    release = HISTORIES["residual"]
    word = stated("residual", **OF_A_FIT | CHAIN | {"sequence": 50, "generation": 50})
    with pytest.raises(InvalidInput, match="sequence: is 50, with 10 forgotten records"):
        issue(*release, delta=1e-5, stated=word)
    grown = word.model_copy(update={"joined": 40})
    assert issue(*release, delta=1e-5, stated=grown).sequence == 50
    models = grown.model_copy(update={"generation": 51})
    with pytest.raises(InvalidInput, match="generation: 51 models, with 10 forgotten and 40"):
        issue(*release, delta=1e-5, stated=models)


@pytest.mark.parametrize("strategy", KINDS)
def test_secret_state_that_every_request_of_a_strategy_leaves_cannot_be_kept_quiet(strategy):
    history = HISTORIES[KIND_OF.get(strategy, strategy)]
    bare = stated(strategy, **OF_A_FIT | {"retained": []})
    if not KINDS[strategy].keeps_secrets:
        assert issue(*history, delta=1e-5, stated=bare).retained == []
        return
    with pytest.raises(InvalidInput, match="retained: is missing"):
        issue(*history, delta=1e-5, stated=bare)


def test_records_that_joined_are_those_of_the_history_where_it_learns():
    issued = issue(LOSS, GROWING, delta=1e-5, stated=fit_of())
    assert issued.joined == 20
    assert issued.scope[-2:] == [f"{JOINED}: 20 of the 1020 records", UNSEEN]
    with pytest.raises(InvalidInput, match="joined: is 3, but by the history 20 joined"):
        issue(LOSS, GROWING, delta=1e-5, stated=fit_of(joined=3))
