"""The table of THEORY 2.4 as exact cases, with 2.5 (batches), 2.6 (normaliser), 2.8 (rounding).

Numbers are dyadic, so that every expected value is a double and equality is exact.
"""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from expunge.accounting import Assumptions, History, InvalidInput, Phase, Poisson, Refused
from expunge.accounting.moduli import (
    Contraction,
    Cycle,
    Part,
    Run,
    check_step_sizes,
    every_step,
    moduli,
    resize,
    smooth_parts,
    split_trailing,
    steps_before_parting,
    total_steps,
)

STRONG = Assumptions(0.25, 1.0, 2.0)
CONVEX = Assumptions(0.0, 1.0, 2.0)
NONCONVEX = Assumptions(smoothness=1.0, lipschitz=2.0, weight_decay=0.25)
CLIPPED = Assumptions(clip=2.0, weight_decay=0.25)
CLIPPED_SMOOTH = Assumptions(smoothness=1.0, clip=2.0, weight_decay=0.25)


def phase(**changes: Any) -> Phase:
    given: dict[str, Any] = {
        "steps": 10,
        "step_size": 0.5,
        "sigma": 1.0,
        "samples": 128,
        "forgotten": 16,
    }
    return Phase(**{**given, **changes})


def parts_of(loss: Assumptions, *phases: Phase, normaliser: Any = "mean") -> list[Part]:
    (parts,) = moduli(loss, History(phases, normaliser))
    return parts


def learned_and_unlearned(loss: Assumptions, normaliser: Any = "mean") -> tuple[Run, Run]:
    learn, unlearn = parts_of(
        loss, phase(), phase(samples=112, forgotten=0, steps=3), normaliser=normaliser
    )
    assert isinstance(learn, Run)
    assert isinstance(unlearn, Run)
    return learn, unlearn


# ---- the table --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "step_size", "c"),
    [
        (STRONG, 0.5, 0.875),  # 1 - eta m
        (STRONG, 1.0, 0.75),
        (STRONG, 1.75, 0.75),  # eta L - 1
        (STRONG, 2.0, 1.0),  # exactly 2/L
        (Assumptions(1.0, 1.0, 2.0), 1.0, 0.0),
        (CONVEX, 0.5, 1.0),
        (CONVEX, 2.0, 1.0),
        (NONCONVEX, 0.5, 0.875 + 0.375),  # |1 - eta lam| + eta (L - lam)
        (NONCONVEX, 8.0, 1.0 + 6.0),  # |1 - 2| + 8 * 0.75
        (Assumptions(smoothness=1.0, lipschitz=2.0), 0.5, 1.5),
        (CLIPPED, 0.5, 0.875),  # |1 - eta lam|
        (CLIPPED_SMOOTH, 8.0, 1.0),
        (Assumptions(clip=2.0), 0.5, 1.0),
        (CLIPPED_SMOOTH, 0.5, 0.875),
    ],
)
def test_every_regime_has_its_lipschitz_constant(
    loss: Assumptions, step_size: float, c: float
) -> None:
    for forgotten in (16, 0):
        (run,) = parts_of(loss, phase(step_size=step_size, forgotten=forgotten))
        assert isinstance(run, Run)
        assert run.contraction.c == c
        assert run.contraction.gap == 1 - c


@pytest.mark.parametrize("loss", [STRONG, CONVEX, NONCONVEX])
def test_learning_shifts_by_the_forgotten_share_and_unlearning_by_nothing(
    loss: Assumptions,
) -> None:
    learn, unlearn = learned_and_unlearned(loss)
    assert learn.shift == 2 * 2.0 * 0.5 * 16 / 128
    assert learn.differs
    assert unlearn.shift == 0
    assert not unlearn.differs
    assert learn.noise_std == unlearn.noise_std == 1.0
    assert learn.smooth is unlearn.smooth is None


@pytest.mark.parametrize("loss", [STRONG, CONVEX, NONCONVEX])
def test_the_fixed_normaliser_halves_the_shift(loss: Assumptions) -> None:
    learn, unlearn = learned_and_unlearned(loss, "fixed")
    assert learn.shift == 2.0 * 0.5 * 16 / 128
    assert unlearn.shift == 0


def test_the_fixed_normaliser_divides_by_its_own_count() -> None:
    ((run,),) = moduli(STRONG, History((phase(),), "fixed", 256))
    assert isinstance(run, Run)
    assert run.shift == 2.0 * 0.5 * 16 / 256


