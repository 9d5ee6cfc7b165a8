"""`expunge account`: the contract, word for word."""

import copy
import json
import math
import random
from collections.abc import Callable

import pytest

from expunge.accounting import InvalidInput, account
from expunge.accounting.document import parse_account
from tests.cli.test_main import EXAMPLE, Outcome, expunge

BOUNDS = ["shift", "log_sobolev", "log_sobolev_paper", "iteration", "contraction"]
CONSTANTS = [
    "strong_convexity",
    "smoothness",
    "lipschitz",
    "radius",
    "clip",
    "weight_decay",
    "initial_distance",
    "initial_log_sobolev",
]
Change = Callable[[dict], object]


def changed(*changes: Change) -> dict:
    document = copy.deepcopy(EXAMPLE)
    for change in changes:
        change(document)
    return document


def top(**values: object) -> Change:
    return lambda document: document.update(values)


def assume(**values: object) -> Change:
    return lambda document: document["assumptions"].update(values)


def phase(i: int, **values: object) -> Change:
    return lambda document: document["phases"][i].update(values)


def without(*path: str | int) -> Change:
    def drop(document: dict) -> None:
        for part in path[:-1]:
            document = document[part]
        del document[path[-1]]

    return drop


def judge(*changes: Change) -> Outcome:
    return expunge("account", "-", "--json", stdin=json.dumps(changed(*changes)))


def test_the_example_of_the_design_gives_the_shape_of_the_design(tmp_path):
    file = tmp_path / "history.json"
    file.write_text(json.dumps(EXAMPLE))
    outcome = expunge("account", file, "--json")
    assert outcome.err == ""
    printed = outcome.document
    assert list(printed) == [
        "bounds",
        "best",
        "best_reason",
        "vacuous",
        "regime",
        "assumptions",
        "observer",
        "comparator",
        "scope",
    ]
    assert list(printed["bounds"]) == BOUNDS
    assert list(printed["bounds"]["shift"]) == ["mu", "epsilon", "renyi"]
    for name in ("shift", "log_sobolev", "log_sobolev_paper", "iteration"):
        assert set(printed["bounds"][name]) - {"mu"} == {"epsilon", "renyi"}
        assert list(printed["bounds"][name]["renyi"]) == ["2", "8"]
    assert printed["bounds"]["contraction"] == {"refused": "needs a projection (radius)"}
    assert printed["best"] == "shift"
    assert printed["best_reason"]
    assert printed["vacuous"] is False
    assert printed["regime"] == "strongly convex"
    assert printed["observer"] == "final"
    assert "10100 steps" in printed["comparator"]


def test_the_example_has_the_closed_forms_value():
    """THEORY 2.3, c = 1 - eta m since eta <= 2/(m + L)."""
    eta, sigma = 3.8182512, 0.03
    c = 1 - eta * 0.0119
    s, nu = 2 * eta * 300 / 33000, math.sqrt(2 * eta) * sigma
    mu = s / nu * c**100 * math.sqrt((1 + c) / (1 - c)) * (1 - c**10000)
    mu /= math.sqrt(1 - c ** (2 * 10100))
    shift = judge().document["bounds"]["shift"]
    assert shift["mu"] == pytest.approx(mu, rel=1e-10)
    assert shift["renyi"]["2"] == pytest.approx(mu * mu, rel=1e-9)
    assert shift["renyi"]["8"] == pytest.approx(4 * mu * mu, rel=1e-9)


def test_a_dash_reads_standard_input_and_gives_the_files_answer(tmp_path):
    file = tmp_path / "history.json"
    file.write_text(json.dumps(EXAMPLE))
    assert expunge("account", file, "--json") == judge()


def test_tables_for_people_name_every_bound():
    outcome = expunge("account", "-", stdin=json.dumps(EXAMPLE))
    assert outcome.status == 0
    assert outcome.err == ""
    for name in BOUNDS:
        assert name in outcome.out


def test_a_vacuous_answer_says_so_in_a_word():
    document = changed(phase(0, sigma=1e-6), phase(1, sigma=1e-6))
    assert "VACUOUS" in expunge("account", "-", stdin=json.dumps(document)).out


