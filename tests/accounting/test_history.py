"""What a history accepts, and which field it blames when it does not."""

import math
from dataclasses import replace
from typing import Any

import pytest

from expunge.accounting import Assumptions, History, InvalidInput, Phase, Poisson, account
from expunge.accounting.history import learn_unlearn
from expunge.accounting.number_checks import MOST_STEPS

PHASE = Phase(steps=10, step_size=0.5, sigma=1.0, samples=100, forgotten=5)


def blamed(build: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        build(*args, **kwargs)
    assert str(caught.value).startswith(caught.value.field + ": ")
    return caught.value.field


NOT_A_POSITIVE_COUNT = [0, -1, 2.0, True, "10", None, MOST_STEPS + 1]
NOT_A_COUNT = [-1, 0.5, True, "1", None, math.nan, MOST_STEPS + 1]
NOT_A_NUMBER = [-1.0, math.nan, math.inf, -math.inf, True, "1", None, 1j]


# ---- phases -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", NOT_A_POSITIVE_COUNT)
@pytest.mark.parametrize("field", ["steps", "samples"])
def test_a_phase_needs_a_positive_whole_number_of_steps_and_samples(
    field: str, value: object
) -> None:
    assert blamed(replace, PHASE, **{field: value}) == field


@pytest.mark.parametrize("value", NOT_A_COUNT)
def test_forgotten_is_a_count(value: object) -> None:
    assert blamed(replace, PHASE, forgotten=value) == "forgotten"


@pytest.mark.parametrize("value", NOT_A_NUMBER)
@pytest.mark.parametrize("field", ["step_size", "sigma", "rounding"])
def test_step_size_sigma_and_rounding_are_finite_and_not_negative(
    field: str, value: object
) -> None:
    assert blamed(replace, PHASE, **{field: value}) == field


def test_a_step_size_of_zero_is_no_step() -> None:
    assert blamed(replace, PHASE, step_size=0.0) == "step_size"


def test_no_noise_and_no_rounding_are_accepted() -> None:
    assert replace(PHASE, sigma=0.0, rounding=0.0).noise_std == 0.0
    assert replace(PHASE, sigma=0).sigma == 0


def test_more_forgotten_than_samples_is_senseless() -> None:
    assert blamed(replace, PHASE, forgotten=101) == "forgotten"


def test_an_empty_retained_set_has_no_comparator() -> None:
    with pytest.raises(InvalidInput, match="comparator") as caught:
        replace(PHASE, forgotten=100)
    assert caught.value.field == "forgotten"
    assert replace(PHASE, forgotten=99).forgotten == 99


def test_the_noise_std_is_the_root_of_twice_the_step_times_sigma() -> None:
    assert replace(PHASE, step_size=0.125, sigma=3.0).noise_std == 1.5


def test_the_largest_exact_count_is_accepted() -> None:
    assert replace(PHASE, steps=MOST_STEPS).steps == 2**53


# ---- batches ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"batches": (5, 0)}, "batch_size"),
        ({"batch_size": 50}, "batches"),
        ({"batches": (), "batch_size": 50}, "batches"),
        ({"batches": (5, 0), "batch_size": (50,)}, "batch_size"),
        ({"batches": (5, 0), "batch_size": 0}, "batch_size"),
        ({"batches": (5, 0), "batch_size": (50, -1)}, "batch_size"),
        ({"batches": (5, 0), "batch_size": 2.5}, "batch_size"),
        ({"batches": (5, -1), "batch_size": 50}, "batches[1]"),
        ({"batches": (2.5, 2.5), "batch_size": 50}, "batches[0]"),
        ({"batches": (5, 0), "batch_size": 4}, "batches[0]"),
        ({"batches": (2, 2), "batch_size": 50}, "batches"),
        ({"batches": (3, 3), "batch_size": 50}, "batches"),
    ],
)
def test_bad_batches_name_their_field(changes: dict[str, object], field: str) -> None:
    assert blamed(replace, PHASE, **changes) == field


def test_batches_share_one_size_or_have_one_each() -> None:
    assert replace(PHASE, batches=(5, 0), batch_size=50).batch_sizes == (50, 50)
    assert replace(PHASE, batches=(5, 0), batch_size=(40, 60)).batch_sizes == (40, 60)
    assert PHASE.batch_sizes == ()


