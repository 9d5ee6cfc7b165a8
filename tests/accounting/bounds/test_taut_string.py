"""The solver against methods that share nothing with it.

`pull` pools violators on a minorant. Here the problem itself is solved: minimise |x| over
x_k = a_k/nu_k subject to z_k >= 0 and z_N = 0, a least-distance program, through nonnegative
least squares on its dual (Lawson and Hanson 1974, chapter 23).
"""

import math
import random
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.optimize import nnls

from expunge.accounting import Refused
from expunge.accounting.bounds.taut_string import forward_distance, pull, pull_string
from expunge.accounting.moduli import Contraction, Cycle, Run
from tests.accounting import oracle

TOLERANCE = 1e-8


class Step(NamedTuple):
    c: float
    s: float
    nu: float


class Problem(NamedTuple):
    steps: tuple[Step, ...]
    start: float = 0.0


def run(count: int, c: float, s: float, nu: float) -> Run:
    return Run(count, Contraction.of(c), s, nu, differs=s > 0)


def solved_by_pooling(problem: Problem) -> float:
    runs = [run(1, *step) for step in problem.steps]
    return pull(runs, initial_distance=problem.start)


def solved_by_least_squares(problem: Problem) -> float:
    """Lawson and Hanson's LDP: minimise |x| subject to G x >= h."""
    count = len(problem.steps)
    weights, distance = np.zeros((count, count)), np.zeros(count)
    row, z = np.zeros(count), problem.start
    for k, (c, s, nu) in enumerate(problem.steps):
        row, z = c * row, c * z + s
        row[k] = nu
        weights[k], distance[k] = row, z
    if distance[-1] == 0:
        return 0.0
    G = np.vstack([-weights, weights[-1:]])  # z_k >= 0, and z_N <= 0
    h = np.append(-distance, distance[-1])
    size = np.linalg.norm(G, axis=1)
    if np.any((size == 0) & (h > 0)):
        return math.inf  # a distance that no noise can hide
    kept = size > 0
    G, h = G[kept] / size[kept, None], h[kept] / size[kept]
    scale = np.max(np.abs(h))
    E = np.vstack([G.T, h / scale])
    target = np.zeros(count + 1)
    target[-1] = 1.0
    u, _ = nnls(E, target)
    residual = E @ u - target
    # -residual[-1] is 1/(1 + (mu/scale)^2): far above rounding unless nothing is feasible.
    if -residual[-1] < 1e-12:
        return math.inf
    x = -residual[:-1] / residual[-1] * scale
    return float(np.linalg.norm(x))


def solved_by_an_unchecked_chord(problem: Problem) -> float:
    """The planted fault: S_N^2/V_N whether or not the chord is feasible (THEORY 2.2)."""
    S, V = problem.start, 0.0
    for c, s, nu in problem.steps:
        S, V = c * S + s, c * c * V + nu * nu
    return S / math.sqrt(V) if V else math.inf


def random_problem(seed: int) -> Problem:
    rng = random.Random(seed)
    steps = []
    for _ in range(rng.randint(1, 12)):
        c = rng.choice((1.0, rng.uniform(0.3, 1.0), rng.uniform(0.95, 1.05), rng.uniform(1, 1.5)))
        s = rng.choice((0.0, rng.uniform(0.0, 1.0), rng.uniform(0.0, 0.1)))
        nu = rng.choice((0.0, rng.uniform(0.2, 1.0))) if rng.random() < 0.3 else rng.uniform(0.2, 2)
        if nu > 0 and rng.random() < 0.05:
            c = 0.0
        steps.append(Step(c, s, nu))
    if rng.random() < 0.5:  # all alike, as in a phase
        steps = [Step(steps[0].c, step.s, steps[0].nu) for step in steps]
    if not any(step.nu for step in steps[-2:]):
        steps[-1] = steps[-1]._replace(nu=rng.uniform(0.2, 2))
    return Problem(tuple(steps), rng.choice((0.0, rng.uniform(0.0, 3.0))))


