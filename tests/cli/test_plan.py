"""`expunge plan`: the contract, word for word."""

import inspect

import pytest

from expunge.accounting import Assumptions, History, Phase, account, learn_unlearn
from expunge.cli.plan import forget_count
from expunge.cli.plan import plan as command
from tests.cli.test_main import Outcome, expunge

FIGURES = ["sigma", "unlearn_steps", "epsilon", "public_needed", "verdict"]
BOUNDS = ["shift", "log_sobolev", "log_sobolev_paper", "iteration", "contraction"]
USUAL = {
    "--private": "3000",
    "--public": "3000",
    "--forget": "300",
    "--epsilon": "1",
    "--delta": "1e-5",
    "--strong-convexity": "0.0119",
    "--smoothness": "0.2619",
    "--lipschitz": "1",
    "--learn-steps": "1000",
}


def plan(*, table: bool = False, **options: object) -> Outcome:
    """The usual plan with options changed; None leaves one out."""
    given = USUAL | {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    words = [word for item in given.items() if item[1] is not None for word in item]
    return expunge("plan", *words, *([] if table else ["--json"]))


def epsilon_of(sigma: float, steps: int, *, public: int = 3000, **changes) -> float:
    """What `account` says of a plan's setting, by the shift bound."""
    constants = {"strong_convexity": 0.0119, "smoothness": 0.2619, "lipschitz": 1.0}
    constants |= changes.pop("constants", {})
    history = learn_unlearn(
        learn_steps=changes.pop("learn_steps", 1000),
        unlearn_steps=steps,
        step_size=changes.pop("step_size", 1 / 0.2619),
        sigma=sigma,
        samples=3000 + public,
        forgotten=changes.pop("forgotten", 300),
        **changes,
    )
    found = account(Assumptions(**constants), history, delta=1e-5).bounds["shift"].epsilon
    assert found is not None
    return found


def test_the_five_figures_are_at_the_top_and_under_every_bound():
    outcome = plan(unlearn_steps=50)
    assert outcome.err == ""
    printed = outcome.document
    assert list(printed["bounds"]) == BOUNDS
    assert set(printed) >= {*FIGURES, "strategies", "bounds", "observer", "comparator"}
    for name in ("shift", "log_sobolev", "log_sobolev_paper", "iteration"):
        assert list(printed["bounds"][name]) == FIGURES
    assert printed["bounds"]["contraction"] == {"refused": "needs a projection (radius)"}
    assert {name: printed[name] for name in FIGURES} == printed["bounds"]["shift"]


def test_the_papers_bound_costs_more():
    bounds = plan(unlearn_steps=100).document["bounds"]
    assert bounds["shift"]["sigma"] < bounds["log_sobolev"]["sigma"]
    assert 100 * bounds["shift"]["sigma"] < bounds["log_sobolev_paper"]["sigma"]


def test_tables_for_people_name_the_verdict_the_bounds_and_the_strategies():
    out = plan(table=True, unlearn_steps=50).out
    for word in ("verdict: unlearn", *BOUNDS, "langevin", "noise_first", "retrain"):
        assert word in out
    assert "verdict: none" in plan(table=True, observer="all", sigma=0.1).out


@pytest.mark.parametrize(
    ("steps", "options"),
    [
        (0, {}),
        (50, {"normaliser": "fixed"}),
        (7, {"strong_convexity": 0}),
        (3, {"strong_convexity": 0, "radius": 2}),
    ],
)
def test_the_returned_sigma_meets_the_target_and_a_smaller_one_misses(steps, options):
    printed = plan(unlearn_steps=steps, **options).document
    normaliser = options.get("normaliser", "mean")
    constants = {
        "strong_convexity": float(options.get("strong_convexity", 0.0119)),
        "radius": options.get("radius"),
    }
    sigma = printed["sigma"]
    again = epsilon_of(sigma, steps, normaliser=normaliser, constants=constants)
    assert printed["unlearn_steps"] == steps
    assert printed["epsilon"] == again <= 1
    assert epsilon_of(sigma * 0.999999, steps, normaliser=normaliser, constants=constants) > 1


def test_the_returned_steps_meet_the_target_and_one_fewer_misses():
    printed = plan(sigma=0.3).document
    assert printed["sigma"] == 0.3
    assert epsilon_of(0.3, printed["unlearn_steps"]) <= 1
    assert epsilon_of(0.3, printed["unlearn_steps"] - 1) > 1
    assert printed["verdict"] == "unlearn"


def test_the_public_data_needed_meets_the_target_and_one_record_fewer_misses():
    given_steps = plan(unlearn_steps=20).document
    needed = given_steps["public_needed"]
    assert epsilon_of(given_steps["sigma"], 20, public=needed) <= 1
    assert epsilon_of(given_steps["sigma"], 20, public=needed - 1) > 1
    given_sigma = plan(sigma=0.01, learn_steps=60).document  # public_needed is at K = T - 1
    needed = given_sigma["public_needed"]
    assert epsilon_of(0.01, 59, public=needed, learn_steps=60) <= 1
    assert epsilon_of(0.01, 59, public=needed - 1, learn_steps=60) > 1


def test_unlearning_is_advised_only_below_the_steps_of_retraining():
    assert plan(unlearn_steps=999).document["verdict"] == "unlearn"
    assert plan(unlearn_steps=1000).document["verdict"] == "retrain"
    assert plan(sigma=0.001, learn_steps=30).document["verdict"] == "retrain"


def test_with_neither_option_unlearning_takes_one_step_less_than_retraining():
    printed = plan(learn_steps=40).document
    assert printed["unlearn_steps"] == 39
    assert printed["frontier"][-1] == {"unlearn_steps": 39, "sigma": printed["sigma"]}
    assert printed["frontier"][0]["unlearn_steps"] == 0
    sigmas = [point["sigma"] for point in printed["frontier"]]
    assert sigmas == sorted(sigmas, reverse=True)
    for point in printed["frontier"]:
        assert epsilon_of(point["sigma"], point["unlearn_steps"], learn_steps=40) <= 1


def test_an_observer_of_all_models_is_never_sent_to_retraining():
    for options in ({}, {"unlearn_steps": 50}, {"unlearn_steps": 2000}, {"sigma": 5}):
        printed = plan(observer="all", **options).document
        assert printed["verdict"] == "unlearn"
        assert printed["unlearn_steps"] == 0
        assert printed["observer"] == "all"
        released = epsilon_of(printed["sigma"], 10, learned_model_released=True)
        assert released == pytest.approx(printed["epsilon"], rel=1e-9)


def test_an_observer_of_all_models_with_too_little_noise_gets_what_would_suffice():
    printed = plan(observer="all", sigma=0.1).document
    assert printed["verdict"] == "none"
    assert printed["unlearn_steps"] is None
    assert printed["epsilon"] > 1
    assert epsilon_of(printed["sigma_needed"], 0) <= 1
    assert epsilon_of(printed["sigma_needed"] * 0.999999, 0) > 1
    assert epsilon_of(0.1, 0, public=printed["public_needed"]) <= 1
    assert epsilon_of(0.1, 0, public=printed["public_needed"] - 1) > 1
    for name in BOUNDS:
        assert printed["bounds"][name].get("verdict") != "retrain"


def test_strategies_that_expose_the_base_model_are_excluded_against_observer_all():
    strategies = {s["name"]: s for s in plan(observer="all").document["strategies"]}
    assert strategies["langevin"]["excluded"] is None
    assert "released" in strategies["noise_first"]["excluded"]
    assert "released" in strategies["retrain"]["excluded"]


def test_noise_first_keeps_its_promise_as_a_history():
    strategies = {s["name"]: s for s in plan(unlearn_steps=20).document["strategies"]}
    found = strategies["noise_first"]
    eta, loss = 1 / 0.2619, Assumptions(strong_convexity=0.0119, smoothness=0.2619, lipschitz=1.0)
    phases = (
        Phase(1000, eta, 0.0, 6000, 300),
        Phase(1, eta, found["sigma"], 5700),
        Phase(found["steps"] - 1, eta, 0.0, 5700),
    )
    again = account(loss, History(phases), delta=1e-5).bounds["shift"].epsilon
    assert again == pytest.approx(found["epsilon"], rel=1e-12)
    assert found["epsilon"] <= 1


def test_the_automatic_step_size_is_one_over_the_smoothness():
    assert plan(unlearn_steps=5).document["step_size"] == 1 / 0.2619
    assert plan(unlearn_steps=5, step_size="auto") == plan(unlearn_steps=5)
    assert plan(unlearn_steps=5, step_size=2).document["step_size"] == 2


@pytest.mark.parametrize(
    ("text", "private", "count"),
    [
        ("1", 3000, 1),
        ("1.0", 3000, 3000),
        ("0.1", 30, 3),
        ("0.1", 31, 4),
        ("0.7", 10, 7),
        ("0.29", 100, 29),
        (".5", 3, 2),
        ("0", 30, 0),
        ("0.0000001", 30, 1),
    ],
)
def test_an_integer_is_a_count_and_a_decimal_a_share_rounded_up(text, private, count):
    assert forget_count(text, private) == count


def test_the_forget_set_is_a_share_of_the_private_records():
    assert plan(forget="0.1", private=30, unlearn_steps=1).document["forget"] == 3
    assert plan(forget="1", unlearn_steps=1).document["forget"] == 1
    assert plan(forget="1.0", unlearn_steps=1).document["forget"] == 3000


def test_forgetting_nothing_is_free():
    printed = plan(forget="0", unlearn_steps=0).document
    assert printed["sigma"] == 0
    assert printed["epsilon"] == 0
    assert printed["public_needed"] == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"forget": "0.0"}, "forget"),
        ({"forget": "1.5"}, "forget"),
        ({"forget": "-0.5"}, "forget"),
        ({"forget": "abc"}, "forget"),
        ({"forget": "nan"}, "forget"),
        ({"forget": ""}, "forget"),
        ({"forget": "-3"}, "forget"),
        ({"forget": "3001"}, "forget"),
        ({"forget": "3000", "public": "0"}, "forget"),
        ({"forget": "1.0", "public": "0"}, "forget"),
        ({"sigma": "1", "unlearn_steps": "3"}, "sigma"),
        ({"sigma": "0"}, "sigma"),
        ({"sigma": "-1"}, "sigma"),
        ({"sigma": "nan"}, "sigma"),
        ({"sigma": "inf"}, "sigma"),
        ({"sigma": "much"}, "sigma"),
        ({"unlearn_steps": "-1"}, "--unlearn-steps"),
        ({"unlearn_steps": "1.5"}, "--unlearn-steps"),
        ({"epsilon": "0"}, "epsilon"),
        ({"epsilon": "nan"}, "epsilon"),
        ({"epsilon": "inf"}, "epsilon"),
        ({"delta": "0"}, "delta"),
        ({"delta": "1"}, "delta"),
        ({"delta": "nan"}, "delta"),
        ({"private": "0"}, "private"),
        ({"private": "3e3"}, "--private"),
        ({"public": "-1"}, "public"),
        ({"learn_steps": "0"}, "--learn-steps"),
        ({"step_size": "abc"}, "--step-size"),
        ({"step_size": "nan"}, "--step-size"),
        ({"step_size": "0"}, "--step-size"),
        ({"step_size": "8"}, "--step-size"),
        ({"step_size": "8", "strong_convexity": "0"}, "--step-size"),
        ({"smoothness": "0", "strong_convexity": "0"}, "--smoothness"),
        ({"smoothness": "nan"}, "smoothness"),
        ({"strong_convexity": "1"}, "--strong-convexity"),
        ({"strong_convexity": "-1"}, "--strong-convexity"),
        ({"lipschitz": "0"}, "lipschitz"),
        ({"lipschitz": "inf"}, "lipschitz"),
        ({"radius": "0"}, "radius"),
        ({"normaliser": "median"}, "--normaliser"),
        ({"observer": "some"}, "--observer"),
        ({"private": None}, "--private"),
        ({"forget": None}, "--forget"),
        ({"epsilon": None}, "--epsilon"),
        ({"delta": None}, "--delta"),
        ({"smoothness": None}, "--smoothness"),
        ({"lipschitz": None}, "--lipschitz"),
        ({"learn_steps": None}, "--learn-steps"),
    ],
)
def test_bad_options_exit_2_and_are_named(options, named):
    assert named in plan(**options).complaint