def test_a_fully_forgotten_batch_is_accepted() -> None:
    assert replace(PHASE, batches=(5, 0), batch_size=(5, 95)).batches == (5, 0)


def test_a_phase_is_cyclic_or_poisson_not_both() -> None:
    drawn = Poisson(0.5, ((1, 0),) * 10)
    assert blamed(replace, PHASE, batches=(5, 0), batch_size=50, poisson=drawn) == "poisson"


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5, math.nan, math.inf, True, "0.5"])
def test_a_poisson_rate_is_in_the_unit_interval(rate: float) -> None:
    assert blamed(Poisson, rate, ((1, 0),)) == "poisson.rate"


@pytest.mark.parametrize("pair", [(-1, 0), (0, -1), (0.5, 0), (1, True)])
def test_poisson_counts_are_counts(pair: tuple[int, int]) -> None:
    assert blamed(Poisson, 0.5, ((1, 0), pair)) == "poisson.counts[1]"


def test_poisson_counts_fit_their_phase() -> None:
    few = Poisson(0.5, ((1, 0),) * 9)
    assert blamed(replace, PHASE, poisson=few) == "poisson.counts"
    too_many = Poisson(0.5, ((1, 0),) * 9 + ((96, 0),))
    assert blamed(replace, PHASE, poisson=too_many) == "poisson.counts[9]"
    too_forgotten = Poisson(0.5, ((1, 6),) + ((1, 0),) * 9)
    assert blamed(replace, PHASE, poisson=too_forgotten) == "poisson.counts[0]"
    assert replace(PHASE, poisson=Poisson(1.0, ((95, 5),) * 10)).poisson is not None


# ---- histories --------------------------------------------------------------------------------


def test_an_empty_history_is_senseless() -> None:
    assert blamed(History, ()) == "phases"
    assert blamed(History, []) == "phases"


def test_phases_may_come_as_a_list() -> None:
    assert History([PHASE]).phases == (PHASE,)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("normaliser", ["sum", "", None, 100])
def test_only_two_normalisers_exist(normaliser: Any) -> None:
    assert blamed(History, (PHASE,), normaliser) == "normaliser"


def test_the_mean_normaliser_takes_no_count() -> None:
    assert blamed(History, (PHASE,), "mean", 100) == "normaliser_count"


@pytest.mark.parametrize("count", [0, -5, 100.0, True, math.nan])
def test_the_fixed_normaliser_takes_a_positive_whole_count(count: Any) -> None:
    assert blamed(History, (PHASE,), "fixed", count) == "normaliser_count"


def test_the_fixed_normalisers_count_defaults_to_the_first_phases_samples() -> None:
    assert History((PHASE,), "fixed").divisor == 100
    assert History((PHASE,), "fixed", 250).divisor == 250


def test_no_phase_may_outgrow_the_fixed_normaliser() -> None:
    grown = replace(PHASE, samples=101)
    assert blamed(History, (PHASE, grown), "fixed") == "phases[1].samples"
    assert blamed(History, (PHASE,), "fixed", 99) == "phases[0].samples"
    assert History((PHASE, grown), "fixed", 101).divisor == 101
    assert History((PHASE, grown), "mean").largest_samples == 101


@pytest.mark.parametrize("size", [10**6, 51, 49, (50, 51), (100, 100), (5, 94)])
def test_under_the_mean_the_batches_partition_the_phases_records(size: Any) -> None:
    """A size above what a batch can hold would hide what is forgotten in it."""
    batched = replace(PHASE, batches=(5, 0), batch_size=size)
    assert blamed(History, (PHASE, batched)) == "phases[1].batch_size"
    assert blamed(History, (batched,)) == "phases[0].batch_size"


def test_under_the_mean_sizes_that_sum_to_the_samples_are_accepted() -> None:
    for size in (50, (5, 95), (99, 1)):
        History((replace(PHASE, batches=(5, 0), batch_size=size),))


@pytest.mark.parametrize(
    ("batches", "size"),
    [((5, 0), 10**6), ((5, 0), 51), ((5, 0), (50, 51)), ((4, 1), (100, 1)), ((5, 0), (99, 2))],
)
def test_under_the_fixed_normaliser_the_batches_hold_no_more_than_its_count(
    batches: tuple[int, ...], size: Any
) -> None:
    batched = replace(PHASE, batches=batches, batch_size=size)
    assert blamed(History, (batched,), "fixed") == "phases[0].batch_size"
    History((batched,), "fixed", sum(batched.batch_sizes))


