"""The shift bound: exact where it should be, never below, and the same however it is cut."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from expunge.accounting import Assumptions, History, Phase, Poisson, Refused, learn_unlearn
from expunge.accounting.bounds import shift
from expunge.accounting.bounds.taut_string import pull
from expunge.accounting.moduli import Contraction, Cycle, Part, Run, moduli
from tests import scenarios
from tests.scenarios import Step, capped_mu, hull_mu

# One rounding of a power c^n or a pooled sum costs n ulps; a few hundred steps stay below.
CLOSE = 1e-9


def worst_cases(seed: int, count: int) -> list[scenarios.Quadratic]:
    """Learning, zero to three requests, unlearning; one step size and one noise."""
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(count):
        m = float(np.exp(rng.uniform(-6, 1)))
        L = m * float(np.exp(rng.uniform(0, 4)))
        eta = 2 / (m + L) * float(rng.uniform(0.01, 1)) * (1 - 1e-15)
        sigma = float(np.exp(rng.uniform(-4, 2)))
        cohorts = rng.integers(1, 50, int(rng.integers(1, 5)))
        retained = int(rng.integers(1, 10_000))
        left = [int(cohorts[i:].sum()) for i in range(len(cohorts) + 1)]
        if rng.uniform() < 0.2:
            left = left[:-1]  # not a single step after the last request
        phases = tuple(Phase(int(rng.integers(1, 60)), eta, sigma, retained + f, f) for f in left)
        drawn.append(
            scenarios.worst_case(
                strong_convexity=m,
                smoothness=L,
                lipschitz=float(np.exp(rng.uniform(-2, 3))),
                history=History(phases, rng.choice(["mean", "fixed"])),
            )
        )
    return drawn


def test_the_bound_is_attained_by_opposite_gradients_on_the_slowest_direction():
    for setting in worst_cases(seed=1, count=600):
        claimed = shift.bound(setting.assumptions, setting.history).mu
        assert setting.mu() / claimed == pytest.approx(1, abs=CLOSE)
        assert (
            scenarios.shortfalls(shift.bound(setting.assumptions, setting.history), setting.mu())
            == []
        )


def test_opposite_gradients_expose_a_squared_step_size_and_a_forgotten_decay():
    faults = {"eta squared": 0, "one unlearning step too many": 0}
    for setting in worst_cases(seed=2, count=100):
        squared = shift.bound(scenarios.with_squared_step_size(setting), setting.history)
        faults["eta squared"] += bool(scenarios.shortfalls(squared, setting.mu()))
        *before, last = setting.history.phases
        longer = replace(setting.history, phases=(*before, replace(last, steps=last.steps + 1)))
        if not last.forgotten:
            early = shift.bound(setting.assumptions, longer)
            faults["one unlearning step too many"] += bool(
                scenarios.shortfalls(early, setting.mu())
            )
    assert min(faults.values()) > 30


def test_an_initial_gaussian_law_only_helps():
    for point in worst_cases(seed=3, count=100):
        spread = replace(point, initial_variance=0.3)
        assert spread.mu() <= point.mu()
        assert (
            scenarios.shortfalls(shift.bound(spread.assumptions, spread.history), spread.mu()) == []
        )


# Closed forms and limits.


EXPANDING = Assumptions(smoothness=2.0, lipschitz=1.0)  # c = 1 + 2 eta


def test_expanding_steps_without_unlearning_are_plain_composition():
    phases = (Phase(7, 0.1, 0.5, 100, 5), Phase(4, 0.2, 0.9, 98, 3))
    mu = shift.bound(EXPANDING, History(phases)).mu
    terms = [
        p.steps * (2 * p.step_size * p.forgotten / p.samples / p.noise_std) ** 2 for p in phases
    ]
    late = shift.bound(EXPANDING, History(phases[:1])).mu
    assert late**2 == pytest.approx(terms[0], rel=1e-11)
    # The second phase is gentler, so part of the first is pooled with it: below composition.
    assert mu**2 <= sum(terms) * (1 + 1e-11)
    assert mu == pytest.approx(hull_mu(scenarios.steps_of(EXPANDING, History(phases))), rel=CLOSE)


@pytest.mark.parametrize("steps", [1, 10, 100, 3_000, 10**9])
def test_from_a_distance_expanding_steps_saturate(steps):
    c, z = 1.2, 3.0
    declared = replace(EXPANDING, initial_distance=z)
    phase = Phase(steps, 0.1, 0.5, 100)
    mu = shift.bound(declared, History((phase,))).mu
    limit = z * math.sqrt(c * c - 1) / phase.noise_std
    grown = -math.expm1(-2 * steps * math.log(c))  # 1 - c^(-2 steps)
    assert mu == pytest.approx(limit / math.sqrt(grown), rel=1e-11)
    assert mu >= limit


@pytest.mark.parametrize("steps", [1, 10, 10**6, 10**12])
def test_convex_losses_have_mu_s_over_nu_times_t_over_root_of_all_steps(steps):
    declared = Assumptions(strong_convexity=0.0, smoothness=1.0, lipschitz=1.0)
    history = learn_unlearn(
        learn_steps=steps, unlearn_steps=50, step_size=0.5, sigma=0.7, samples=1000, forgotten=3
    )
    s, nu = 2 * 0.5 * 3 / 1000, 0.7
    expected = s / nu * steps / math.sqrt(steps + 50)
    assert shift.bound(declared, history).mu == pytest.approx(expected, rel=1e-11)


def test_a_trillion_steps_converge_to_the_stationary_value():
    m, eta, sigma, rho = 0.01, 0.5, 0.3, 0.02
    declared = Assumptions(strong_convexity=m, smoothness=1.0, lipschitz=2.0)
    history = learn_unlearn(
        learn_steps=10**12, unlearn_steps=30, step_size=eta, sigma=sigma, samples=100, forgotten=2
    )
    renyi = 2.0**2 * rho**2 * (2 - eta * m) / (m * sigma**2) * (1 - eta * m) ** 60
    assert shift.bound(declared, history).renyi(2.0) == pytest.approx(2 * renyi, rel=1e-10)


def test_noise_before_the_first_forgotten_record_earns_nothing():
    declared = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
    private = (Phase(10, 0.5, 0.3, 100, 5), Phase(6, 0.5, 0.3, 95))
    alone = shift.bound(declared, History(private)).mu
    pretrained = shift.bound(declared, History((Phase(1000, 1.0, 9.0, 50), *private))).mu
    assert pretrained == pytest.approx(alone, rel=1e-11)


# Noiseless steps.


def test_all_the_noise_in_one_step_after_noiseless_learning():
    m, eta, T = 0.1, 0.5, 40
    declared = Assumptions(strong_convexity=m, smoothness=1.0, lipschitz=1.0)
    c, s = 1 - eta * m, 2 * eta * 4 / 50
    noisy = Phase(1, eta, 0.6, 46)
    phases = (Phase(T, eta, 0.0, 50, 4), noisy, Phase(9, eta, 0.0, 46))
    expected = c * s * (1 - c**T) / (1 - c) / noisy.noise_std
    assert shift.bound(declared, History(phases)).mu == pytest.approx(expected, rel=1e-11)


def test_noiseless_steps_on_forgotten_records_after_the_last_noise_are_refused():
    declared = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
    phases = (Phase(3, 0.5, 1.0, 50, 4), Phase(1, 0.5, 0.0, 50, 4))
    with pytest.raises(Refused, match="no noise"):
        shift.bound(declared, History(phases))
    with pytest.raises(Refused, match="no noise"):
        shift.bound(declared, History((Phase(3, 0.5, 0.0, 50, 4), Phase(3, 0.5, 0.0, 46))))


# Releases.


def joint_mu(setting: scenarios.Quadratic) -> float:
    """Exact mu of all released models together: one Gaussian vector, one eigendirection."""
    gap, variance, gaps = 0.0, setting.initial_variance, []
    carried: list[float] = []  # covariance of the present model with each released one
    rows: list[list[float]] = []
    (h,) = setting.eigenvalues
    for phase, (difference,) in zip(setting.history.phases, setting.gaps, strict=True):
        slope = 1 - phase.step_size * h
        for _ in range(phase.steps):
            gap = slope * gap + phase.step_size * difference
            variance = slope**2 * variance + phase.noise_std**2
            carried = [slope * x for x in carried]
        if phase.released or phase is setting.history.phases[-1]:
            rows.append([*carried, variance])
            gaps.append(gap)
            carried.append(variance)
    covariance = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        covariance[i, : i + 1] = covariance[: i + 1, i] = row
    return math.sqrt(float(np.array(gaps) @ np.linalg.solve(covariance, np.array(gaps))))


def released(setting: scenarios.Quadratic, which: set[int]) -> scenarios.Quadratic:
    phases = tuple(replace(p, released=i in which) for i, p in enumerate(setting.history.phases))
    return replace(setting, history=replace(setting.history, phases=phases))


def test_released_models_seen_jointly_are_priced_exactly():
    checked = 0
    for setting in worst_cases(seed=4, count=150):
        count = len(setting.history.phases)
        for which in ({0}, set(range(count)), {count - 2}):
            seen = released(setting, which)
            (h,) = seen.eigenvalues
            # Solving the joint covariance loses its condition number: keep it moderate.
            if abs(1 - seen.history.phases[0].step_size * h) > 0.999:
                continue
            claimed = shift.bound(seen.assumptions, seen.history).mu
            assert joint_mu(seen) / claimed == pytest.approx(1, abs=CLOSE)
            checked += 1
    assert checked > 200


def test_mu_squared_adds_over_the_stretches_between_releases():
    declared = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
    learn, again = Phase(30, 0.5, 0.4, 100, 8, released=True), Phase(9, 0.3, 0.2, 95, 3)
    last = Phase(5, 0.3, 0.2, 92)
    both = shift.bound(declared, History((learn, again, last))).mu
    first = shift.bound(declared, History((learn,))).mu
    second = shift.bound(declared, History((again, last))).mu
    assert both == pytest.approx(math.hypot(first, second), rel=1e-12)
    assert both > shift.bound(declared, History((replace(learn, released=False), again, last))).mu


def test_ignoring_a_release_is_caught_by_the_joint_law():
    setting = released(worst_cases(seed=5, count=1)[0], {0})
    ignored = shift.bound(setting.assumptions, released(setting, set()).history)
    assert scenarios.shortfalls(ignored, joint_mu(setting))


# Rounding budget.


@pytest.mark.parametrize("u", [1e-6, 1e-2, 1.0])
@pytest.mark.parametrize(
    "declared",
    [
        Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0),
        Assumptions(strong_convexity=0.0, smoothness=1.0, lipschitz=1.0),
        Assumptions(smoothness=1.0, lipschitz=1.0),
    ],
)
def test_a_rounding_budget_is_charged_from_the_first_forgotten_record_to_the_last_noise(
    declared, u
):
    def history(rounding: float) -> History:
        return History(
            (
                Phase(5, 0.5, 0.4, 90, rounding=rounding),
                Phase(12, 0.5, 0.4, 100, 10, rounding=rounding),
                Phase(8, 0.5, 0.4, 90, rounding=rounding),
                Phase(3, 0.5, 0.0, 90, rounding=rounding),
            )
        )

    clean = shift.bound(declared, history(0.0)).mu
    charged = shift.bound(declared, history(u)).mu
    steps = scenarios.steps_of(declared, history(0.0))
    by_hand = [
        replace(step, s=step.s + (2 * max(1.0, step.c) * u if 5 <= k < 25 else 0.0))
        for k, step in enumerate(steps)
    ]
    assert charged > clean
    assert charged == pytest.approx(hull_mu(by_hand[:25]), rel=CLOSE)


# However the history is cut, the number is the same.


REGIMES = {
    "contracting": Assumptions(strong_convexity=0.2, smoothness=1.0, lipschitz=1.0),
    "convex": Assumptions(strong_convexity=0.0, smoothness=1.0, lipschitz=1.0),
    "expanding": Assumptions(smoothness=0.4, lipschitz=1.0),
    "clipped": Assumptions(clip=1.0, weight_decay=0.1),
}


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("radius", [None, 0.3, 2.0])
@pytest.mark.parametrize("unlearn", [0, 1, 25])
def test_a_phase_of_equal_steps_is_as_many_phases_of_one_step(regime, radius, unlearn):
    declared = replace(REGIMES[regime], radius=radius)
    phases = (Phase(3, 0.5, 0.4, 90), Phase(40, 0.5, 0.4, 100, 10), Phase(9, 0.2, 0.9, 96, 6))
    if unlearn:
        phases += (Phase(unlearn, 0.5, 0.4, 90),)
    single = tuple(replace(phase, steps=1) for phase in phases for _ in range(phase.steps))
    whole = shift.bound(declared, History(phases)).mu
    assert shift.bound(declared, History(single)).mu == pytest.approx(whole, rel=CLOSE)
    brute = capped_mu(scenarios.steps_of(declared, History(phases)), diameter=declared.diameter)
    assert whole == pytest.approx(brute, rel=CLOSE)


def random_parts(rng: np.random.Generator, *, cycles: bool) -> list[Part]:
    def constant() -> Contraction:
        kind = rng.integers(0, 3)
        if kind == 0:
            return Contraction.of(float(rng.choice([rng.uniform(0.3, 1), rng.uniform(0.97, 1)])))
        if kind == 1:
            return Contraction.of(1.0)
        return Contraction.of(float(rng.choice([rng.uniform(1, 1.7), 1 + 1e-9])))

    parts: list[Part] = []
    for _ in range(int(rng.integers(1, 5))):
        c, nu = constant(), float(np.exp(rng.uniform(-3, 1)))
        if cycles and rng.uniform() < 0.6:
            batches = tuple(
                Run(int(rng.integers(1, 3)), c, float(rng.choice([0, rng.uniform(0, 2)])), nu)
                for _ in range(int(rng.integers(1, 5)))
            )
            parts.append(Cycle(batches, int(rng.integers(1, 12))))
            continue
        s = float(np.exp(rng.uniform(-4, 1))) if rng.uniform() < 0.6 else 0.0
        nu *= rng.uniform() > 0.1
        parts.append(Run(int(rng.integers(1, rng.choice([4, 12, 80]))), c, s, nu))
    return parts


def test_compressed_runs_and_cycles_pull_the_same_string_as_every_step_written_out():
    rng = np.random.default_rng(6)
    for _ in range(500):
        parts = random_parts(rng, cycles=True)
        distance = float(rng.choice([0, 0, rng.uniform(0, 3)]))
        brute = hull_mu(scenarios.expanded(parts), distance)
        assert pull(parts, initial_distance=distance) == pytest.approx(brute, rel=CLOSE)


def test_compressed_runs_under_a_cap_find_the_best_of_all_starting_points():
    rng = np.random.default_rng(7)
    bound_by_cap = 0
    for _ in range(300):
        parts = random_parts(rng, cycles=False)
        diameter = float(np.exp(rng.uniform(-2, 2)))
        distance = float(rng.choice([0, rng.uniform(0, diameter)]))
        steps = scenarios.expanded(parts)
        brute = capped_mu(steps, distance=distance, diameter=diameter)
        found = pull(parts, initial_distance=distance, diameter=diameter)
        assert found == pytest.approx(brute, rel=CLOSE)
        bound_by_cap += brute < hull_mu(steps, distance) * (1 - CLOSE)
    assert bound_by_cap > 100


def test_cycles_under_a_cap_are_never_below_the_best_of_all_starting_points():
    rng = np.random.default_rng(8)
    for _ in range(300):
        parts = random_parts(rng, cycles=True)
        diameter = float(np.exp(rng.uniform(-2, 2)))
        brute = capped_mu(scenarios.expanded(parts), diameter=diameter)
        assert pull(parts, diameter=diameter) >= brute * (1 - CLOSE)


def test_the_unchecked_chord_would_be_below_the_valid_hull_and_is_caught():
    rng = np.random.default_rng(9)
    below = 0
    for _ in range(200):
        steps = scenarios.expanded(random_parts(rng, cycles=True))
        w, S, V = 1.0, 0.0, 0.0
        for step in reversed(steps):
            S, V, w = S + w * step.s, V + (w * step.nu) ** 2, w * step.c
        brute = hull_mu(steps)
        below += V > 0 and S / math.sqrt(V) < brute * (1 - CLOSE)
    assert below > 20


@pytest.mark.parametrize("normaliser", ["mean", "fixed"])
@pytest.mark.parametrize("regime", ["contracting", "convex", "expanding"])
@pytest.mark.parametrize("steps", [1, 7, 9, 50, 61])
def test_cyclic_batches_are_the_sequence_of_their_own_sensitivities(normaliser, regime, steps):
    declared = REGIMES[regime]
    batches, sizes = (0, 3, 1, 0), (25, 20, 30, 25)
    learn = Phase(steps, 0.5, 0.4, 100, 4, batches=batches, batch_size=sizes)
    unlearn = Phase(6, 0.5, 0.4, 96, 0, batches=(0, 0), batch_size=48)
    history = History((learn, unlearn), normaliser)
    eta, nu = learn.step_size, learn.noise_std
    c = {"contracting": 1 - eta * 0.2, "convex": 1.0, "expanding": 1 + eta * 0.4}[regime]
    sides = 2 if normaliser == "mean" else 1
    by_hand = [Step(c, sides * eta * batches[k % 4] / sizes[k % 4], nu) for k in range(steps)] + [
        Step(c, 0.0, nu)
    ] * 6
    assert shift.bound(declared, history).mu == pytest.approx(hull_mu(by_hand), rel=CLOSE)


def test_a_clipped_smooth_loss_takes_the_best_piece_of_its_modulus_for_each_step():
    rng = np.random.default_rng(10)
    for _ in range(60):
        declared = Assumptions(
            clip=float(rng.uniform(0.2, 2)),
            smoothness=float(rng.uniform(0.2, 2)),
            weight_decay=0.1,
            radius=None if rng.uniform() < 0.5 else float(rng.uniform(0.2, 2)),
        )
        eta, sigma = float(rng.uniform(0.1, 1)), float(rng.uniform(0.2, 1))
        history = History(
            (
                Phase(int(rng.integers(1, 5)), eta, sigma, 20, 5),
                Phase(int(rng.integers(1, 5)), eta, sigma, 15),
            )
        )
        (runs,) = moduli(declared, history)
        pieces = [
            [(r.contraction.c, r.shift), (r.smooth.contraction.c, r.smooth.shift)]
            for r in runs
            for _ in range(r.steps)
        ]
        nu = runs[0].noise_std
        best = min(
            capped_mu([Step(c, s, nu) for c, s in choice], diameter=declared.diameter)
            for choice in product(*pieces)
        )
        assert shift.bound(declared, history).mu == pytest.approx(best, rel=CLOSE)


# Poisson batches: curvature comes and goes with the batch.


def poisson_case(
    rng: np.random.Generator, expected_batch: float
) -> tuple[Assumptions, History, float, float]:
    """(declared, history, exact mu, mu from the nominal contraction constant).

    Retained rows are quadratics of curvature h, forgotten ones linear with slope +-M; in
    every batch their sign is the one that widens the gap. Given the batches both chains
    are Gaussian with the same covariance.
    """
    n, forgotten = 40, 8
    rate, ridge, h, M = expected_batch / n, 0.05, 1.0, 1.0
    eta = 2 / (ridge + h) * float(rng.uniform(0.5, 1))
    learn, unlearn, sigma = int(rng.integers(1, 15)), int(rng.integers(0, 10)), 0.7
    counts = [
        (int(rng.binomial(n - forgotten, rate)), int(rng.binomial(forgotten, rate)))
        for _ in range(learn)
    ]
    after = [(int(rng.binomial(n - forgotten, rate)), 0) for _ in range(unlearn)]
    phases = [Phase(learn, eta, sigma, n, forgotten, poisson=Poisson(rate, tuple(counts)))]
    if unlearn:
        phases.append(
            Phase(unlearn, eta, sigma, n - forgotten, poisson=Poisson(rate, tuple(after)))
        )
    declared = Assumptions(
        strong_convexity=ridge, smoothness=ridge + h, lipschitz=M, weight_decay=ridge
    )
    nu = phases[0].noise_std
    gap = variance = 0.0
    nominal = max(abs(1 - eta * ridge), abs(1 - eta * (ridge + h)))
    steps = []
    for b, f in counts + after:
        slope = abs(1 - eta * (ridge + h * b / (rate * n)))
        s = eta * M * f / (rate * n)
        gap, variance = slope * gap + s, slope**2 * variance + nu**2
        steps.append(Step(nominal, s, nu))
    return declared, History(tuple(phases), "fixed"), gap / math.sqrt(variance), hull_mu(steps)


@pytest.mark.parametrize("expected_batch", [2.0, 3.0, 5.0])
def test_realised_poisson_batches_are_covered_where_the_nominal_constant_is_not(expected_batch):
    rng = np.random.default_rng(12)
    nominal_below = 0
    for _ in range(400):
        declared, history, mu, nominal = poisson_case(rng, expected_batch)
        if mu == 0:
            continue
        assert scenarios.shortfalls(shift.bound(declared, history), mu) == []
        nominal_below += nominal < mu * (1 - CLOSE)
    assert nominal_below > 0


def test_a_clipped_poisson_batch_of_forgotten_records_alone_is_charged_in_full():
    """One step from a point: two Gaussians, eta C f/(q nbar) apart."""
    phase = Phase(1, 0.1, 1.0, 10, 4, poisson=Poisson(0.05, ((0, 4),)))
    exact = 0.1 * 1.0 * 4 / (0.05 * 10) / phase.noise_std
    guarantee = shift.bound(Assumptions(clip=1.0), History((phase,), "fixed"))
    assert scenarios.shortfalls(guarantee, exact) == []


# Chains that start apart differ from the first step on, whatever the data.


def test_clipped_gradients_count_from_the_start_when_the_chains_start_apart():
    """THEORY 2.4, Koloskova: S = c^K z + 2 eta C (1-c^K)/(1-c)."""
    eta, K, z, ridge = 0.1, 10, 0.2, 0.5
    declared = Assumptions(clip=1.0, weight_decay=ridge, initial_distance=z)
    phase = Phase(K, eta, 0.1, 100)
    c = 1 - eta * ridge
    S = c**K * z + 2 * eta * (1 - c**K) / (1 - c)
    V = phase.noise_std**2 * (1 - c ** (2 * K)) / (1 - c * c)
    found = shift.bound(declared, History((phase,))).mu
    assert found == pytest.approx(S / math.sqrt(V), rel=CLOSE)


def test_rounding_counts_from_the_start_when_the_chains_start_apart():
    declared = Assumptions(
        strong_convexity=0.1, smoothness=1.0, lipschitz=1.0, initial_distance=1.0
    )
    clean, rounded = (
        shift.bound(declared, History((Phase(10, 0.1, 1.0, 100, rounding=u),))).mu
        for u in (0.0, 0.5)
    )
    assert rounded > clean


def test_a_bound_hands_out_its_witness():
    loss = Assumptions(0.1, 1.0, 1.0)
    first, second = Phase(50, 0.5, 0.3, 1000, 10, released=True), Phase(20, 0.5, 0.3, 995, 5)
    bound = shift.bound(loss, History((first, second)))
    assert bound.witness.document() == {
        "stretches": [
            {"start": None, "lines": [], "edges": [50]},
            {"start": None, "lines": [], "edges": [20]},
        ]
    }
    assert bound == shift.Shifted(bound.mu)  # what it was found by is no part of the guarantee


def test_chains_that_never_part_have_a_witness_without_steps():
    history = History((Phase(5, 0.5, 0.3, 100, released=True), Phase(5, 0.5, 0.3, 100)))
    nothing = shift.nothing_forgotten(history)
    assert nothing.mu == 0.0
    assert [stretch.edges for stretch in nothing.witness.stretches] == [(), ()]
    assert shift.bound(Assumptions(0.1, 1.0, 1.0), history).witness == nothing.witness