REFUSED: dict[str, tuple[str, list[Change]]] = {
    "nan": ("phases[0].sigma", [phase(0, sigma=math.nan)]),
    "infinity": ("phases[0].step_size", [phase(0, step_size=math.inf)]),
    "minus infinity": ("assumptions.lipschitz", [assume(lipschitz=-math.inf)]),
    "nan delta": ("delta", [top(delta=math.nan)]),
    "nan order": ("orders[1]", [top(orders=[2, math.nan])]),
    "empty retained set": ("phases[0].forgotten", [phase(0, forgotten=33000)]),
    "forgotten above samples": ("phases[0].forgotten", [phase(0, forgotten=33001)]),
    "negative forgotten": ("phases[0].forgotten", [phase(0, forgotten=-1)]),
    "zero steps": ("phases[0].steps", [phase(0, steps=0)]),
    "negative steps": ("phases[1].steps", [phase(1, steps=-1)]),
    "half a step": ("phases[0].steps", [phase(0, steps=1.5)]),
    "zero samples": ("phases[1].samples", [phase(1, samples=0)]),
    "zero step size": ("phases[0].step_size", [phase(0, step_size=0)]),
    "negative sigma": ("phases[0].sigma", [phase(0, sigma=-1)]),
    "negative rounding": ("phases[0].rounding", [phase(0, rounding=-1)]),
    "step above 2/L": ("phases[0].step_size", [phase(0, step_size=7.64)]),
    "step above 2/L, convex": (
        "phases[1].step_size",
        [assume(strong_convexity=0), phase(1, step_size=7.64)],
    ),
    "m above L": ("assumptions.strong_convexity", [assume(strong_convexity=0.3)]),
    "ridge above L": ("assumptions.weight_decay", [assume(weight_decay=0.3)]),
    "no Lipschitz constant": ("assumptions.lipschitz", [assume(lipschitz=None)]),
    "zero Lipschitz constant": ("assumptions.lipschitz", [assume(lipschitz=0)]),
    "no smoothness without clip": ("assumptions.smoothness", [assume(smoothness=None)]),
    "zero radius": ("assumptions.radius", [assume(radius=0)]),
    "negative radius": ("assumptions.radius", [assume(radius=-1)]),
    "empty phases": ("phases", [top(phases=[])]),
    "phases no list": ("phases", [top(phases={})]),
    "phase no object": ("phases[0]", [top(phases=["learn"])]),
    "assumptions no object": ("assumptions", [top(assumptions=[])]),
    "unknown key": ("sigmas", [top(sigmas=1)]),
    "unknown assumption": ("assumptions.smoothnes", [assume(smoothnes=1)]),
    "unknown phase key": ("phases[1].step", [phase(1, step=1)]),
    "unknown constant key": ("assumptions.radius.marks", [assume(radius={"value": 1, "marks": 1})]),
    "unknown poisson key": (
        "phases[0].poisson.seed",
        [phase(0, poisson={"rate": 0.5, "counts": [], "seed": 1})],
    ),
    "no delta": ("delta", [without("delta")]),
    "no phases": ("phases", [without("phases")]),
    "no assumptions": ("assumptions", [without("assumptions")]),
    "no steps": ("phases[0].steps", [without("phases", 0, "steps")]),
    "no sigma": ("phases[1].sigma", [without("phases", 1, "sigma")]),
    "no smoothness": ("assumptions.smoothness", [without("assumptions", "smoothness")]),
    "constant without value": ("assumptions.lipschitz", [assume(lipschitz={"mark": "public"})]),
    "bool as count": ("phases[0].steps", [phase(0, steps=True)]),
    "bool as number": ("assumptions.lipschitz", [assume(lipschitz=True)]),
    "bool delta": ("delta", [top(delta=True)]),
    "text as count": ("phases[0].samples", [phase(0, samples="33000")]),
    "text as number": ("phases[0].sigma", [phase(0, sigma="0.03")]),
    "text delta": ("delta", [top(delta="1e-5")]),
    "null delta": ("delta", [top(delta=None)]),
    "number as bool": ("phases[0].released", [phase(0, released=1)]),
    "wrong mark": ("assumptions.lipschitz.mark", [assume(lipschitz={"value": 1, "mark": "sure"})]),
    "null mark": ("assumptions.lipschitz.mark", [assume(lipschitz={"value": 1, "mark": None})]),
    "delta 0": ("delta", [top(delta=0)]),
    "delta 1": ("delta", [top(delta=1)]),
    "delta negative": ("delta", [top(delta=-1e-5)]),
    "order 1": ("orders[1]", [top(orders=[2, 1])]),
    "order below 1": ("orders[0]", [top(orders=[0.5])]),
    "orders no list": ("orders", [top(orders=2)]),
    "initial distance twice": (
        "initial_distance",
        [top(initial_distance=1), assume(initial_distance=1)],
    ),
    "initial log-Sobolev twice": (
        "initial_log_sobolev",
        [top(initial_log_sobolev=1), assume(initial_log_sobolev=1)],
    ),
    "poisson with mean": (
        "phases[0].poisson",
        [phase(0, steps=1, poisson={"rate": 0.5, "counts": [[5, 1]]})],
    ),
    "poisson rate above 1": (
        "phases[0].poisson.rate",
        [
            top(normaliser="fixed"),
            phase(0, steps=1, poisson={"rate": 1.5, "counts": [[5, 1]]}),
        ],
    ),
    "poisson counts do not match the steps": (
        "phases[0].poisson.counts",
        [top(normaliser="fixed"), phase(0, poisson={"rate": 0.5, "counts": [[5, 1]]})],
    ),
    "poisson counts more than there are": (
        "phases[0].poisson.counts[0]",
        [
            top(normaliser="fixed"),
            phase(0, steps=1, poisson={"rate": 0.5, "counts": [[5, 301]]}),
        ],
    ),
    "batches do not sum": ("phases[0].batches", [phase(0, batches=[100, 100], batch_size=16500)]),
    "batches without size": ("phases[0].batch_size", [phase(0, batches=[300])]),
    "size without batches": ("phases[0].batches", [phase(0, batch_size=300)]),
    "as many sizes as batches": (
        "phases[0].batch_size",
        [phase(0, batches=[100, 200], batch_size=[16500])],
    ),
    "more forgotten than the batch holds": (
        "phases[0].batches[1]",
        [phase(0, batches=[0, 300], batch_size=[32800, 200])],
    ),
    "sizes beyond the samples": (
        "phases[0].batch_size",
        [phase(0, batches=[0, 300], batch_size=10**6)],
    ),
    "sizes beyond the fixed count": (
        "phases[0].batch_size",
        [top(normaliser="fixed"), phase(0, batches=[0, 300], batch_size=10**6)],
    ),
    "unknown normaliser": ("normaliser", [top(normaliser="median")]),
    "samples above the count": (
        "phases[0].samples",
        [top(normaliser="fixed", normaliser_count=100)],
    ),
    "count with mean": ("normaliser_count", [top(normaliser_count=33000)]),
    "count zero": ("normaliser_count", [top(normaliser="fixed", normaliser_count=0)]),
    "integer beyond floats": ("assumptions.lipschitz", [assume(lipschitz=10**400)]),
    "count beyond floats": ("phases[0].samples", [phase(0, samples=2**53 + 2)]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_exits_2_names_the_field_and_writes_nothing(case, tmp_path):
    field, changes = REFUSED[case]
    history = json.dumps(changed(*changes))
    out = tmp_path / "certificate.json"
    outcome = expunge("account", "-", "--json", "--certificate", out, stdin=history)
    assert outcome.complaint.startswith(f"expunge: {field}: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "input"),
        ("{", "input"),
        ("{'delta': 1}", "input"),
        ("[]", "input"),
        ("null", "input"),
        ("3", "input"),
        ("[" * 100_000, "input"),
        ("\ufeff{}", "input"),
        ('{"delta": 1e-5, "delta": 1e-6}', "delta"),
        (json.dumps(EXAMPLE).replace('"sigma": 0.03', '"sigma": 1, "sigma": 2', 1), "sigma"),
        (json.dumps(EXAMPLE).replace("0.03", "NaN", 1), "phases[0].sigma"),
        (json.dumps(EXAMPLE).replace("0.03", "-Infinity", 1), "phases[0].sigma"),
        (json.dumps(EXAMPLE).replace("0.03", "1e999", 1), "phases[0].sigma"),
        (json.dumps(EXAMPLE).replace('"mean"', '"\\ud800"'), "normaliser"),
    ],
)
def test_wrong_json_exits_2_and_says_where(text, named):
    complaint = expunge("account", "-", "--json", stdin=text).complaint
    assert complaint.startswith(f"expunge: {named}: ")


def test_a_missing_file_a_folder_and_a_binary_file_exit_2(tmp_path):
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)))
    latin = tmp_path / "latin.json"
    latin.write_bytes(json.dumps({"é": 1}, ensure_ascii=False).encode("latin-1"))
    for path in (tmp_path / "missing.json", tmp_path, binary, latin):
        assert str(path) in expunge("account", path, "--json").complaint