PROBLEMS = [random_problem(seed) for seed in range(500)]


def disagreements(solver) -> int:
    wrong = 0
    for problem in PROBLEMS:
        exact = solved_by_least_squares(problem)
        found = solver(problem)
        same = found == exact if math.isinf(exact) else abs(found - exact) <= TOLERANCE * exact
        wrong += not (same or max(found, exact) < 1e-300)
    return wrong


def test_pooling_agrees_with_least_squares_on_random_problems() -> None:
    assert disagreements(solved_by_pooling) == 0


def test_an_unchecked_chord_would_be_caught() -> None:
    assert disagreements(solved_by_an_unchecked_chord) > 50


def test_pooling_agrees_with_gift_wrapping_at_fifty_digits() -> None:
    for problem in PROBLEMS[:200]:
        steps = [oracle.Steps(1, mpf(c), mpf(s), mpf(nu)) for c, s, nu in problem.steps]
        exact, found = oracle.shift_mu(steps, problem.start), solved_by_pooling(problem)
        if exact == mp.inf:
            assert found == math.inf
        else:
            assert abs(found - exact) <= mpf("1e-13") * exact


def test_the_random_problems_are_of_every_kind() -> None:
    steps = [step for problem in PROBLEMS for step in problem.steps]
    assert {0.0, 1.0} <= {step.c for step in steps}
    assert min(step.c for step in steps if step.c) < 0.5
    assert max(step.c for step in steps) > 1.4
    assert any(step.nu == 0 for step in steps)
    assert any(step.s == 0 for step in steps)
    assert any(problem.start == 0 for problem in PROBLEMS)
    assert any(problem.start > 0 for problem in PROBLEMS)
    assert {len(problem.steps) for problem in PROBLEMS} == set(range(1, 13))
    assert sum(math.isinf(solved_by_pooling(problem)) for problem in PROBLEMS) > 5


# ---- identities -------------------------------------------------------------------------------


def test_shifts_scale_mu_and_noise_divides_it() -> None:
    for problem in PROBLEMS[:100]:
        mu = solved_by_pooling(problem)
        larger = Problem(tuple(Step(c, 8 * s, nu) for c, s, nu in problem.steps), 8 * problem.start)
        noisier = problem._replace(steps=tuple(Step(c, s, 8 * nu) for c, s, nu in problem.steps))
        assert solved_by_pooling(larger) == pytest.approx(8 * mu, rel=1e-13)
        assert solved_by_pooling(noisier) == pytest.approx(mu / 8, rel=1e-13)


@pytest.mark.parametrize("c", [0.0, 0.5, 0.999, 1.0, 1.001, 1.5])
@pytest.mark.parametrize("start", [0.0, 0.7])
@pytest.mark.parametrize("s", [0.0, 0.3])
def test_cutting_a_run_in_two_changes_nothing(c: float, start: float, s: float) -> None:
    whole = [run(40, c, s, 0.6), run(9, c, 0.0, 0.6)]
    cut = [run(13, c, s, 0.6), run(27, c, s, 0.6), run(1, c, 0.0, 0.6), run(8, c, 0.0, 0.6)]
    one, other = (pull(runs, initial_distance=start) for runs in (whole, cut))
    assert one == pytest.approx(other, rel=1e-13)


@pytest.mark.parametrize("c", [0.9, 1.0, 1.01])
def test_a_cycle_equals_its_unrolled_steps(c: float) -> None:
    epoch = (run(1, c, 0.0, 0.6), run(2, c, 0.3, 0.6), run(1, c, 0.1, 0.6))
    tail = [run(5, c, 0.0, 0.6)]
    one = pull([Cycle(epoch, 25), *tail], initial_distance=0.4)
    other = pull([*(epoch * 25), *tail], initial_distance=0.4)
    assert one == pytest.approx(other, rel=1e-12)


def test_an_expanding_cycle_too_long_to_unroll_is_refused() -> None:
    epoch = (run(1, 1.1, 0.0, 0.6), run(1, 1.1, 0.3, 0.6))
    with pytest.raises(Refused, match="expanding"):
        pull([Cycle(epoch, 10**9)])


