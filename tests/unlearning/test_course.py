"""The course of a model: phases counted for linear models and networks by one rule."""

import math
from dataclasses import replace

import pytest
import torch

from expunge.accounting import History, Phase
from expunge.core.projection import l2_ball
from expunge.errors import NoCertificate
from expunge.sampling import pngd
from expunge.unlearning.course import (
    Course,
    check_finite,
    fewest_steps,
    grid_of,
    least_sigma,
    records_of_capacity,
    setting_for,
    take_steps,
    with_exact_last,
)
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.schemes import Cyclic, FullBatch
from tests.unlearning.problems import job_of, without

BARE = Phase(7, 0.5, 0.3, 100, rounding=1e-9)


def outcome(*phases, rounds):
    history = History(tuple(phases))
    return Outcome({"theta": torch.zeros(1, 5)}, None, history, rounds=rounds)


def test_phases_so_far_are_counted_by_who_was_there_and_has_left_since():
    job = without(without(job_of(), [45]), [50, 51])
    before = outcome(Phase(5, 0.5, 0.3, 100), Phase(2, 0.5, 0.3, 99), rounds=(0, 1))
    course = Course.of(job, FullBatch(), before)
    assert [(p.samples, p.forgotten) for p in course.past] == [(100, 3), (99, 2)]
    assert course.done == 7
    assert course.outcome({}, job.loss.assumptions(), [BARE]).rounds == (0, 1, 2)


def test_further_phases_see_who_is_there():
    course = Course.of(without(job_of(), [45]), FullBatch())
    (counted,) = course.count([BARE])
    assert (counted.samples, counted.forgotten) == (99, 0)
    assert course.history([counted]).phases == (counted,)


def test_batches_go_on_where_the_steps_before_stopped():
    seen = []

    class Spy(FullBatch):
        def record(self, phase, roster, present, first_step):
            seen.append(first_step)
            return super().record(phase, roster, present, first_step)

    job = job_of()
    before = outcome(Phase(5, 0.5, 0.3, 100), rounds=(0,))
    Course.of(job, Spy(), before).count([replace(BARE, steps=3), replace(BARE, steps=1)])
    assert seen == [0, 5, 8]


def test_a_fixed_normaliser_counts_everybody_at_fit():
    course = Course.of(without(job_of(), [45]), FullBatch(fixed=True))
    assert course.history(course.count([BARE])).normaliser_count == 100


def test_where_requests_may_look_every_phase_counts_what_is_left_of_the_capacity():
    job = replace(without(job_of(), [45, 46]), adaptive_requests=True)
    course = Course.of(job, FullBatch(), share=0.1)
    assert course.capacity == 6
    assert [phase.forgotten for phase in course.count([BARE])] == [4]
    course.check_capacity()
    beyond = replace(job, roster=job.roster.without(range(50, 55)))
    with pytest.raises(NoCertificate, match="7 forgotten records are more than the 6"):
        Course.of(beyond, FullBatch(), share=0.1).check_capacity()
    with pytest.raises(ValueError, match="needs FullBatch"):
        Course.of(job, Cyclic(3), share=0.1)
    assert Course.of(job, FullBatch()).capacity is None


def test_a_capacity_is_at_least_one_record_and_rounded_up():
    assert records_of_capacity(0.1, job_of(private=60).roster) == 6
    assert records_of_capacity(0.11, job_of(private=60).roster) == 7
    assert records_of_capacity(1e-9, job_of(private=60).roster) == 1


@pytest.mark.parametrize(("enough", "most"), [(1, 9), (4, 9), (9, 9)])
def test_the_fewest_steps_that_meet_the_target_are_taken(enough, most):
    assert fewest_steps(lambda steps: steps >= enough, most) == enough


def test_more_steps_than_retraining_takes_are_refused():
    with pytest.raises(NoCertificate, match="9 unlearning steps do not meet the target"):
        fewest_steps(lambda _: False, 9)


def test_one_step_is_tried_on_its_own_where_more_may_not_help():
    assert fewest_steps(lambda steps: steps == 1, 9) == 1


