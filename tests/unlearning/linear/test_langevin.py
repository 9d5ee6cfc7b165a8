import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from expunge.accounting.bounds import shift
from expunge.accounting.history import History
from expunge.accounting.issue import recompute
from expunge.accounting.moduli import Run, moduli
from expunge.core.randomness import normal_source
from expunge.errors import NoCertificate
from expunge.losses import Logistic, Softmax, Squared
from expunge.losses.objective import gradient_rounding
from expunge.unlearning import CertifiedClassifier, course
from expunge.unlearning.linear.langevin import Langevin, NoiseFirst, setting_of
from expunge.unlearning.schemes import Cyclic, FullBatch, PoissonBatch
from tests.unlearning.constants import contradicted, direction, even, falsified, worst_job
from tests.unlearning.problems import job_of, without
from tests.unlearning.records import labelled

LOSS = Logistic(l2=0.1)
QUICK = Langevin(learn_steps=60)
STRATEGIES = (QUICK, NoiseFirst(learn_steps=60, unlearn_steps=8))
BOTH = pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)


def chain(strategy, job, *requests):
    """Outcomes after fit and after every request, and the job as it stands."""
    outcomes = [strategy.fit(job)]
    for rows in requests:
        job = without(job, list(rows))
        outcomes.append(strategy.forget(job, outcomes[-1]))
    return outcomes, job


def epsilon(outcome, job):
    return shift.bound(outcome.assumptions, outcome.history).epsilon(job.target.delta)


def counted(history):
    """(steps, samples, forgotten) of each stretch of equal records."""
    found = []
    for phase in history.phases:
        if found and found[-1][1:] == [phase.samples, phase.forgotten]:
            found[-1][0] += phase.steps
        else:
            found.append([phase.steps, phase.samples, phase.forgotten])
    return [tuple(one) for one in found]


# Bookkeeping.


def test_every_phase_knows_how_many_of_its_records_are_gone_by_now():
    outcomes, job = chain(QUICK, job_of(public=900), [950], [951, 952], [955, 956, 957])
    assert counted(outcomes[0].history) == [(60, 960, 0)]
    steps = [counted(outcome.history)[-1][0] for outcome in outcomes]
    assert counted(outcomes[1].history) == [(60, 960, 1), (steps[1], 959, 0)]
    assert counted(outcomes[3].history) == [
        (60, 960, 6),
        (steps[1], 959, 5),
        (steps[2], 957, 3),
        (steps[3], 954, 0),
    ]
    assert job.roster.forgotten == 6


def test_noise_first_puts_all_noise_into_the_first_unlearning_step():
    strategy = NoiseFirst(learn_steps=60, unlearn_steps=8)
    outcomes, _ = chain(strategy, job_of(public=900), [950], [951, 952])
    phases = outcomes[-1].history.phases
    assert [phase.steps for phase in phases] == [60, 1, 7, 1, 7]
    assert [phase.forgotten for phase in phases] == [3, 2, 2, 0, 0]
    assert [phase.sigma > 0 for phase in phases] == [False, True, False, True, False]
    single, _ = chain(NoiseFirst(learn_steps=60, unlearn_steps=1), job_of(public=900), [950])
    assert [phase.steps for phase in single[-1].history.phases] == [60, 1]


@BOTH
def test_the_history_of_earlier_outcomes_is_never_rewritten(strategy):
    job = job_of(public=900)
    first = strategy.fit(job)
    before = first.history, first.theta.clone()
    strategy.forget(without(job, [950]), first)
    assert first.history == before[0]
    assert torch.equal(first.theta, before[1])


@BOTH
def test_every_outcome_of_a_sequence_meets_the_target(strategy):
    outcomes, job = chain(strategy, job_of(public=900), [950], [951, 952], range(910, 915))
    for outcome in outcomes[1:]:
        assert epsilon(outcome, job) <= 1.0