# ---- degenerate cases -------------------------------------------------------------------------


@pytest.mark.parametrize("c", [0.0, 0.5, 1.0, 2.0])
def test_a_single_step_is_one_gaussian_mechanism(c: float) -> None:
    found = pull([run(1, c, 0.3, 0.5)], initial_distance=0.4)
    assert found == pytest.approx((c * 0.4 + 0.3) / 0.5, rel=1e-14)


def test_no_steps_and_no_distance_cost_nothing() -> None:
    assert pull([]) == 0.0


def test_no_shift_anywhere_costs_exactly_nothing() -> None:
    for c in (0.0, 0.5, 1.0, 1.5):
        assert pull([run(7, c, 0.0, 0.5), run(3, c, 0.0, 0.0)]) == 0.0


def test_no_noise_anywhere_is_infinite_once_anything_shifts() -> None:
    for c in (0.5, 1.0, 1.5):
        assert pull([run(7, c, 0.1, 0.0)]) == math.inf
        assert pull([run(7, c, 0.1, 0.0), run(3, c, 0.0, 0.0)]) == math.inf
        assert pull([run(7, c, 0.0, 0.0)], initial_distance=0.1) == math.inf


def test_a_zero_contraction_erases_everything_before_its_step() -> None:
    erasing = run(1, 0.0, 0.2, 0.5)
    alone = pull([erasing])
    assert alone == pytest.approx(0.4, rel=1e-14)
    assert pull([run(50, 0.9, 5.0, 0.1), erasing], initial_distance=9.0) == alone
    assert pull([run(50, 1.1, 5.0, 0.0), erasing]) == alone
    assert pull([run(50, 0.9, 5.0, 0.1), run(1, 0.0, 0.0, 0.5)]) == 0.0


def test_trailing_noiseless_steps_on_equal_data_are_post_processing() -> None:
    noisy = [run(9, 0.9, 0.3, 0.5), run(3, 0.9, 0.0, 0.5)]
    for c in (0.5, 1.0, 1.5):
        assert pull([*noisy, run(100, c, 0.0, 0.0)]) == pull(noisy)


def test_trailing_noiseless_steps_on_different_data_are_infinite() -> None:
    assert pull([run(9, 0.9, 0.3, 0.5), run(1, 0.9, 1e-9, 0.0)]) == math.inf


def test_noise_before_the_first_shift_earns_nothing() -> None:
    learning = [run(20, 0.95, 0.3, 0.5), run(3, 0.95, 0.0, 0.5)]
    warmed_up = [run(1000, 0.95, 0.0, 5.0), *learning]
    assert pull(warmed_up) == pytest.approx(pull(learning), rel=1e-14)


def test_all_noise_in_one_step_pays_the_whole_distance() -> None:
    """THEORY 5.2: mu = c Z_T / nu."""
    c, s, T, nu = 0.9, 0.2, 30, 0.5
    found = pull([run(T, c, s, 0.0), run(1, c, 0.0, nu), run(10, c, 0.0, 0.0)])
    assert found == pytest.approx(c * s * (1 - c**T) / (1 - c) / nu, rel=1e-13)


# ---- closed forms at lengths that no loop reaches ---------------------------------------------


@pytest.mark.parametrize("rate", ["1e-13", "1e-12", "3e-9", "0.0454", "0.9"])
@pytest.mark.parametrize("unlearn", [0, 1, 700])
def test_a_trillion_identical_steps_match_the_closed_form(rate: str, unlearn: int) -> None:
    """THEORY 2.3, with c an exact rational."""
    c, T, K, s, nu = 1 - Fraction(rate), 10**12, unlearn, 0.001, 0.7
    runs = [Run(T, Contraction.exactly(c), s, nu)]
    if K:
        runs.append(Run(K, Contraction.exactly(c), 0.0, nu))
    c_ = mpf(c.numerator) / c.denominator
    exact = mpf(s) / mpf(nu) * c_**K * mp.sqrt((1 + c_) / (1 - c_)) * (1 - c_**T)
    exact /= mp.sqrt(1 - c_ ** (2 * (T + K)))
    found = pull(runs)
    if exact < mpf("1e-153"):  # its square is no normal double
        assert 0 < found < 1e-150
    else:
        assert abs(found - exact) <= mpf("1e-12") * exact