@pytest.mark.parametrize("normaliser", ["mean", "fixed"])
def test_clipped_gradients_shift_by_two_clips_also_while_unlearning(normaliser: str) -> None:
    learn, unlearn = learned_and_unlearned(CLIPPED, normaliser)
    assert learn.shift == unlearn.shift == 2 * 0.5 * 2.0
    assert learn.differs
    assert not unlearn.differs


def test_clipped_gradients_shift_by_nothing_before_the_first_forgotten_record() -> None:
    before, learn = parts_of(CLIPPED, phase(forgotten=0), phase())
    assert isinstance(before, Run)
    assert isinstance(learn, Run)
    assert before.shift == 0
    assert learn.shift == 2.0


def test_clipping_a_smooth_loss_adds_the_other_affine_piece() -> None:
    learn, unlearn = learned_and_unlearned(CLIPPED_SMOOTH)
    assert learn.shift == unlearn.shift == 2.0
    assert learn.smooth is not None
    assert unlearn.smooth is not None
    assert learn.smooth.contraction.c == unlearn.smooth.contraction.c == 1.25
    assert learn.smooth.shift == 2 * 2.0 * 0.5 * 16 / 128  # the clip is the gradient bound
    assert unlearn.smooth.shift == 0


def test_clipping_ignores_convexity() -> None:
    """E34: a clipped gradient need not be monotone."""
    convex = Assumptions(0.25, 1.0, 2.0, clip=2.0, weight_decay=0.25)
    assert learned_and_unlearned(convex) == learned_and_unlearned(CLIPPED_SMOOTH)


def test_a_clip_replaces_the_lipschitz_constant_even_where_that_is_smaller() -> None:
    both = Assumptions(smoothness=1.0, lipschitz=0.5, clip=2.0, weight_decay=0.25)
    assert learned_and_unlearned(both) == learned_and_unlearned(CLIPPED_SMOOTH)


def test_the_image_radius_is_the_shrunk_radius_plus_one_gradient_step() -> None:
    caged = Assumptions(smoothness=1.0, lipschitz=2.0, weight_decay=0.25, radius=4.0)
    (run,) = parts_of(caged, phase())
    assert isinstance(run, Run)
    assert run.image_radius == 0.875 * 4.0 + 0.5 * 2.0
    (free,) = parts_of(NONCONVEX, phase())
    assert isinstance(free, Run)
    assert free.image_radius == math.inf


def test_contraction_is_exact_where_one_minus_c_would_lose_everything() -> None:
    tiny = Assumptions(2.0**-50, 1.0, 1.0)
    (run,) = parts_of(tiny, phase(step_size=2.0**-30))
    assert isinstance(run, Run)
    c = run.contraction
    assert (c.c, c.gap, c.log) == (1.0, 2.0**-80, math.log1p(-(2.0**-80)))
    assert c.wide_gap == Decimal(2.0**-80)
    assert abs(1 - Fraction(c.wide) - Fraction(1, 2**80)) < Fraction(1, 10**56)
    nothing, unit = Contraction.exactly(Fraction(0)), Contraction.of(1.0)
    assert (nothing.c, nothing.gap, nothing.log, nothing.wide) == (0.0, 1.0, -math.inf, 0)
    assert (unit.c, unit.gap, unit.log, unit.wide, unit.wide_gap) == (1.0, 0.0, 0.0, 1, 0)
    assert Contraction.of(1.25).gap == -0.25
    assert Contraction.of(0.125).log == math.log(0.125)


# ---- batches ----------------------------------------------------------------------------------


def test_a_cyclic_partition_is_whole_epochs_and_a_rest() -> None:
    cycle, rest = parts_of(STRONG, phase(steps=11, batches=(8, 0, 0, 8), batch_size=32))[:2]
    assert isinstance(cycle, Cycle)
    assert cycle.repeats == 2
    assert [(run.steps, run.shift) for run in cycle.runs] == [(1, 0.5), (2, 0.0), (1, 0.5)]
    assert [run.differs for run in cycle.runs] == [True, False, True]
    assert isinstance(rest, Run)
    assert rest.shift == 0.5
    parts = parts_of(STRONG, phase(steps=11, batches=(8, 0, 0, 8), batch_size=32))
    assert sum(total_steps(part) for part in parts) == 11