@pytest.mark.parametrize("name", ["figure.gif", "figure", "missing/figure.png"])
def test_a_figure_that_cannot_be_drawn_exits_2_and_leaves_nothing(name, tmp_path):
    assert plan(unlearn_steps=5, plot=tmp_path / name).complaint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("PDF", b"%PDF")])
def test_a_figure_is_drawn_whole(suffix, start, tmp_path):
    file = tmp_path / f"figure.{suffix}"
    assert plan(unlearn_steps=5, plot=file).status == 0
    assert file.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [file]


def test_a_bad_request_with_a_figure_draws_nothing(tmp_path):
    assert plan(forget="9999", plot=tmp_path / "figure.png").complaint
    assert list(tmp_path.iterdir()) == []


def test_a_vacuous_target_is_called_vacuous():
    assert plan(unlearn_steps=5, epsilon=21).document["vacuous"] is True
    assert plan(unlearn_steps=5, delta=0.001).document["vacuous"] is True
    assert plan(unlearn_steps=5).document["vacuous"] is False


def test_every_plan_names_observer_and_comparator():
    for observer in ("final", "all"):
        printed = plan(observer=observer, unlearn_steps=5).document
        assert printed["observer"] == observer
        assert printed["comparator"]


# ---- nonsense -----------------------------------------------------------------------------------