def test_observer_all_marks_the_last_step_of_every_request_as_released():
    outcomes, _ = chain(QUICK, job_of(public=900, observer="all"), [950], [951])
    phases = outcomes[-1].history.phases
    assert [(phase.steps, phase.released) for phase in phases] == [
        (59, False),
        (1, True),
        (1, True),
        (1, True),
    ]
    final, _ = chain(QUICK, job_of(public=900), [950])
    assert not any(phase.released for phase in final[-1].history.phases)


# How many steps, how much noise.


def test_no_fewer_unlearning_steps_would_meet_the_target():
    outcomes, job = chain(QUICK, job_of(public=100), [110, 111, 112])
    history = outcomes[-1].history
    learning, steps = history.phases[:2], sum(phase.steps for phase in history.phases[2:])
    assert steps > 1
    *most, last = history.phases
    spare = most[-1]
    fewer = [*learning, last]
    if spare.steps > 1:
        fewer.insert(2, type(spare)(**{**vars(spare), "steps": spare.steps - 1}))
    missed = shift.bound(outcomes[-1].assumptions, History(tuple(fewer))).epsilon(1e-5)
    assert epsilon(outcomes[-1], job) <= 1.0 < missed


def test_noise_first_takes_the_least_sigma_that_meets_the_target():
    """mu = c Z_T/noise_std with Z_T = s (1 - c^T)/(1 - c), s = 2 M eta n_f/n (THEORY 5.2)."""
    outcomes, job = chain(STRATEGIES[1], job_of(public=140), [150, 151])
    noisy = outcomes[-1].history.phases[1]
    eta = 1 / (0.25 + LOSS.l2)
    c = 1 - eta * LOSS.l2
    distance = 2 * eta * 2 / 200 * (1 - c**60) / (1 - c)
    guarantee = shift.bound(outcomes[-1].assumptions, outcomes[-1].history)
    assert guarantee.mu == pytest.approx(c * distance / noisy.noise_std, rel=2e-3)
    assert guarantee.mu >= c * distance / noisy.noise_std  # rounding is charged on top
    assert 1 - 1e-6 <= epsilon(outcomes[-1], job) <= 1.0


def test_the_joint_certificate_is_that_of_the_learned_model_alone():
    """z = 0 at the release: what comes after adds nothing but rounding (THEORY 2.7)."""
    outcomes, _ = chain(QUICK, job_of(public=900, observer="all"), [950, 951])
    learned = History(outcomes[-1].history.phases[:2])
    joint = shift.bound(outcomes[-1].assumptions, outcomes[-1].history).mu
    alone = shift.bound(outcomes[-1].assumptions, learned).mu
    assert alone <= joint <= alone * (1 + 1e-4)


def test_the_chosen_sigma_is_proportional_to_the_forgotten_share():
    """Observer all: mu is (s/noise_std) times constants, s = 2 M eta n_f/n."""
    small = Langevin(capacity=0.1).chosen_sigma(job_of(private=100, public=900, observer="all"))
    large = Langevin(capacity=0.4).chosen_sigma(job_of(private=100, public=900, observer="all"))
    assert large / small == pytest.approx(4, rel=1e-9)


@pytest.mark.parametrize("observer", ["final", "all"])
def test_the_capacity_that_was_asked_for_is_honoured(observer):
    strategy = Langevin(learn_steps=60, capacity=0.2)
    job = job_of(private=50, public=450, observer=observer)
    outcomes, after = chain(strategy, job, range(450, 460))
    assert after.roster.forgotten == 10
    assert epsilon(outcomes[-1], after) <= 1.0


def test_a_sigma_that_is_given_is_used_in_every_phase():
    outcomes, _ = chain(Langevin(learn_steps=60, sigma=0.25), job_of(public=900), [950], [951])
    assert {phase.sigma for phase in outcomes[-1].history.phases} == {0.25}


def test_too_many_deletions_for_observer_all_are_refused_with_a_way_out():
    strategy, job = Langevin(learn_steps=60, capacity=0.02), job_of(public=40, observer="all")
    base = strategy.fit(job)
    with pytest.raises(NoCertificate, match="is above the target 1: more was forgotten"):
        strategy.forget(without(job, range(40, 80)), base)