def test_batches_divide_by_their_own_size_under_either_normaliser() -> None:
    unequal = phase(steps=2, samples=96, batches=(8, 8), batch_size=(32, 64))
    (cycle,) = parts_of(STRONG, unequal)
    assert isinstance(cycle, Cycle)
    assert [run.shift for run in cycle.runs] == [2 * 2.0 * 0.5 * 8 / 32, 2 * 2.0 * 0.5 * 8 / 64]
    (masked,) = parts_of(STRONG, unequal, normaliser="fixed")
    assert isinstance(masked, Cycle)
    assert [run.shift for run in masked.runs] == [2.0 * 0.5 * 8 / 32, 2.0 * 0.5 * 8 / 64]


def test_a_phase_shorter_than_an_epoch_has_no_cycle() -> None:
    parts = parts_of(STRONG, phase(steps=2, samples=96, batches=(8, 0, 8), batch_size=32))
    assert all(isinstance(part, Run) for part in parts)
    assert sum(total_steps(part) for part in parts) == 2


def test_poisson_batches_carry_their_realised_curvature() -> None:
    """THEORY 2.5: the nominal c is unsafe."""
    ridge = Assumptions(0.25, 1.0, 2.0, weight_decay=0.25)
    counts = ((32, 4), (32, 4), (0, 0), (96, 0))  # q nbar = 32: loads 1, 1, 0, 3
    drawn = phase(steps=4, poisson=Poisson(0.25, counts))
    parts = parts_of(ridge, drawn, normaliser="fixed")
    assert [total_steps(part) for part in parts] == [2, 1, 1]
    runs = [part for part in parts if isinstance(part, Run)]
    assert [run.shift for run in runs] == [0.5 * 2.0 * 4 / 32, 0.0, 0.0]
    assert [run.contraction.c for run in runs] == [
        0.875,  # load 1: nominal
        0.875,  # the ridge alone: |1 - eta lam|
        0.875,  # |1 - eta (lam + 3 (L - lam))| = 0.25, so the ridge decides again
    ]


def test_an_overfull_poisson_batch_may_expand() -> None:
    ridge = Assumptions(0.25, 1.0, 2.0, weight_decay=0.25)
    drawn = phase(steps=1, poisson=Poisson(0.0625, ((112, 0),)))  # q nbar = 8: load 14
    (run,) = parts_of(ridge, drawn, normaliser="fixed")
    assert isinstance(run, Run)
    assert run.contraction.c == abs(1 - 0.5 * (0.25 + 14 * 0.75))


def test_a_clipped_poisson_batch_counts_all_its_rows() -> None:
    """THEORY 2.5: s = 2 eta C max(1, b/(q nbar)), forgotten rows included."""
    drawn = phase(steps=2, poisson=Poisson(0.25, ((60, 4), (8, 0))))
    full, sparse = parts_of(CLIPPED, drawn, normaliser="fixed")
    assert isinstance(full, Run)
    assert isinstance(sparse, Run)
    assert full.shift == 2 * 0.5 * 2.0 * 64 / 32
    assert sparse.shift == 2 * 0.5 * 2.0


def test_a_clipped_poisson_batch_of_forgotten_rows_alone_counts_them() -> None:
    drawn = phase(steps=1, poisson=Poisson(0.0625, ((0, 16),)))  # q nbar = 8
    (run,) = parts_of(CLIPPED, drawn, normaliser="fixed")
    assert isinstance(run, Run)
    assert run.shift >= 0.5 * 2.0 * 16 / 8


def test_parted_starts_make_clipped_gradients_and_rounding_count_at_once() -> None:
    clipped = Assumptions(clip=2.0, weight_decay=0.25, initial_distance=1.0)
    (run,) = parts_of(clipped, phase(forgotten=0))
    assert isinstance(run, Run)
    assert run.shift == 2 * 0.5 * 2.0
    strong = Assumptions(0.25, 1.0, 2.0, initial_distance=1.0)
    (run,) = parts_of(strong, phase(forgotten=0, rounding=0.125))
    assert isinstance(run, Run)
    assert run.shift == 2 * 0.125


# ---- rounding and releases --------------------------------------------------------------------


def test_rounding_is_charged_from_the_first_forgotten_record_to_the_last_noise() -> None:
    """THEORY 2.8: s + 2 max(1, c) u, and nothing on trailing noiseless steps."""
    parts = parts_of(
        STRONG,
        phase(forgotten=0, rounding=0.125),
        phase(rounding=0.125),
        phase(forgotten=0, samples=112, rounding=0.125),
        phase(forgotten=0, samples=112, sigma=0.0, rounding=0.125),
    )
    shifts = [part.shift for part in parts if isinstance(part, Run)]
    assert shifts == [0.0, 0.25 + 2 * 0.125, 2 * 0.125]


