"""The checker against exact fractions, step by step; and what it must refuse."""

import ast
import itertools
import math
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest
from mpmath import mp, mpf

from expunge.accounting import Assumptions, History, Phase, checker
from expunge.accounting.bounds import shift
from expunge.accounting.checker import Repeat, Step, prove_mu, prove_stretches
from expunge.accounting.conversions import epsilon_from_gdp, gdp_renyi
from expunge.accounting.witness import Edge, Stretch, Witness
from expunge.errors import InvalidInput
from tests.accounting.exact_shifts import INFINITE, Exact, cost, least_cost, partitions

ROUNDING = Fraction(1, 10**12)
FACTORS = [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3)]
SMALL = [
    Exact(c, Fraction(s), Fraction(v)) for c in FACTORS for s in (0, 1) for v in (0, Fraction(1, 4))
]


def single(steps: Sequence[Exact]) -> list[Repeat]:
    """Every step on its own, with one line."""
    return [Repeat(((Step(*step),),), 1) for step in steps]


def witness_of(*edges: Edge, start: int | None = None) -> Witness:
    return Witness((Stretch(start, (), edges),))


def proven(steps: Sequence[Exact], edges: Sequence[int], start: Fraction = Fraction(0)) -> float:
    """mu by the checker, infinite where it proves none."""
    try:
        return prove_stretches([single(steps)], witness_of(*edges), distance=start)
    except InvalidInput:
        return math.inf


def agree(steps: Sequence[Exact], edges: Sequence[int], start: Fraction = Fraction(0)) -> str:
    """Hold one verdict against exact fractions; says which kind of partition it was."""
    exact, mu = cost(steps, edges, start), proven(steps, edges, start)
    if mu == math.inf:
        assert exact.squared >= INFINITE or not exact.feasible
        return "refused"
    squared = Fraction(mu) ** 2
    if exact.feasible:
        assert exact.squared <= squared <= exact.squared * (1 + ROUNDING)
        return "feasible"
    assert squared > exact.squared  # what is infeasible is charged
    assert squared >= least_cost(steps, start)  # and no shifts at all do better
    return "charged"


def test_every_partition_of_every_small_history_agrees_with_exact_fractions():
    """Factors 0, 1/2, 1 and 3, with and without shift and noise: ties are everywhere."""
    verdicts = Counter(
        agree(steps, edges)
        for count in (1, 2)
        for steps in itertools.product(SMALL, repeat=count)
        for edges in partitions(count)
    )
    assert set(verdicts) == {"feasible", "charged", "refused"}


@pytest.mark.slow
def test_every_partition_of_three_steps_and_of_a_start_apart_agrees_too():
    kinds = [step for step in SMALL if step.v or step.s or step.c == Fraction(1, 2)]
    for steps in itertools.product(kinds, repeat=3):
        for edges in partitions(3):
            agree(steps, edges, random.Random(str(steps)).choice([Fraction(0), Fraction(2)]))


def random_steps(rng: random.Random, count: int) -> list[Exact]:
    kinds = [
        (Fraction(rng.randint(0, 40), 16), rng.randint(0, 3), rng.randint(0, 3)) for _ in "abc"
    ]
    return [Exact(c, Fraction(s), Fraction(v, 2)) for c, s, v in rng.choices(kinds, k=count)]


def test_random_partitions_agree_with_exact_fractions():
    rng, verdicts = random.Random(0), Counter()
    for _ in range(600):
        steps = random_steps(rng, rng.randint(3, 7))
        start = Fraction(rng.choice([0, 0, 1, 5]), 3)
        edges = rng.choice(list(partitions(len(steps))))
        verdicts[agree(steps, edges, start)] += 1
    assert min(verdicts[kind] for kind in ("feasible", "charged", "refused")) > 30


def test_the_optimum_is_found_feasible_and_has_no_charge():
    rng = random.Random(1)
    for _ in range(150):
        steps = random_steps(rng, 6)
        feasible = [edges for edges in partitions(6) if cost(steps, edges).feasible]
        if feasible:
            best = min(feasible, key=lambda edges: cost(steps, edges).squared)
            assert agree(steps, best) == "feasible"


@pytest.mark.parametrize("first_grows", [True, False])
def test_growth_beyond_every_precision_needs_the_steps_before_or_those_after(first_grows):
    """c = 1000 for 400 steps is 2^4000: only one of the two tests has any digits left."""
    grow = Exact(Fraction(1000), Fraction(1), Fraction(1))
    shrink = Exact(Fraction(1, 1000), Fraction(1), Fraction(1))
    halves = [[grow] * 400, [shrink] * 400]
    steps = [*halves[not first_grows], *halves[first_grows]]
    repeats = [Repeat(((Step(*half[0]),),), 400) for half in (steps[:400], steps[400:])]
    if first_grows:
        edges = [*[1] * 399, 401]
        witness = witness_of((399, (1,)), 401)
    else:
        edges, witness = [400, *[1] * 400], witness_of(400, (400, (1,)))
    exact, mu = cost(steps, edges), prove_stretches([repeats], witness)
    assert exact.feasible
    assert exact.squared <= Fraction(mu) ** 2 <= exact.squared * (1 + ROUNDING)


