"""JSON at the edge: what is read, and how a complaint names its field."""

import json

import pytest

from expunge.accounting import Assumptions, History, InvalidInput, Phase, Poisson
from expunge.accounting.document import AccountRequest, account_document, parse_account, validate

PHASE = {"steps": 10, "step_size": 0.5, "sigma": 0.1, "samples": 100, "forgotten": 3}
SMALL = {"assumptions": {"smoothness": 1, "lipschitz": 1}, "phases": [PHASE], "delta": 1e-5}


def parse(**changes: object) -> AccountRequest:
    return parse_account(json.dumps(SMALL | changes))


def field_of_complaint(**changes: object) -> str:
    with pytest.raises(InvalidInput) as refused:
        parse(**changes).records()
    assert "\n" not in str(refused.value)
    return refused.value.field


def test_a_bare_number_is_assumed_and_an_object_keeps_its_mark():
    constants = {
        "smoothness": {"value": 2, "mark": "public"},
        "lipschitz": 1,
        "radius": {"value": 3},
        "clip": None,
    }
    assumptions, _ = parse(assumptions=constants).records()
    assert (assumptions.smoothness, assumptions.mark("smoothness")) == (2.0, "public")
    assert (assumptions.lipschitz, assumptions.mark("lipschitz")) == (1.0, "assumed")
    assert (assumptions.radius, assumptions.mark("radius")) == (3.0, "assumed")
    assert assumptions.clip is None


def test_null_and_absent_constants_are_the_same():
    nulls = dict.fromkeys(("strong_convexity", "radius", "weight_decay", "initial_distance"))
    with_nulls, _ = parse(assumptions=SMALL["assumptions"] | nulls).records()
    assert with_nulls == parse().records()[0]


def test_defaults_are_those_of_the_design():
    request = parse()
    assert request.orders == [2.0, 8.0]
    assert request.normaliser == "mean"
    _, history = parse(phases=[PHASE | {"forgotten": 0}]).records()
    assert history.phases == (Phase(10, 0.5, 0.1, 100),)


def test_what_was_forgotten_is_never_guessed():
    """A missing count would certify everything; it is required."""
    with pytest.raises(InvalidInput, match="forgotten"):
        parse(phases=[{k: v for k, v in PHASE.items() if k != "forgotten"}])


def test_every_phase_key_reaches_the_record():
    cyclic = PHASE | {
        "batches": [1, 2],
        "batch_size": [50, 50.0],
        "released": True,
        "rounding": 1e-9,
    }
    poisson = PHASE | {"steps": 2, "poisson": {"rate": 0.5, "counts": [[40, 1], [41, 2]]}}
    _, history = parse(phases=[cyclic, poisson], normaliser="fixed").records()
    first, second = history.phases
    assert (first.batches, first.batch_size) == ((1, 2), (50, 50))
    assert (first.released, first.rounding) == (True, 1e-9)
    assert second.poisson == Poisson(0.5, ((40, 1), (41, 2)))
    assert history.divisor == 100


def test_whole_floats_are_counts_and_other_floats_are_not():
    assert parse(phases=[PHASE | {"steps": 1e4}]).phases[0].steps == 10_000
    assert field_of_complaint(phases=[PHASE | {"steps": 0.5}]) == "phases[0].steps"


@pytest.mark.parametrize("value", [True, "1", None, [], {}])
def test_only_numbers_are_numbers(value):
    assert field_of_complaint(phases=[PHASE, PHASE | {"sigma": value}]) == "phases[1].sigma"


def test_a_misspelt_key_is_named_before_the_one_it_leaves_missing():
    misspelt = {("step" if key == "steps" else key): value for key, value in PHASE.items()}
    assert field_of_complaint(phases=[misspelt]) == "phases[0].step"


def test_a_record_that_complains_is_named_with_its_phase():
    assert field_of_complaint(phases=[PHASE, PHASE | {"steps": 0}]) == "phases[1].steps"
    assert field_of_complaint(assumptions={"smoothness": -1, "lipschitz": 1}) == (
        "assumptions.smoothness"
    )


def test_the_initial_law_is_read_from_either_place_but_not_from_both():
    inside = parse(assumptions=SMALL["assumptions"] | {"initial_distance": 2}).records()
    assert parse(initial_distance=2).records() == inside
    marked = parse(initial_log_sobolev={"value": 1, "mark": "enforced"}).records()[0]
    assert marked.mark("initial_log_sobolev") == "enforced"
    both = SMALL["assumptions"] | {"initial_distance": 2}
    assert field_of_complaint(assumptions=both, initial_distance=2) == "initial_distance"


@pytest.mark.parametrize("document", [None, 1, "text", [], [SMALL]])
def test_only_an_object_is_a_document(document):
    with pytest.raises(InvalidInput, match="JSON object"):
        validate(AccountRequest, document)


def test_records_come_back_from_their_document_to_the_last_bit() -> None:
    marks = {"strong_convexity": "enforced", "smoothness": "public", "lipschitz": "assumed"}
    assumptions = Assumptions(
        strong_convexity=0.1, smoothness=1 / 3, lipschitz=2.0, radius=0.7, marks=marks
    )
    phases = Phase(9, 0.3, 0.1, 70, 3, rounding=1e-17), Phase(1, 0.3, 0.1, 67, 0, released=True)
    history = History(phases, "fixed", 70)
    document = json.loads(json.dumps(account_document(assumptions, history)))
    again, same = validate(AccountRequest, document).records()
    assert same == history
    assert {n: (getattr(again, n), again.mark(n)) for n in again.constants()} == {
        n: (getattr(assumptions, n), assumptions.mark(n)) for n in assumptions.constants()
    }