def test_a_certificate_that_cannot_be_written_exits_2_and_leaves_nothing(tmp_path):
    history = json.dumps(EXAMPLE)
    for out in (tmp_path, tmp_path / "no" / "certificate.json"):
        outcome = expunge("account", "-", "--json", "--certificate", out, stdin=history)
        assert outcome.complaint
    assert list(tmp_path.iterdir()) == []


def test_a_history_that_nothing_certifies_gets_an_answer_but_no_certificate(tmp_path):
    noiseless = json.dumps(changed(phase(0, sigma=0), phase(1, sigma=0)))
    printed = expunge("account", "-", "--json", stdin=noiseless).document
    assert printed["best"] is None
    assert printed["best_reason"].startswith("every bound refused")
    assert printed["vacuous"] is True
    assert all(set(figures) == {"refused"} for figures in printed["bounds"].values())
    out = tmp_path / "certificate.json"
    expunge("account", "-", "--certificate", out, stdin=noiseless)
    assert list(tmp_path.iterdir()) == []


def test_the_certificate_is_one_that_verify_accepts(tmp_path):
    out = tmp_path / "certificate.json"
    outcome = expunge("account", "-", "--json", "--certificate", out, stdin=json.dumps(EXAMPLE))
    claim = json.loads(out.read_text())["claim"]
    assert claim["epsilon"] == outcome.document["bounds"]["shift"]["epsilon"]
    assert claim["bound"] == outcome.document["best"]
    assert expunge("verify", out).status == 0