NO_NUMBERS = ("nan", "inf", "-inf", "-1", "abc", "", "1e400", "true")
NONSENSE = {
    "private": (*NO_NUMBERS, "0", "1.5", "9" * 30),
    "public": (*NO_NUMBERS, "1.5", "9" * 30),
    "forget": (*NO_NUMBERS, "3001", "1.5", "0.0", "9" * 30),
    "epsilon": (*NO_NUMBERS, "0", "1e7"),
    "delta": (*NO_NUMBERS, "0", "1"),
    "smoothness": (*NO_NUMBERS, "0", "1e-310"),
    "lipschitz": (*NO_NUMBERS, "0", "1e101"),
    "learn_steps": (*NO_NUMBERS, "0", "1.5", "9" * 30),
    "strong_convexity": (*NO_NUMBERS, "9"),
    "radius": (*NO_NUMBERS, "0"),
    "step_size": (*NO_NUMBERS, "0", "99"),
    "unlearn_steps": (*NO_NUMBERS, "1.5", "9" * 30),
    "sigma": (*NO_NUMBERS, "0"),
    "normaliser": ("median", "", "nan"),
    "observer": ("nobody", "", "nan"),
    "plot": ("plan.txt", "plan"),
}


def test_every_option_has_its_nonsense():
    """A new option without a row fails here; --json is a switch."""
    assert set(inspect.signature(command).parameters) - {"json"} == set(NONSENSE)


@pytest.mark.parametrize(
    ("option", "value"), [(name, value) for name, values in NONSENSE.items() for value in values]
)
def test_nonsense_exits_2_with_one_line_that_names_the_option(option, value):
    complaint = plan(**{option: value}).complaint
    assert option.replace("_", "-") in complaint