def test_more_unlearning_steps_than_retraining_takes_are_refused_with_a_way_out():
    strategy, job = Langevin(learn_steps=20, sigma=1e-4), job_of()
    base = strategy.fit(job)
    with pytest.raises(NoCertificate, match=r"unlearning steps do not meet the target"):
        strategy.forget(without(job, range(40, 80)), base)


@BOTH
def test_steps_and_noise_depend_on_counts_only(strategy):
    histories = []
    for value in (0.1, -0.4):
        job = job_of(public=900)
        job.features[900:] = value
        job.targets[900:] = int(value > 0)
        outcomes, _ = chain(strategy, job, [950], [951, 952])
        histories.append([(outcome.history, outcome.assumptions) for outcome in outcomes])
    assert histories[0] == histories[1]


def test_a_setting_never_forgets_all_that_there_is():
    assert setting_of(job_of(private=60, public=0), Langevin(10), 60).forget == 59
    assert setting_of(job_of(private=60, public=1), Langevin(10), 60).forget == 60


# The runs themselves.


@BOTH
def test_a_seed_reproduces_the_run_and_none_does_not(strategy):
    def run(seed):
        outcomes, _ = chain(strategy, job_of(public=900, seed=seed), [950], [951])
        return outcomes[-1]

    assert torch.equal(run(5).theta, run(5).theta)
    assert not torch.equal(run(5).theta, run(6).theta)
    assert not torch.equal(run(None).theta, run(None).theta)


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("sigma", [0.1, 1e3])
def test_models_stay_in_the_ball_that_the_certificate_states(sigma, seed):
    loss = Squared(l2=0.1, radius=0.5)
    strategy = Langevin(learn_steps=30, sigma=sigma)
    outcomes, _ = chain(strategy, job_of(loss, public=900, seed=seed), [950])
    for outcome in outcomes:
        assert outcome.assumptions.radius == 0.5
        assert float(outcome.theta.norm()) <= 0.5 * (1 + 1e-14)
    if sigma == 1e3:
        assert float(outcomes[-1].theta.norm()) == pytest.approx(0.5)


def test_clean_learning_never_reaches_its_ball():
    job = job_of(Logistic(l2=1e-3))
    job.features[:] = 0
    job.features[:, 0] = 1
    job.targets[:] = 1
    outcome = NoiseFirst(learn_steps=2000).fit(job)
    assert float(outcome.theta.norm()) < outcome.assumptions.radius == 1e3


def test_clean_learning_is_plain_gradient_descent():
    job = job_of()
    theta = torch.zeros(1, 5, dtype=torch.float64)
    for _ in range(25):
        theta = theta - job.objective.gradient(theta) / (0.25 + LOSS.l2)
    learned = NoiseFirst(learn_steps=25).fit(job)
    torch.testing.assert_close(learned.theta, theta, rtol=1e-12, atol=1e-14)
    (phase,) = learned.history.phases
    assert phase.step_size == pytest.approx(1 / 0.35)


def test_a_released_model_lies_on_its_grid():
    """Unless the ball cut it off: no low bit of the un-noised model survives."""
    outcomes, job = chain(Langevin(learn_steps=30, sigma=0.01), job_of(public=900), [950])
    for outcome in outcomes:
        noise_std = outcome.history.phases[-1].noise_std
        assert float(outcome.theta.norm()) < outcome.assumptions.radius
        # The largest power of two with h sqrt(d) <= 0.1 noise_std/256.
        finest = 0.1 * noise_std / 256 / math.sqrt(job.dimension)
        grid = 2.0 ** math.floor(math.log2(finest))
        steps = outcome.theta.numpy() / grid
        np.testing.assert_array_equal(np.rint(steps), steps)