@pytest.mark.parametrize(
    ("constants", "regime"),
    [
        ({"strong_convexity": 0.0119}, "strongly convex"),
        ({"strong_convexity": 0}, "convex"),
        ({"strong_convexity": None}, "nonconvex"),
        ({"clip": 1.0}, "clipped"),
        ({"clip": 1.0, "smoothness": None, "lipschitz": None}, "clipped"),
        ({"clip": 1.0, "strong_convexity": 0.5, "radius": 1.0}, "clipped"),
    ],
)
def test_the_regime_is_named_and_every_bound_is_listed(constants, regime):
    few_steps = phase(0, steps=20, step_size=0.1), phase(1, steps=5, step_size=0.1)
    printed = judge(assume(**constants), *few_steps).document
    assert printed["regime"] == regime
    assert list(printed["bounds"]) == BOUNDS
    for figures in printed["bounds"].values():
        assert set(figures) == {"refused"} or figures["epsilon"] >= 0


def test_an_absent_convexity_is_no_convexity():
    assert judge(without("assumptions", "strong_convexity"), phase(0, steps=9)).document[
        "regime"
    ] == ("nonconvex")


def test_assumptions_are_echoed_as_objects_with_their_marks():
    printed = judge(assume(lipschitz={"value": 1, "mark": "enforced"}, radius={"value": 50}))
    echoed = printed.document["assumptions"]
    assert list(echoed) == CONSTANTS
    assert echoed["lipschitz"] == {"value": 1.0, "mark": "enforced"}
    assert echoed["radius"] == {"value": 50.0, "mark": "assumed"}
    assert echoed["clip"] == {"value": None, "mark": "assumed"}
    assert echoed["initial_log_sobolev"]["value"] == pytest.approx(2 * 0.03**2 / 0.0119)


def test_the_default_initial_law_is_a_point_mass_without_strong_convexity():
    echoed = judge(assume(strong_convexity=0)).document["assumptions"]
    assert echoed["initial_log_sobolev"]["value"] == 0
    assert echoed["initial_distance"]["value"] == 0


def test_the_initial_law_may_be_given_at_the_top_or_among_the_assumptions():
    few = phase(0, steps=5), phase(1, steps=5)
    at_the_top = judge(top(initial_distance=0.5), *few).document
    inside = judge(assume(initial_distance=0.5), *few).document
    assert at_the_top == inside
    assert "refused" in inside["bounds"]["log_sobolev"]
    assert "refused" in inside["bounds"]["log_sobolev_paper"]
    assert inside["bounds"]["shift"]["mu"] > judge(*few).document["bounds"]["shift"]["mu"]