# ---- post-processing --------------------------------------------------------------------------

ONE_POINT = Assumptions(1.0, 1.0, 2.0)  # at step size 1 every gradient step ends in one point


@pytest.mark.parametrize("loss", [STRONG, CONVEX, NONCONVEX, CLIPPED, CLIPPED_SMOOTH])
@pytest.mark.parametrize("rounding", [0.0, 0.125])
def test_noiseless_phases_on_equal_data_at_the_end_are_left_out(
    loss: Assumptions, rounding: float
) -> None:
    kept = (phase(), phase(forgotten=0))
    polish = phase(forgotten=0, sigma=0.0, rounding=rounding, step_size=0.25)
    assert parts_of(loss, *kept, polish, polish) == parts_of(loss, *kept)
    assert len(parts_of(loss, phase(), polish, phase(forgotten=0))) == 3  # not at the end
    first, second = moduli(loss, History((*kept, replace(polish, released=True), polish)))
    assert (len(first), len(second)) == (2, 0)
    assert len(every_step(loss, History((*kept, polish, polish)))) == 4


def test_a_noiseless_clipped_phase_before_later_noise_keeps_its_shift() -> None:
    """Its factor |1 - eta lam| is 0, but clipped gradients depend on where the chain is."""
    _, middle, _ = parts_of(
        CLIPPED, phase(), phase(forgotten=0, sigma=0.0, step_size=4.0), phase(forgotten=0)
    )
    assert isinstance(middle, Run)
    assert (middle.contraction.c, middle.shift) == (0.0, 2 * 4.0 * 2.0)


def test_noiseless_phases_before_a_later_request_are_not_left_out() -> None:
    quiet = phase(forgotten=0, sigma=0.0)
    assert len(parts_of(CLIPPED, phase(), quiet, phase(sigma=0.0))) == 3


def test_only_a_phase_that_maps_to_one_point_is_kept_at_the_end() -> None:
    last = phase(forgotten=0, sigma=0.0, step_size=1.0)
    (_, kept) = parts_of(ONE_POINT, phase(), last)
    assert isinstance(kept, Run)
    assert (kept.contraction.c, kept.shift, kept.noise_std) == (0.0, 0.0, 0.0)
    linear = Assumptions(smoothness=1.0, clip=2.0, weight_decay=1.0)  # L - lam = 0
    assert len(parts_of(linear, phase(), last)) == 2
    for loss, ending in (
        (ONE_POINT, replace(last, rounding=0.125)),
        (ONE_POINT, replace(last, step_size=0.5)),
        (Assumptions(clip=2.0, weight_decay=1.0), last),
        (Assumptions(smoothness=2.0, clip=2.0, weight_decay=1.0), last),
    ):
        assert len(parts_of(loss, phase(), ending)) == 1


def test_products_below_the_least_double_are_not_taken_for_nothing() -> None:
    """s = 2 M eta n_f/n is 2.5e-331 here; nu is 1.4e-305, then 1.4e-310."""
    tiny = Assumptions(0.0, 1.0, 1e-300)
    (learn,) = parts_of(tiny, phase(step_size=1e-30, sigma=1e-290))
    assert isinstance(learn, Run)
    assert learn.shift == 2.0**-1022
    (noiseless,) = parts_of(tiny, phase(step_size=1e-30, sigma=1e-295))
    assert isinstance(noiseless, Run)
    assert noiseless.noise_std == 0.0


def test_rounding_is_stretched_by_an_expanding_step() -> None:
    (run,) = parts_of(NONCONVEX, phase(rounding=0.125))
    assert isinstance(run, Run)
    assert run.shift == 0.25 + 2 * 1.25 * 0.125


def test_a_noiseless_step_on_different_data_pays_for_its_rounding() -> None:
    _, last = parts_of(STRONG, phase(), phase(sigma=0.0, rounding=0.125))
    assert isinstance(last, Run)
    assert last.shift == 0.25 + 0.25


def test_every_release_ends_a_stretch() -> None:
    history = History(
        (
            phase(released=True),
            phase(forgotten=8, samples=120),
            phase(forgotten=0, samples=112, released=True),
        )
    )
    first, second = moduli(STRONG, history)
    assert [len(first), len(second)] == [1, 2]


