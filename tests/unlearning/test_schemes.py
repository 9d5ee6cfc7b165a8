"""Schemes tell the accountant no less than what forgotten records can do to a step."""

from dataclasses import replace

import pytest
import torch

from expunge.accounting import History, InvalidInput, Phase
from expunge.accounting.moduli import Cycle, Run, moduli
from expunge.accounting.target import EpsilonDelta
from expunge.losses import Logistic
from expunge.unlearning.ids import id_rows
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.roster import Roster
from expunge.unlearning.schemes import SCHEMES, Cyclic, FullBatch, PoissonBatch

ROWS, FEATURES, STEPS, ETA = 60, 4, 12, 0.7


def job(gone: list[int], later: list[int] | None = None) -> LinearJob:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(ROWS, FEATURES, generator=generator, dtype=torch.float64)
    features /= features.norm(dim=1, keepdim=True)
    roster = Roster(id_rows(None, ROWS - 10, 10), 10)
    for rows in (gone, later):
        roster = roster.without(rows) if rows else roster
    return LinearJob(
        loss=Logistic(l2=0.1, row_norm=1.0),
        features=features,
        targets=torch.arange(ROWS) % 2,
        roster=roster,
        target=EpsilonDelta(1.0, 1e-5),
        observer="final",
    )


@pytest.mark.parametrize(
    "scheme",
    [FullBatch(), FullBatch(fixed=True), Cyclic(5, seed=2), PoissonBatch(0.3, seed=4)],
)
def test_the_recorded_shift_bounds_what_the_forgotten_records_do_to_each_step(scheme):
    before, after = job([]), job([11, 12, 30, 59])
    bare = Phase(STEPS, ETA, 1.0, ROWS)
    phase = scheme.record(bare, after.roster, before.roster.present, first_step=3)
    assert phase.forgotten == 4
    count = ROWS if scheme.normaliser == "fixed" else None
    history = History((phase,), scheme.normaliser, count)
    shifts = [run.shift for run in steps(moduli(after.loss.assumptions(), history)[0])]
    theta = torch.randn(1, FEATURES, generator=torch.Generator().manual_seed(1)).double() * 3
    moved = 0.0
    for index, shift in enumerate(shifts):
        pair = [gradient(scheme, j, 3 + index, index, theta) for j in (before, after)]
        gap = ETA * float((pair[0] - pair[1]).norm())
        assert gap <= shift * (1 + 1e-12)
        moved = max(moved, gap)
    assert moved > 0


def gradient(scheme, job, step, index, theta):
    batch = scheme.batch(job.roster, step, index)
    objective = replace(job.objective, keep=batch.members, divisor=batch.divisor)
    return objective.gradient(theta)


def steps(parts):
    """Every single step of the moduli, in order."""
    found = []
    for part in parts:
        runs = part.runs * part.repeats if isinstance(part, Cycle) else (part,)
        for run in runs:
            found += [replace(run, steps=1)] * run.steps
    assert all(isinstance(run, Run) for run in found)
    return found


def test_the_check_catches_a_scheme_that_divides_by_all_records():
    """Planted fault: a batch's forgotten records counted against n instead of the batch."""
    before, after = job([]), job([11, 12, 30, 59])
    phase = Cyclic(5, seed=2).record(
        Phase(STEPS, ETA, 1.0, ROWS), after.roster, before.roster.present, 0
    )
    faulty = replace(phase, batch_size=(ROWS,) * 5)
    with pytest.raises(InvalidInput, match="above the fixed normaliser's count"):
        History((faulty,), "fixed", ROWS)
    five_times = History((faulty,), "fixed", 5 * ROWS)  # the same divisors, but let through
    shifts = [run.shift for run in steps(moduli(after.loss.assumptions(), five_times)[0])]
    theta = torch.randn(1, FEATURES, generator=torch.Generator().manual_seed(1)).double() * 3
    gaps = []
    for index in range(STEPS):
        pair = [gradient(Cyclic(5, seed=2), j, index, index, theta) for j in (before, after)]
        gaps.append(ETA * float((pair[0] - pair[1]).norm()))
    assert any(gap > shift for gap, shift in zip(gaps, shifts, strict=True))


def test_a_phase_counts_only_what_was_there_and_has_left_since():
    roster = job([11, 12], later=[30]).roster
    phase = FullBatch().record(Phase(1, ETA, 1.0, ROWS), roster, roster.present_after(1), 0)
    assert (phase.samples, phase.forgotten) == (ROWS - 2, 1)


def test_batches_keep_their_first_sizes_when_records_leave():
    scheme = Cyclic(5, seed=2)
    full = scheme.record(Phase(5, ETA, 1.0, ROWS), job([]).roster, job([]).roster.present, 0)
    less = scheme.record(Phase(5, ETA, 1.0, ROWS), job([11]).roster, job([]).roster.present, 0)
    assert full.batch_size == less.batch_size
    assert sum(less.batches or ()) == 1


def test_schemes_are_known_by_name():
    assert set(SCHEMES) == {"FullBatch", "Cyclic", "PoissonBatch"}


def test_poisson_batches_draw_a_newcomer_by_its_id_alone():
    scheme = PoissonBatch(0.5, seed=3)
    first = Roster(id_rows(None, 20, 0), 0).with_more(["n"], 1)
    other = Roster(id_rows(None, 30, 0), 0).without([3]).with_more(["n"], 1)
    drawn = [
        [bool(scheme.batch(roster, step, 0).members[-1]) for step in range(40)]
        for roster in (first, other)
    ]
    assert drawn[0] == drawn[1]
    assert 0 < sum(drawn[0]) < 40