def test_constants_that_were_only_declared_are_named_in_the_scope():
    first = judge(assume(lipschitz={"value": 1, "mark": "enforced"})).document["scope"][0]
    assert "strong_convexity" in first
    assert "smoothness" in first
    assert "lipschitz" not in first
    sure = {
        name: {"value": EXAMPLE["assumptions"][name], "mark": "enforced"}
        for name in ("strong_convexity", "smoothness", "lipschitz")
    }
    scope = judge(assume(**sure)).document["scope"]
    assert not any("declared" in line for line in scope)


def test_a_release_before_the_end_changes_observer_and_scope():
    line = "requests are assumed independent of released models"
    assert line not in judge().document["scope"]
    released = judge(phase(0, released=True)).document
    assert released["observer"] == "all"
    assert line in released["scope"]
    assert released["comparator"].endswith("at every release")
    for name in ("log_sobolev", "log_sobolev_paper", "iteration", "contraction"):
        assert "refused" in released["bounds"][name]
    assert released["bounds"]["shift"]["mu"] > judge().document["bounds"]["shift"]["mu"]


def test_marking_the_last_phase_as_released_changes_nothing():
    assert judge(phase(1, released=True)) == judge()


def test_nothing_forgotten_is_exactly_zero_for_every_bound():
    printed = judge(phase(0, forgotten=0)).document
    for figures in printed["bounds"].values():
        assert figures["epsilon"] == 0
        assert set(figures.get("renyi", {}).values()) <= {0}
    assert printed["best"] == "shift"
    assert printed["vacuous"] is False


def test_best_is_the_smallest_epsilon_and_shift_wins_ties():
    projected = judge(assume(radius=0.2, strong_convexity=0)).document
    known = {name: f["epsilon"] for name, f in projected["bounds"].items() if "epsilon" in f}
    assert known[projected["best"]] == pytest.approx(min(known.values()), rel=1e-8)
    assert known["contraction"] <= known["shift"] * (1 + 1e-9)


def test_contraction_prints_an_epsilon_only():
    projected = judge(assume(radius=5.0)).document
    assert set(projected["bounds"]["contraction"]) == {"epsilon"}


def test_vacuous_is_epsilon_above_20_or_delta_above_one_over_the_samples():
    assert judge(top(delta=1 / 33001)).document["vacuous"] is False
    assert judge(top(delta=1 / 32999)).document["vacuous"] is True
    loud = judge(phase(0, sigma=1e-4), phase(1, sigma=1e-4)).document
    assert loud["bounds"][loud["best"]]["epsilon"] > 20
    assert loud["vacuous"] is True


def test_orders_default_to_2_and_8_and_keep_their_exact_keys():
    assert list(judge(without("orders")).document["bounds"]["shift"]["renyi"]) == ["2", "8"]
    odd = judge(top(orders=[1.5, 3.0, 1e22])).document["bounds"]["shift"]["renyi"]
    assert list(odd) == ["1.5", "3", "10000000000000000000000"]


def test_a_whole_float_is_a_count():
    assert judge(phase(0, steps=1e4, forgotten=300.0)) == judge()


def test_the_fixed_normaliser_halves_mu_and_defaults_to_the_first_samples():
    fixed = judge(top(normaliser="fixed")).document["bounds"]["shift"]
    assert fixed["mu"] == pytest.approx(judge().document["bounds"]["shift"]["mu"] / 2, rel=1e-12)
    assert judge(top(normaliser="fixed", normaliser_count=33000)).document["bounds"]["shift"] == (
        fixed
    )
    twice = judge(top(normaliser="fixed", normaliser_count=66000)).document["bounds"]["shift"]
    assert twice["mu"] == pytest.approx(fixed["mu"] / 2, rel=1e-12)


def test_realised_poisson_batches_and_cyclic_batches_are_accounted_for():
    poisson = judge(
        top(normaliser="fixed"),
        phase(0, steps=3, poisson={"rate": 0.001, "counts": [[30, 1], [31, 0], [29, 2]]}),
    ).document
    assert "masked retraining" in poisson["comparator"]
    assert any("realised batches" in line for line in poisson["scope"])
    cyclic = judge(phase(0, steps=4, batches=[0, 300], batch_size=16500)).document
    assert "masked retraining" in cyclic["comparator"]
    assert poisson["best"] is not None
    assert cyclic["best"] is not None