@BOTH
def test_values_that_are_not_finite_give_no_certificate(strategy):
    job = job_of()
    base = strategy.fit(job)
    job.features[3, 2] = math.nan
    with pytest.raises(NoCertificate, match="not finite"):
        strategy.forget(without(job, [45]), base)


def test_every_step_charges_its_own_rounding_and_the_last_one_the_grid_too():
    outcomes, job = chain(QUICK, job_of(public=900), [950])
    phases = outcomes[-1].history.phases
    assert all(phase.rounding > 0 for phase in phases)
    grid = 0.1 * phases[1].noise_std / 256 / math.sqrt(job.dimension)
    least, most = grid / 2 * math.sqrt(5) / 2, grid * math.sqrt(5) / 2
    assert least <= phases[1].rounding - phases[0].rounding <= most * (1 + 1e-9)


# The distances behind the certificate, on runs that share their noise.


def forward_distance(assumptions, history):
    """How far apart two runs of this history can be: z <- c z + s, step by step."""
    distance = 0.0
    for parts in moduli(assumptions, history):
        for part in parts:
            runs, repeats = ((part,), 1) if isinstance(part, Run) else (part.runs, part.repeats)
            for run in runs * repeats:
                for _ in range(run.steps):
                    distance = run.contraction.c * distance + run.shift
    return distance


def opposed(loss, variant, **options):
    """Rows of full norm; the last six private ones contradict all others."""
    job = job_of(loss, private=30, public=10, target=(15.0, 1e-5), **options)
    rng = np.random.default_rng(variant)
    direction = rng.normal(size=5)
    rows = direction + 0.3 * rng.normal(size=(40, 5))
    rows *= loss.row_norm / np.linalg.norm(rows, axis=1)[:, None]
    job.features[:] = torch.from_numpy(rows)
    job.targets[:] = 0
    job.targets[34:] = 1
    return job


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "loss",
    [
        Logistic(l2=0.02),
        Softmax(3, l2=0.1, row_norm=2.0),
        Squared(l2=0.05, radius=2.0),
    ],
    ids=lambda loss: type(loss).__name__,
)
@pytest.mark.parametrize(
    "scheme", [FullBatch(), Cyclic(4), PoissonBatch(0.3)], ids=lambda s: type(s).__name__
)
def test_runs_with_and_without_the_forgotten_drift_apart_no_further_than_stated(
    monkeypatch, loss, scheme, seed
):
    same_noise = course.normal_source
    monkeypatch.setattr(course, "normal_source", lambda *_: same_noise(seed))
    strategy = Langevin(learn_steps=25, sigma=0.5, scheme=scheme)
    job = opposed(loss, seed, seed=seed)
    after = without(job, range(34, 40))
    learned, retrained = strategy.fit(job), strategy.fit(after)
    unlearned = strategy.forget(after, learned)
    history = History(
        unlearned.history.phases[:2],
        unlearned.history.normaliser,
        unlearned.history.normaliser_count,
    )
    gap = float((learned.theta - retrained.theta).norm())
    allowed = forward_distance(unlearned.assumptions, history)
    assert 0 < gap <= allowed


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "loss",
    [Logistic(l2=0.5), Softmax(3, l2=0.5), Squared(l2=1.0, radius=0.5)],
    ids=lambda loss: type(loss).__name__,
)
def test_the_shift_that_noise_first_hides_is_within_the_certified_mu(loss, seed):
    """All else is deterministic, so mu of this very deletion is the shift over noise_std."""
    strategy = NoiseFirst(learn_steps=25, unlearn_steps=1)
    job = opposed(loss, seed)
    after = without(job, range(34, 40))
    learned, retrained = strategy.fit(job), strategy.fit(after)
    unlearned = strategy.forget(after, learned)
    noisy = unlearned.history.phases[-1]
    ahead = [
        base.theta - noisy.step_size * after.objective.gradient(base.theta)
        for base in (learned, retrained)
    ]
    shift_of_means = float((ahead[0] - ahead[1]).norm())
    certified = shift.bound(unlearned.assumptions, unlearned.history).mu
    assert 0 < shift_of_means / noisy.noise_std <= certified