def test_repeated_steps_are_judged_as_if_each_were_written_out():
    """Growing epochs turn somewhere inside: the turn is found, or the charge is too small."""
    rng, kinds = random.Random(2), Counter()
    for _ in range(300):
        c = Fraction(rng.choice([8, 16, 17, 18, 24]), 16)
        epoch = tuple(
            Exact(c, Fraction(rng.randint(0, 3)), Fraction(rng.randint(0, 3), 2))
            for _ in range(rng.randint(1, 3))
        )
        steps = rng.randint(4, 6)
        last = Exact(Fraction(rng.randint(1, 16), 16), Fraction(0), Fraction(rng.randint(1, 9)))
        written = [*(epoch[k % len(epoch)] for k in range(steps)), *[last] * 2]
        repeats = [
            Repeat(tuple((Step(*step),) for step in epoch), steps),
            Repeat(((Step(*last),),), 2),
        ]
        edges = rng.choice([(steps + 2,), (1, steps + 1), (2, steps - 2, 2), (steps + 1, 1)])
        kinds[agree(written, edges)] += 1
        try:
            mu = prove_stretches([repeats], witness_of(*edges))
        except InvalidInput:
            mu = math.inf
        assert math.isclose(mu, proven(written, edges), rel_tol=1e-13)
    assert min(kinds[kind] for kind in ("feasible", "charged", "refused")) > 10


def slope_of(steps: Sequence[Exact]) -> Fraction:
    """S/V of one edge."""
    weight, S, V = Fraction(1), Fraction(0), Fraction(0)
    for step in reversed(steps):
        S, V, weight = S + weight * step.s, V + weight**2 * step.v, weight * step.c
    return S / V


def test_the_turn_of_long_growing_epochs_is_found_by_bisection():
    """x is lowest inside, at neither end: without the turn this edge would pass uncharged."""
    step, first, last = (
        Exact(Fraction(5, 4), Fraction(1), Fraction(2)),
        Exact(Fraction(1), Fraction(4), Fraction(1)),
        Exact(Fraction(1), Fraction(0), Fraction(45)),
    )
    written = [first, *[step] * 12, last]
    repeats = [Repeat(((Step(*s),),), n) for s, n in ((first, 1), (step, 12), (last, 1))]
    mu = prove_stretches([repeats], witness_of(14))
    assert math.isclose(mu, proven(written, (14,)), rel_tol=1e-13)
    exact = cost(written, (14,))
    assert not exact.feasible
    assert Fraction(mu) ** 2 > exact.squared * (1 + ROUNDING)
    z, distances = Fraction(0), []
    weight = Fraction(5, 4) ** 12
    for at in written:
        weight = weight / at.c if at is step else weight
        z = at.c * z + at.s - slope_of(written) * weight * at.v
        distances.append(z)
    assert distances[-1] == 0
    assert min(distances[0], distances[1], distances[-2]) > 0 > min(distances)


def test_edges_repeat_in_whole_epochs_only():
    epoch = tuple((Step(Fraction(2), Fraction(k), Fraction(1)),) for k in (1, 3, 5))
    repeats = [Repeat(epoch, 12)]
    short = prove_stretches([repeats], witness_of((4, (1, 1, 1))))
    assert short == prove_stretches([repeats], witness_of(*[1] * 12))
    assert short == prove_stretches([repeats], witness_of(1, (3, (1, 1, 1)), 1, 1))
    for wrong in [((6, (2,)),), ((5, (3,)),), ((4, (1, 1)), 4), ((0, (3,)), 12), ((2, ()), 12)]:
        with pytest.raises(InvalidInput):
            prove_stretches([repeats], witness_of(*wrong))


LOSS = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
HISTORY = History((Phase(50, 0.5, 0.3, 1000, 10), Phase(20, 0.5, 0.3, 990)))


@pytest.mark.parametrize(
    ("stretches", "field"),
    [
        ([], "witness.stretches"),
        ([Stretch(edges=(70,)), Stretch()], "witness.stretches"),
        ([Stretch(edges=(69,))], "witness.stretches[0].edges"),
        ([Stretch(edges=(71,))], "witness.stretches[0].edges"),
        ([Stretch(edges=(70, 1))], "witness.stretches[0].edges"),
        ([Stretch(edges=(70, 0))], "witness.stretches[0].edges"),
        ([Stretch(edges=(71, -1))], "witness.stretches[0].edges"),
        ([Stretch(edges=())], "witness.stretches[0].edges"),
        ([Stretch(start=50, edges=(20,))], "witness.stretches[0].start"),
        ([Stretch(lines=((70, 1),), edges=(70,))], "witness.stretches[0].lines"),
        ([Stretch(lines=((69, 0),), edges=(70,))], "witness.stretches[0].lines"),
        ([Stretch(lines=((71, 0),), edges=(70,))], "witness.stretches[0].lines"),
        ([Stretch(lines=((70, -1),), edges=(70,))], "witness.stretches[0].lines"),
    ],
)
def test_a_witness_that_does_not_fit_is_refused_by_name(stretches, field):
    assert prove_mu(LOSS, HISTORY, witness_of(70)) > 0
    with pytest.raises(InvalidInput) as refused:
        prove_mu(LOSS, HISTORY, Witness(tuple(stretches)))
    assert refused.value.field == field