def test_a_trillion_steps_without_contraction_match_the_closed_form() -> None:
    T, K, s, nu = 10**12, 10**6, 1e-7, 0.7
    found = pull([run(T, 1.0, s, nu), run(K, 1.0, 0.0, nu)])
    assert found == pytest.approx(s / nu * T / math.sqrt(T + K), rel=1e-14)


@pytest.mark.parametrize("c", [1 + 1e-12, 1.05, 2.0])
def test_a_trillion_expanding_steps_are_plain_composition(c: float) -> None:
    found = pull([run(10**12, c, 1e-6, 0.5)])
    assert found == pytest.approx(1e-6 / 0.5 * 1e6, rel=1e-12)


@pytest.mark.parametrize("c", [1 + 1e-9, 1.05, 2.0])
@pytest.mark.parametrize("unlearn", [1, 5, 10**12])
def test_unlearning_after_a_trillion_expanding_steps_is_composition_then_one_chord(
    c: float, unlearn: int
) -> None:
    T, K, s, nu = 10**12, unlearn, 1e-6, 0.5
    found = pull([run(T, c, s, nu), run(K, c, 0.0, nu)])
    c_, s_, nu_ = mpf(c), mpf(s), mpf(nu)

    def chord(j: int) -> tuple[mpf, mpf]:
        """S and V of the last j learning steps and the K after them, in final units."""
        S = s_ * c_**K * ((c_**j - 1) / (c_ - 1))
        return S, nu_**2 * (c_ ** (2 * (j + K)) - 1) / (c_**2 - 1)

    def kept(j: int) -> bool:
        """Whether the step before the chord is no steeper than it."""
        S, V = chord(j)
        return s_ / (c_ ** (K + j) * nu_**2) <= S / V

    low, high = 0, T
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if kept(middle) else (middle + 1, high)
    S, V = chord(low)
    exact = mp.sqrt((T - low) * (s_ / nu_) ** 2 + S**2 / V)
    assert abs(found - exact) <= mpf("1e-11") * exact


@pytest.mark.parametrize("c", [0.5, 1 - 1e-12, 1.0, 1 + 1e-12, 1.05, 3.0])
@pytest.mark.parametrize("unlearn", [1, 40, 10**12])
def test_from_a_distance_every_contraction_has_its_closed_form(c: float, unlearn: int) -> None:
    """THEORY 2.3: z c^K / (nu sqrt(sum c^(2j))); above 1 it saturates at z sqrt(c^2-1)/nu."""
    c_, K, z, nu = mpf(c), unlearn, 0.8, 0.3
    total = mpf(K) if c == 1 else (1 - c_ ** (2 * K)) / (1 - c_**2)
    exact = mpf(z) * c_**K / (mpf(nu) * mp.sqrt(total))
    found = pull([run(K, c, 0.0, nu)], initial_distance=z)
    if exact < mpf("1e-153"):
        assert 0 < found < 1e-150
    else:
        assert abs(found - exact) <= mpf("1e-12") * exact
    if c > 1 and K == 10**12 and c > 1.01:
        assert found == pytest.approx(z * math.sqrt(c * c - 1) / nu, rel=1e-12)


# ---- growth that decay cancels ----------------------------------------------------------------