def test_convex_steps_above_two_over_smoothness_are_senseless() -> None:
    for loss in (STRONG, CONVEX):
        with pytest.raises(InvalidInput) as caught:
            check_step_sizes(loss, History((phase(), phase(step_size=2.0001))))
        assert caught.value.field == "phases[1].step_size"
        check_step_sizes(loss, History((phase(step_size=2.0),)))
    for loss in (NONCONVEX, CLIPPED, CLIPPED_SMOOTH):
        check_step_sizes(loss, History((phase(step_size=200.0),)))


# ---- helpers of the bounds --------------------------------------------------------------------


def run(steps: int, shift: float) -> Run:
    return Run(steps, Contraction.of(0.5), shift, 1.0, differs=shift > 0)


def test_smooth_parts_take_the_lipschitz_piece_or_refuse() -> None:
    smooth = smooth_parts(CLIPPED_SMOOTH, parts_of(CLIPPED_SMOOTH, phase(), phase(forgotten=0)))
    assert [part.contraction.c for part in smooth if isinstance(part, Run)] == [1.25, 1.25]
    assert smooth_parts(STRONG, parts_of(STRONG, phase())) == parts_of(STRONG, phase())
    with pytest.raises(Refused):
        smooth_parts(CLIPPED, parts_of(CLIPPED, phase(), phase(forgotten=0)))


def test_trailing_steps_are_split_off_a_run_and_off_a_cycle() -> None:
    def separates(step: Run) -> bool:
        return step.shift > 0

    a, b, tail = run(2, 1.0), run(3, 0.0), run(4, 0.0)
    assert split_trailing([a, b, tail], separates) == ([a], [b, tail])
    assert split_trailing([b, tail], separates) == ([], [b, tail])
    assert split_trailing([a], separates) == ([a], [])
    cycle = Cycle((a, b), 5)
    assert split_trailing([cycle, tail], separates) == ([Cycle((a, b), 4), a], [b, tail])
    assert split_trailing([Cycle((a, b), 1)], separates) == ([a], [b])
    assert split_trailing([a, Cycle((b, tail), 5)], separates) == (
        [a],
        [run(15, 0.0), run(20, 0.0)],
    )


def test_resizing_a_run_resizes_its_smooth_piece() -> None:
    (both,) = parts_of(CLIPPED_SMOOTH, phase())
    assert isinstance(both, Run)
    shorter = resize(both, 3)
    assert shorter.smooth is not None
    assert (shorter.steps, shorter.smooth.steps) == (3, 3)
    assert resize(run(5, 1.0), 3) == run(3, 1.0)


def test_a_poisson_batch_of_the_expected_size_still_has_only_the_ridge_for_sure() -> None:
    """THEORY 2.5: lam and not m, whatever the realised count."""
    loss = Assumptions(strong_convexity=0.25, smoothness=1.0, lipschitz=1.0)
    for retained in (5, 6):
        step = Phase(1, 0.5, 1.0, 10, 2, poisson=Poisson(0.5, ((retained, 1),)))
        ((run_,),) = moduli(loss, History((step,), "fixed", 10))
        assert isinstance(run_, Run)
        assert run_.contraction.c == 1.0


def test_steps_before_the_chains_part_are_counted_for_each_stretch():
    public, learn = phase(samples=50, forgotten=0, steps=7), phase(steps=3)
    shown = replace(public, released=True)
    for phases, counts in [
        ((public, learn), [7]),
        ((shown, public, learn), [7, 7]),
        ((public, shown, learn, public), [14, 0]),
        ((learn, public), [0]),
        ((public, shown, public), [14, 7]),
    ]:
        assert steps_before_parting(STRONG, History(phases)) == counts
        apart = replace(STRONG, initial_distance=1.0)
        assert steps_before_parting(apart, History(phases)) == [0] * len(counts)


def test_everything_up_to_a_step_that_maps_to_one_point_is_kept():
    """A quiet phase between the last noise and the point is a step of the chains too."""
    point = Assumptions(1.0, 1.0, 2.0)
    quiet = phase(samples=112, forgotten=0, sigma=0.0)
    erasing = replace(quiet, step_size=1.0, steps=1)
    (parts,) = moduli(point, History((phase(), quiet, erasing, quiet)))
    assert [total_steps(part) for part in parts] == [10, 10, 1]