# The constants behind the certificate, printed as enforced.


@pytest.mark.parametrize("center_norm", [0.0, 3.0])
@pytest.mark.parametrize(
    "loss",
    [Logistic(l2=0.1, row_norm=1.5), Softmax(3, l2=0.1), Squared(l2=0.1, radius=2.0)],
    ids=lambda loss: type(loss).__name__,
)
@BOTH
def test_the_printed_constants_hold_wherever_a_step_can_be(strategy, loss, center_norm):
    """Everywhere in the ball around the ridge's center, its farthest point from 0 included."""
    job = worst_job(loss, center_norm)
    printed = strategy.fit(job).assumptions
    wandered = Langevin(learn_steps=2, sigma=1e3).fit(job)  # as far out as the ball lets it
    reach = float((wandered.theta - job.origin).norm())
    points = [job.origin + sign * reach * direction(loss) for sign in (1, -1)]
    names = ("strong_convexity", "smoothness", "lipschitz", "weight_decay", "radius")
    assert printed.marks == dict.fromkeys(names, "enforced")
    assert contradicted(printed, job, *points, even(job)) == set()
    for name, wrong in falsified(printed):
        assert contradicted(wrong, job, *points, even(job)) == {name}


def test_a_center_makes_the_gradients_that_squares_can_have_longer():
    """B (B (R + ||center||) + Y): the ball lies around the center, not around 0."""
    loss = Squared(l2=0.1, row_norm=1.5, target_norm=0.7, radius=2.0)
    printed = QUICK.fit(worst_job(loss, 3.0)).assumptions
    assert printed.lipschitz == pytest.approx(1.5 * (1.5 * (2.0 + 3.0) + 0.7), rel=1e-12)


@BOTH
@pytest.mark.parametrize("center_norm", [0.0, 1e3])
def test_a_steps_rounding_is_that_of_a_gradient_at_the_balls_farthest_point(strategy, center_norm):
    loss = Squared(l2=0.1, radius=2.0)
    phase = strategy.fit(worst_job(loss, center_norm)).history.phases[0]
    of_gradient = gradient_rounding(
        loss,
        rows=100,
        features=5,
        divisor=100,
        theta_norm=2.0 + center_norm,
        center_norm=center_norm,
    )
    assert phase.rounding >= phase.step_size * of_gradient > 0


@pytest.mark.parametrize("sigma", [1e-3, 1e6])
def test_a_steps_rounding_counts_everything_that_the_step_computes(sigma):
    """Gradient, operations on numbers as large as noise can make them, and the noise's own error.

    Spelled out once more from the constants: nothing is left out, and little is added.
    """
    loss = Squared(l2=0.1, radius=2.0)
    job = worst_job(loss, 0.0)
    phase = Langevin(learn_steps=4, sigma=sigma).fit(job).history.phases[0]
    noise, root = math.sqrt(2 * phase.step_size) * sigma, math.sqrt(5)
    gradient = phase.step_size * job.resolution.gradient_rounding(2.0)
    largest = 2.0 + phase.step_size * loss.lipschitz + 12 * noise * root
    counted = gradient + 2 * (5 + 16) * 2.0**-53 * largest + 2e-14 * noise * root
    assert counted <= phase.rounding <= 1.001 * counted


def with_newcomers(job, count):
    roster = job.roster.with_more(None, count)
    columns = [torch.cat([column, column[:count]]) for column in job.row_columns]
    return job.with_more(roster, columns)


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        (Cyclic(4), "scheme: Cyclic is a partition of the records at fit"),
        (PoissonBatch(0.5), "102 records would be there, and PoissonBatch divides by the 100"),
        (FullBatch(fixed=True), "102 records would be there, and FullBatch divides by the 100"),
    ],
)
def test_schemes_that_do_not_cover_newcomers_refuse_them_by_name(scheme, said):
    job, strategy = job_of(seed=0), Langevin(learn_steps=20, scheme=scheme)
    before = strategy.fit(job)
    with pytest.raises(NoCertificate, match=said):
        strategy.add(with_newcomers(job, 2), before)