def test_under_the_fixed_normaliser_sizes_outlive_deletions_and_empty_batches_count_as_one() -> (
    None
):
    """The original partition's sizes stay while `samples` shrinks (THEORY 2.5)."""
    learn = replace(PHASE, batches=(5, 0, 0, 0), batch_size=(60, 40, 1, 1))
    later = replace(learn, samples=95, forgotten=0, batches=(0, 0, 0, 0))
    assert History((learn, later), "fixed").divisor == 100
    counted = replace(learn, batches=(4, 0, 1, 0))  # a batch that forgets a record is not empty
    assert blamed(History, (counted,), "fixed") == "phases[0].batch_size"


def test_under_the_fixed_normaliser_the_batches_hold_all_the_samples() -> None:
    """Otherwise a batch's weights sum to more than 1, and c and the clipped s are too small."""
    batched = replace(PHASE, batches=(5, 0), batch_size=(50, 49))
    assert blamed(History, (batched,), "fixed") == "phases[0].batch_size"


def test_at_rate_one_every_record_is_drawn() -> None:
    unseen = Poisson(1.0, ((95, 5),) * 9 + ((95, 0),))
    assert blamed(replace, PHASE, poisson=unseen) == "poisson.counts[9]"


def test_poisson_batches_need_the_fixed_normaliser() -> None:
    drawn = replace(PHASE, poisson=Poisson(0.5, ((1, 0),) * 10))
    assert blamed(History, (PHASE, drawn)) == "phases[1].poisson"
    assert History((PHASE, drawn), "fixed").divisor == 100


def test_a_history_knows_whether_it_forgets_and_releases_early() -> None:
    clean = replace(PHASE, forgotten=0)
    assert not History((clean,)).forgets
    assert History((PHASE, clean)).forgets
    assert not History((PHASE, replace(clean, released=True))).released_early
    assert History((replace(PHASE, released=True), clean)).released_early


def test_the_papers_pipeline_is_one_or_two_phases() -> None:
    given: dict[str, Any] = {
        "learn_steps": 50,
        "step_size": 0.5,
        "sigma": 1.0,
        "samples": 100,
        "forgotten": 5,
    }
    learn, unlearn = learn_unlearn(unlearn_steps=7, **given).phases
    assert (learn.steps, learn.samples, learn.forgotten) == (50, 100, 5)
    assert (unlearn.steps, unlearn.samples, unlearn.forgotten) == (7, 95, 0)
    assert len(learn_unlearn(unlearn_steps=0, **given).phases) == 1
    released = learn_unlearn(unlearn_steps=7, learned_model_released=True, **given)
    assert released.released_early
    assert blamed(learn_unlearn, unlearn_steps=-1, **given) == "unlearn_steps"


# ---- together with assumptions ----------------------------------------------------------------


@pytest.mark.parametrize("strong_convexity", [0.1, 0.0])
def test_a_convex_step_above_two_over_smoothness_is_senseless(strong_convexity: float) -> None:
    loss = Assumptions(strong_convexity, 4.0, 1.0)
    history = History((PHASE, replace(PHASE, step_size=0.51, forgotten=0)))
    assert blamed(account, loss, history, delta=1e-5) == "phases[1].step_size"
    assert account(loss, History((PHASE,)), delta=1e-5).best == "shift"  # exactly 2/L


def test_without_convexity_any_step_is_accepted() -> None:
    history = History((replace(PHASE, step_size=5.0),))
    assert account(Assumptions(smoothness=4.0, lipschitz=1.0), history, delta=1e-5).best
    assert account(Assumptions(clip=1.0), history, delta=1e-5).best


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan, math.inf])
def test_an_account_needs_a_delta_inside_the_unit_interval(delta: float) -> None:
    loss = Assumptions(0.1, 1.0, 1.0)
    assert blamed(account, loss, History((PHASE,)), delta=delta) == "delta"


@pytest.mark.parametrize("order", [1.0, 0.5, math.nan, math.inf])
def test_an_account_needs_orders_above_one(order: float) -> None:
    loss = Assumptions(0.1, 1.0, 1.0)
    found = blamed(account, loss, History((PHASE,)), delta=1e-5, orders=(2.0, order))
    assert found == "orders[1]"
