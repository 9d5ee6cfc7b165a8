"""Complaints and corner cases that testing found before any release."""

import json

import pytest

from tests.cli.test_main import EXAMPLE, expunge

PLAN = {
    "private": "3000", "public": "3000", "forget": "0.1", "epsilon": "1", "delta": "1e-5",
    "strong-convexity": "0.0119", "smoothness": "0.2619", "lipschitz": "1", "learn-steps": "1000",
}  # fmt: skip


def plan(**changed):
    options = PLAN | {name.replace("_", "-"): value for name, value in changed.items()}
    words = [
        w for name, value in options.items() if value is not None for w in (f"--{name}", value)
    ]
    return expunge("plan", *words, "--json")


@pytest.mark.parametrize("key", ["sigma", "step_size"])
@pytest.mark.parametrize("value", [1e160, 1e-305])
def test_magnitudes_beyond_arithmetic_are_named(key, value, tmp_path):
    document = json.loads(json.dumps(EXAMPLE))
    document["phases"][0][key] = value
    path = tmp_path / "history.json"
    path.write_text(json.dumps(document))
    assert f"phases[0].{key}" in expunge("account", path, "--json").complaint


def test_an_integer_of_five_thousand_digits_is_bad_input(tmp_path):
    path = tmp_path / "history.json"
    path.write_text(json.dumps(EXAMPLE).replace("33000", "3" * 5001))
    assert "too many digits" in expunge("account", path, "--json").complaint


@pytest.mark.parametrize("forget", ["1e-999999999", "1/3", "٣", "1_0", ".", "-0.5"])
def test_only_counts_and_decimal_shares_are_forget_sets(forget):
    assert "--forget" in plan(forget=forget).complaint


def test_a_certificate_without_orders_verifies(tmp_path):
    path, certificate = tmp_path / "history.json", tmp_path / "certificate.json"
    path.write_text(json.dumps(EXAMPLE | {"orders": []}))
    assert expunge("account", path, "--certificate", certificate, "--json").status == 0
    assert expunge("verify", certificate).status == 0


def test_a_plan_whose_noise_first_overflows_still_has_its_other_strategies():
    done = plan(strong_convexity=None, learn_steps="2000")
    excluded = {s["name"]: s["excluded"] for s in json.loads(done.out)["strategies"]}
    assert excluded["noise_first"]
    assert excluded["retrain"] is None


def test_no_unlearning_steps_price_noise_first_at_one():
    document = json.loads(plan(unlearn_steps="0").out)
    assert {s["name"]: s["steps"] for s in document["strategies"]}["noise_first"] == 1


def test_a_strategy_takes_a_step_even_where_none_is_needed():
    """Against observer all the target is met at K = 0; what is handed out is a new model still."""
    document = json.loads(plan(observer="all").out)
    assert document["unlearn_steps"] == 0
    assert {s["name"]: s["steps"] for s in document["strategies"]}["langevin"] == 1


def test_an_unwritable_output_is_named_itself(tmp_path):
    path = tmp_path / "history.json"
    path.write_text(json.dumps(EXAMPLE))
    target = tmp_path / "missing" / "c.json"
    assert str(target) in expunge("account", path, "--certificate", target).complaint


def test_without_arguments_it_shows_its_help():
    done = expunge()
    assert done.status == 0
    assert "account" in done.out


def test_a_plot_of_a_single_record_draws_without_a_warning(tmp_path):
    done = plan(private="1", forget="1", plot=str(tmp_path / "figure.png"))
    assert done.status == 0
    assert (tmp_path / "figure.png").stat().st_size > 1000