def test_the_last_step_is_a_phase_of_its_own_with_the_grids_rounding():
    job = job_of()
    first, last = with_exact_last(job, BARE, 5)
    assert (first.steps, last.steps) == (6, 1)
    assert first.rounding == BARE.rounding
    grid = grid_of(job, BARE.noise_std, 5)
    assert last.rounding > BARE.rounding
    assert last.rounding - BARE.rounding <= grid * math.sqrt(5)
    (alone,) = with_exact_last(job, replace(BARE, steps=1), 5)
    assert alone == last


def kernel(gradient=lambda stacked, _: stacked * 0, sigma=0.3, radius=1e6):
    return pngd.build(gradient, step_size=0.5, sigma=sigma, project=l2_ball(radius))


def run(job, steps=4, built=None, **options):
    given = {"stream": "s", "reach": 1e6} | options
    return take_steps(job, built or kernel(), torch.zeros(3).double(), steps=steps, **given)


def test_seeded_steps_repeat_and_streams_differ():
    job = job_of(seed=3)
    assert torch.equal(run(job), run(job))
    assert not torch.equal(run(job), run(job, stream="t"))
    assert not torch.equal(run(job), run(job, steps=5))


def test_the_last_noise_of_a_release_lies_on_the_grid():
    """Were it ordinary noise, a coordinate would be a multiple with probability about 0."""
    job = job_of(seed=None)
    point = run(job, steps=1)
    places = point / grid_of(job, 0.3, 3)
    assert torch.equal(places, places.round())
    assert point.any()


def test_the_point_is_projected():
    loud = kernel(sigma=5.0, radius=1e-3)
    assert 0 < float(run(job_of(seed=None), built=loud).norm()) <= 1e-3


@pytest.mark.parametrize("seed", [None, 3])
def test_steps_without_noise_draw_none(seed):
    still = kernel(lambda stacked, _: stacked - 1, sigma=0.0)
    point = run(job_of(seed=seed), built=still, reach=1e300)
    assert torch.equal(point, torch.full((3,), 1 - 0.5**4, dtype=torch.float64))


def test_noise_too_small_to_be_exact_is_refused_before_any_step():
    def never(stacked, index):
        raise AssertionError("a step was taken")

    with pytest.raises(ValueError, match="too small"):
        run(job_of(seed=None), built=kernel(never), reach=1e18)


def test_an_overflow_is_noticed():
    def burst(stacked, index):
        return stacked + (math.inf if index == 1 else 0.0)

    with pytest.raises(NoCertificate, match="not finite"):
        run(job_of(seed=1), built=kernel(burst))
    with pytest.raises(NoCertificate, match="not finite"):
        check_finite(torch.tensor([math.nan]))


def test_sigma_leaves_room_for_rounding_and_counts_requests_that_may_look():
    job = job_of(observer="all")
    assumptions = job.loss.assumptions()
    setting = setting_for(job, assumptions, step_size=0.5, learn_steps=40, forget=6)
    one = least_sigma(job, setting, unlearn_steps=0, requests=20)
    adaptive = replace(job, adaptive_requests=True)
    several = least_sigma(adaptive, setting, unlearn_steps=0, requests=20)
    more = least_sigma(adaptive, setting, unlearn_steps=0, requests=80)
    assert one < several < more


def test_a_request_that_leaves_only_records_that_joined_has_no_comparator():
    job, first = job_of(public=0, private=3), range(3)
    grown = job.roster.with_more(None, 2)
    learned = outcome(Phase(5, 0.1, 1.0, 3), Phase(2, 0.1, 1.0, 5), rounds=(0, 1))

    def past(gone):
        return Course.of(replace(job, roster=grown.without(gone)), FullBatch(), learned).past

    assert [(phase.samples, phase.forgotten) for phase in past(first[:2])] == [(3, 2), (5, 2)]
    with pytest.raises(NoCertificate, match="which leaves no comparator; retrain"):
        past(first)