def test_a_start_at_the_diameter_needs_a_step_that_projects():
    loss = replace(LOSS, radius=0.01)
    assert prove_mu(loss, HISTORY, witness_of(20, start=50)) > 0
    with pytest.raises(InvalidInput):
        prove_mu(loss, HISTORY, witness_of(70, start=0))


def test_a_distance_that_no_step_hides_is_refused():
    apart = replace(LOSS, initial_distance=1.0)
    quiet = History((Phase(5, 0.5, 0.0, 100),))
    with pytest.raises(InvalidInput):
        prove_mu(apart, quiet, Witness((Stretch(),)))


def test_noiseless_clipped_steps_at_the_end_do_not_erase_a_distance():
    """eta lam = 1 makes c = 0, but clipped gradients still depend on where the chain is."""
    loss = Assumptions(clip=1.0, weight_decay=1.0)
    history = History((Phase(5, 0.5, 1.0, 100, 5), Phase(3, 1.0, 0.0, 95)))
    witness = shift.bound(loss, history).witness
    assert witness == witness_of(5)
    assert prove_mu(loss, history, witness) > 1
    point = Assumptions(strong_convexity=1.0, smoothness=1.0, lipschitz=1.0)
    erased = shift.bound(point, history)
    assert erased.mu == 0.0 == prove_mu(point, history, erased.witness)
    rounded = History(tuple(replace(phase, rounding=1e-9) for phase in history.phases))
    assert prove_mu(point, rounded, shift.bound(point, rounded).witness) > 0


def test_epsilon_and_delta_follow_from_mu_in_balls():
    rng = random.Random(3)
    for _ in range(400):
        mu, delta = 10 ** rng.uniform(-9, 1.5), 10 ** rng.uniform(-12, -0.1)
        epsilon = epsilon_from_gdp(mu, delta)
        assert checker.meets(mu, epsilon, delta)
        with mp.workdps(120):
            a = mpf(epsilon) * (1 - mpf(10) ** -10) / mu - mpf(mu) / 2
            true = mp.ncdf(-a) - mp.exp(epsilon * (1 - mpf(10) ** -10)) * mp.ncdf(-a - mu)
        below = epsilon * (1 - 1e-10)
        assert checker.meets(mu, below, delta) == (true <= delta)
    assert checker.meets(0.0, 0.0, 1e-300)
    assert checker.meets(1e-200, 0.0, 1e-200)
    assert not checker.meets(1e-200, 0.0, 1e-201)


def test_figures_below_what_mu_gives_are_refused_by_name():
    mu, delta = 0.7, 1e-5
    epsilon, renyi = epsilon_from_gdp(mu, delta), {"2": gdp_renyi(mu, 2.0), "1.5": 0.4}
    checker.check_figures(mu, epsilon=epsilon, delta=delta, renyi=renyi)
    for wrong, field in [
        ({"epsilon": epsilon * (1 - 1e-9)}, "claim.epsilon"),
        ({"delta": delta * (1 - 1e-9)}, "claim.epsilon"),
        ({"renyi": renyi | {"2": math.nextafter(0.49, 0)}}, "claim.renyi.2"),
    ]:
        with pytest.raises(InvalidInput) as refused:
            checker.check_figures(
                mu, **{"epsilon": epsilon, "delta": delta, "renyi": renyi, **wrong}
            )
        assert refused.value.field == field


def test_it_knows_nothing_of_the_optimiser():
    source = Path(checker.__file__).read_text()
    names = {
        node.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    ours = {name for name in names if name.startswith("expunge")}
    records = {f"expunge.accounting.{name}" for name in ("assumptions", "history", "witness")}
    assert ours == {*records, "expunge.errors"}


def test_it_needs_python_flint_only_where_it_proves(monkeypatch):
    assert checker.available()
    for other in (None, ModuleType("flint")):  # not installed, or a namesake
        monkeypatch.setitem(sys.modules, "flint", other)
        assert not checker.available()


def test_nothing_else_of_the_package_imports_python_flint():
    package = Path(checker.__file__).parents[1]
    reading = [path.name for path in package.glob("**/*.py") if "flint import" in path.read_text()]
    assert reading == ["checker.py"]