def pooled_at_sixty_digits(runs: list[tuple[int, float, float, float]]) -> mpf:
    """mu by pooling increments; each run has c <= 1 or s = 0, so that it is one block."""
    increments: list[tuple[mpf, mpf]] = []
    for n, c, s, nu in runs:
        power = mpf(c) ** n
        sums = [
            mpf(n) if c == 1 else (1 - power**k) / (1 - mpf(c) ** k) for k in (1, 2)
        ]  # of c and of c^2
        increments = [(a * power, b * power**2) for a, b in increments]
        increments.append((mpf(s) * sums[0], mpf(nu) ** 2 * sums[1]))
    edges: list[tuple[mpf, mpf]] = []
    for ds, dv in increments:
        edges.append((ds, dv))
        while len(edges) > 1 and (
            edges[-2][1] == 0 or edges[-2][0] * edges[-1][1] > edges[-1][0] * edges[-2][1]
        ):
            after, before = edges.pop(), edges.pop()
            edges.append((before[0] + after[0], before[1] + after[1]))
    if any(dv == 0 for _, dv in edges):
        return mp.inf
    return mp.sqrt(sum(ds**2 / dv for ds, dv in edges))


def grown_and_shrunk(rng: random.Random) -> list[tuple[int, float, float, float]]:
    """Learning, an expanding phase with n log c of 10^3 to 10^15, a contracting one like it."""
    growth, rate = 10 ** rng.uniform(3, 15), 10 ** rng.uniform(-6, 0)
    up, down = 1 + rate, math.exp(-(10 ** rng.uniform(-6, -0.5)))
    grow = min(int(growth / math.log(up)) + 1, 2**53)
    shrink = min(max(1, int(grow * math.log(up) / -math.log(down))), 2**53)
    if rng.random() < 0.9:
        shrink += rng.randint(0, 20)
    nu = rng.uniform(0.1, 2)
    middle = [
        (grow, up, 0.0, rng.choice((0.0, nu))),
        (shrink, down, rng.choice((0.0, 0.0, 0.1)), rng.choice((0.0, nu))),
    ]
    learn = (rng.randint(1, 5), rng.uniform(0.5, 1), rng.uniform(0.01, 1), rng.uniform(0.1, 2))
    last = (rng.randint(1, 30), rng.uniform(0.9, 1), 0.0, rng.uniform(0.1, 2))
    return [learn, *(middle * rng.choice((1, 1, 2))), last]


def test_growth_that_decay_cancels_loses_no_digit() -> None:
    """Differences of logarithms lost sum |n log c| 2^-53: up to 8 % of mu in cases like these."""
    rng, decided = random.Random(20), 0
    with mp.workdps(60):
        for _ in range(400):
            runs = grown_and_shrunk(rng)
            exact, found = pooled_at_sixty_digits(runs), pull([run(*r) for r in runs])
            if exact > mpf("1e300"):
                continue
            assert exact <= found <= max(exact * (1 + mpf("1e-15")), mpf("1.01e-152")), runs
            decided += exact > mpf("1e-150")
    assert decided > 200


def test_logarithms_would_be_caught() -> None:
    """The planted fault: the same weights as doubles' logarithms."""
    rng, below = random.Random(20), 0
    with mp.workdps(60):
        for _ in range(400):
            runs = grown_and_shrunk(rng)
            exact = sum(n * mp.log(mpf(c)) for n, c, _, _ in runs)
            below += sum(n * math.log(c) for n, c, _, _ in runs) < exact - 1e-9
    assert below > 20


def test_expanding_steps_with_shifts_agree_with_every_step_written_out_at_any_size() -> None:
    """Factors of 10^-90 to 10^90: n log c reaches 10^4, and every slope is compared exactly."""
    rng = random.Random(21)
    for _ in range(100):
        runs = [
            (
                rng.randint(1, 12),
                10 ** rng.uniform(-90, 90),
                rng.choice((0.0, 10 ** rng.uniform(-3, 3))),
                rng.choice((0.0, 10 ** rng.uniform(-3, 3), 1.0)),
            )
            for _ in range(rng.randint(1, 6))
        ]
        runs.append((rng.randint(1, 5), 0.5, rng.choice((0.0, 0.1)), 1.0))
        single = [(1, c, s, nu) for n, c, s, nu in runs for _ in range(n)]
        with mp.workdps(60):
            exact, found = pooled_at_sixty_digits(single), pull([run(*r) for r in runs])
            if exact > mpf("1e300"):
                assert found == math.inf or found > 1e299
            else:
                assert exact <= found <= max(exact * (1 + mpf("1e-15")), mpf("1.01e-152")), runs