@pytest.mark.parametrize(
    ("assumptions", "ending"),
    [
        (assume(clip=1.0, weight_decay=0.125), {"step_size": 8.0}),
        (
            assume(strong_convexity=0.25, smoothness=0.25),
            {"step_size": 4.0, "rounding": 1e-9},
        ),
    ],
)
def test_a_last_noiseless_phase_with_factor_zero_changes_nothing(assumptions, ending):
    """It was certified as mu = 0."""
    last = {"steps": 1, "sigma": 0.0, "samples": 32700, "forgotten": 0, **ending}
    without = judge(assumptions).document
    with_it = judge(assumptions, lambda document: document["phases"].append(last)).document
    assert with_it["bounds"]["shift"] == without["bounds"]["shift"]
    assert with_it["bounds"]["shift"]["mu"] > 0


def test_a_rounding_budget_costs_and_silences_the_reservation():
    rounded = judge(phase(0, rounding=1e-9), phase(1, rounding=1e-9)).document
    assert not any("exact arithmetic" in line for line in rounded["scope"])
    assert rounded["bounds"]["shift"]["mu"] > judge().document["bounds"]["shift"]["mu"]
    assert "refused" in rounded["bounds"]["log_sobolev"]
    assert "refused" in rounded["bounds"]["iteration"]


def _random_history(rng: random.Random) -> dict:
    """Smooth convex histories of every size a user may have."""
    smoothness = 10 ** rng.uniform(-3, 3)
    constants: dict[str, object] = {
        "smoothness": smoothness,
        "lipschitz": 10 ** rng.uniform(-3, 3),
        "strong_convexity": rng.choice([0, smoothness * 10 ** rng.uniform(-6, 0)]),
    }
    if rng.random() < 0.3:
        constants["radius"] = 10 ** rng.uniform(-2, 2)
    phases = []
    for _ in range(rng.randint(1, 4)):
        samples = rng.choice([2, 10, 1000, 10**6, 2**53])
        phases.append(
            {
                "steps": rng.choice([1, 2, 100, 1000, 10**9, 10**15]),
                "step_size": rng.uniform(1e-3, 2) / smoothness,
                "sigma": rng.choice([0, 10 ** rng.uniform(-6, 3)]),
                "samples": samples,
                "forgotten": rng.choice([0, 0, 1, samples // 2, samples - 1]),
                "released": rng.random() < 0.1,
            }
        )
    return {
        "assumptions": constants,
        "phases": phases,
        "delta": rng.choice([1e-5, 1e-9, 0.1, 0.5]),
        "orders": [rng.choice([1.0001, 2, 8, 1e6])],
        "normaliser": "mean",
    }


def test_any_valid_history_gets_a_finite_document():
    rng = random.Random(0)
    judged = 0
    for _ in range(300):
        text = json.dumps(_random_history(rng))
        request = parse_account(text)
        try:
            records = request.records()
            found = account(*records, delta=request.delta, orders=request.orders)
        except InvalidInput:
            continue
        judged += 1
        json.dumps(found.document(), allow_nan=False)
        assert list(found.bounds) == BOUNDS
        for figures in found.bounds.values():
            assert (figures.refused is None) == (figures.epsilon is not None)
            if figures.epsilon is not None:
                assert 0 <= figures.epsilon < math.inf
        known = [f.epsilon for f in found.bounds.values() if f.epsilon is not None]
        assert found.vacuous is (
            not known
            or min(known) > 20
            or request.delta * max(p.samples for p in request.phases) > 1
        )
    assert judged > 200


@pytest.mark.parametrize(
    ("bound", "named"),
    [("drift", "'drift'"), ("shift", "shift"), ("other:drift", "the package other")],
)
def test_a_bound_that_no_package_offers_is_named(bound, named, tmp_path):
    file = tmp_path / "certificate.json"
    arguments = ("account", "-", "--bound", bound, "--certificate", file)
    complaint = expunge(*arguments, stdin=json.dumps(EXAMPLE)).complaint
    assert "bound: " in complaint
    assert named in complaint
    assert not file.exists()