@pytest.mark.parametrize("steps", [20, 57])
def test_an_addition_takes_a_tenth_of_the_learning_steps_or_one_where_every_model_counts(steps):
    for job, expected in (
        (job_of(seed=0), steps // 10),
        (job_of(seed=0, observer="all"), 1),
        (replace(job_of(seed=0), adaptive_requests=True), 1),
    ):
        strategy = Langevin(learn_steps=steps)
        before = strategy.fit(job)
        after = strategy.add(with_newcomers(job, 2), before)
        later = after.history.phases[len(before.history.phases) :]
        assert sum(phase.steps for phase in later) == expected
        assert {(phase.samples, phase.sigma) for phase in later} == {
            (102, before.history.phases[0].sigma)
        }
        assert later[-1].released == job.counts_every_model
        assert set(after.rounds[-len(later) :]) == {1}


def test_noise_first_adds_by_clean_steps_and_carries_no_noise_until_something_is_forgotten():
    job, strategy = job_of(seed=0), NoiseFirst(learn_steps=20, unlearn_steps=5)
    more = with_newcomers(job, 3)
    first = strategy.add(more, strategy.fit(job))
    assert first.noise_free
    assert [(phase.steps, phase.samples, phase.sigma) for phase in first.history.phases] == [
        (20, 100, 0.0), (5, 103, 0.0),
    ]  # fmt: skip
    left = more.without([50, 101])
    forgot = strategy.forget(left, first)
    assert not forgot.noise_free
    assert [phase.forgotten for phase in forgot.history.phases] == [1, 2, 0, 0]
    last = strategy.add(with_newcomers(left, 1), forgot)
    assert not last.noise_free
    assert [phase.sigma > 0 for phase in last.history.phases] == [False, False, True, False, False]


# The paper's own settings: Algorithms 1 and 2, whatever they certify.

PAPER = Langevin(learn_steps=20, sigma=0.01, step_size=1e-3, unlearn_steps=5, radius=1.0)


def test_steps_sizes_and_radius_that_are_given_are_those_of_the_history():
    """Paper: [alg:pngd_training], [alg:langevin_unlearning]."""
    outcomes, _ = chain(PAPER, job_of(), [50, 51])
    phases = outcomes[-1].history.phases
    assert [phase.steps for phase in phases] == [19, 1, 4, 1]
    assert {(phase.step_size, phase.sigma) for phase in phases} == {(1e-3, 0.01)}
    assert outcomes[-1].assumptions.radius == 1.0
    assert float(outcomes[-1].theta.norm()) <= 1.0


def test_the_steps_taken_are_those_of_the_formula():
    """theta <- Proj(theta - eta grad + sqrt(2 eta) sigma xi), replayed with the same noise."""
    job = replace(job_of(), seed=5)
    strategy = Langevin(learn_steps=7, sigma=0.3, step_size=0.7, unlearn_steps=3, radius=0.6)
    fitted = strategy.fit(job)
    after = without(job, [50])
    outcome = strategy.forget(after, fitted)
    theta = job.beginning
    for stage, steps in ((job, 7), (after, 3)):
        normal = normal_source(5, f"request {stage.roster.request}")
        for _ in range(steps):
            noise = math.sqrt(2 * 0.7) * 0.3 * normal(theta[None])[0]
            theta = theta - 0.7 * stage.objective.gradient(theta) + noise
            theta = theta * min(1.0, 0.6 / float(theta.norm()))
    torch.testing.assert_close(outcome.theta, theta, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("observer", ["final", "all"])
def test_a_target_that_is_missed_is_certified_as_it_is_and_said_plainly(observer):
    X, y = labelled(200)
    clf = CertifiedClassifier(strategy=PAPER, observer=observer).fit(X, y)
    certificate = clf.forget(range(60))
    exact = shift.bound(clf.fitted_.outcome.assumptions, clf.history_).epsilon(1e-5)
    assert certificate.claim.epsilon == pytest.approx(exact)
    assert certificate.claim.epsilon > 20
    assert certificate.claim.vacuous
    assert "vacuous" in certificate.reservations
    assert any(line.startswith("THE TARGET IS MISSED: epsilon") for line in certificate.scope)
    assert recompute(certificate).claim.epsilon == certificate.claim.epsilon


def test_a_target_that_is_met_is_not_said_to_be_missed():
    X, y = labelled(200)
    strategy = Langevin(learn_steps=50, unlearn_steps=9)
    certificate = CertifiedClassifier(strategy=strategy).fit(X, y).forget([3, 4])
    assert certificate.claim.epsilon <= 1
    assert not any("MISSED" in line for line in certificate.scope)
    assert certificate.history.phases[-2].steps + certificate.history.phases[-1].steps == 9


def test_without_a_number_of_steps_a_missed_target_is_still_refused():
    X, y = labelled(200)
    clf = CertifiedClassifier(strategy=Langevin(learn_steps=20, sigma=1e-3)).fit(X, y)
    with pytest.raises(NoCertificate, match="do not meet the target"):
        clf.forget(range(60))


def test_more_steps_than_learning_took_may_be_given():
    outcomes, _ = chain(Langevin(learn_steps=5, sigma=1.0, unlearn_steps=30), job_of(), [50])
    assert sum(phase.steps for phase in outcomes[-1].history.phases) == 35


def test_requests_that_look_at_models_are_never_honoured_beyond_their_budget():
    """There the claim is the budget fixed at fit: a history beyond it has none."""
    X, y = labelled(200)
    strategy = replace(PAPER, capacity=0.5)
    clf = CertifiedClassifier(strategy=strategy, adaptive_requests=True).fit(X, y)
    with pytest.raises(NoCertificate, match="above the target"):
        clf.forget(range(60))


def test_the_radius_bounds_the_gradients_of_a_regression_without_one():
    outcomes, _ = chain(Langevin(20, radius=0.5), job_of(Squared(0.1)), [50])
    assert outcomes[-1].assumptions.radius == 0.5
    assert outcomes[-1].assumptions.lipschitz == 1.5
    with pytest.raises(ValueError, match="give a radius"):
        Langevin(20).fit(job_of(Squared(0.1)))


def test_a_placebo_takes_the_steps_that_were_given():
    job = replace(job_of(), seed=3)
    fitted = PAPER.fit(job)
    after = without(job, [50])
    placebo = PAPER.placebo(after, fitted)
    assert [p.steps for p in placebo.history.phases] == [19, 1, 4, 1]
    assert not torch.equal(placebo.theta, PAPER.forget(after, fitted).theta)


def test_the_steps_that_are_given_are_those_that_are_priced():
    job = job_of(public=900)
    assert Langevin(100, unlearn_steps=7).price(job, 3).steps == 7
    few, many = (Langevin(100, unlearn_steps=k).price(job, 3).sigma for k in (2, 40))
    assert few > many


@pytest.mark.parametrize("size", [1e-12, 1.0])
def test_noise_too_small_to_be_exact_is_refused_at_fit_whatever_the_records_are(size):
    rows, labels = labelled(40)
    strategy = Langevin(learn_steps=30, step_size=1.0, sigma=1e-14, unlearn_steps=2)
    clf = CertifiedClassifier(strategy=strategy, classes=[0, 1])
    with pytest.raises(ValueError, match=r"noise of 1\.41e-14 is too small"):
        clf.fit(size * rows, labels)


def test_that_refusal_comes_before_any_record_is_looked_at():
    job = job_of(public=0)
    blank = replace(job, features=job.features * math.nan)
    with pytest.raises(ValueError, match="too small to be exact"):
        Langevin(learn_steps=30, sigma=1e-14).fit(blank)