def test_beyond_every_exponent_a_string_is_refused() -> None:
    with pytest.raises(Refused, match="orders of magnitude"):
        pull([run(2**53, 1e300, 0.0, 1.0), run(2**53, 1e-300, 0.1, 1.0)])


# ---- the cap ----------------------------------------------------------------------------------


def test_the_cap_agrees_with_trying_every_starting_point() -> None:
    bound = 0
    for seed in range(150):
        rng = random.Random(seed)
        runs = [
            run(
                rng.randint(1, 8),
                rng.choice((1.0, rng.uniform(0.5, 1), rng.uniform(1, 1.3))),
                rng.choice((0.0, rng.uniform(0.01, 1))),
                rng.uniform(0.2, 1),
            )
            for _ in range(rng.randint(1, 4))
        ]
        start, diameter = rng.choice((0.0, rng.uniform(0, 3))), rng.uniform(0.05, 2)
        steps = [
            oracle.Steps(r.steps, mpf(r.contraction.c), mpf(r.shift), mpf(r.noise_std))
            for r in runs
        ]
        exact = oracle.capped_shift_mu(steps, diameter, start)
        found = pull(runs, initial_distance=start, diameter=diameter)
        assert abs(found - exact) <= mpf("1e-13") * exact, seed
        bound += found < pull(runs, initial_distance=start) * (1 - 1e-6)
    assert bound > 50


@pytest.mark.parametrize("unlearn", [1, 10, 1000])
def test_a_capped_convex_history_matches_its_closed_form(unlearn: int) -> None:
    """THEORY 2.3, c = 1: min over t of (2R + s t)/(nu sqrt(t + K)), also at 10^12 steps."""
    D, s, nu, T, K = 0.9, 0.01, 0.4, 10**12, unlearn
    found = pull([run(T, 1.0, s, nu), run(K, 1.0, 0.0, nu)], diameter=D)
    exact = min((D + s * t) / (nu * math.sqrt(t + K)) for t in range(20_000))
    assert found == pytest.approx(exact, rel=1e-13)


def test_a_cap_that_never_binds_changes_nothing() -> None:
    runs = [run(30, 0.9, 0.1, 0.5), run(4, 0.9, 0.0, 0.5)]
    reach = forward_distance(runs[:1])
    assert pull(runs, diameter=reach * 1.0001) == pull(runs)
    assert pull(runs, diameter=reach / 2) < pull(runs)


def test_the_forward_distance_follows_its_recursion() -> None:
    for problem in PROBLEMS[:100]:
        runs = [run(1, *step) for step in problem.steps]
        for diameter in (math.inf, 0.7):
            distance = problem.start
            for c, s, _ in problem.steps:
                distance = min(diameter, c * distance + s)
            found = forward_distance(runs, initial_distance=problem.start, diameter=diameter)
            assert found == pytest.approx(distance, rel=1e-13)


def test_the_edges_of_a_string_are_all_steps_after_its_start():
    rng, capped = random.Random(9), 0
    for _ in range(200):
        runs = [
            run(rng.randint(1, 9), rng.choice([0.0, 0.5, 1.0, 1.2]), rng.choice([0.0, 1.0]), 1.0)
            for _ in range(rng.randint(1, 6))
        ]
        diameter = rng.choice([math.inf, 0.5, 2.0])
        string = pull_string(runs, initial_distance=rng.choice([0.0, 0.3]), diameter=diameter)
        covered = sum(length * count for length, count in string.edges())
        assert covered + (string.start or 0) == sum(part.steps for part in runs)
        assert min((length for length, _ in string.edges()), default=1) >= 1
        capped += string.start is not None
    assert capped > 20
