"""A bound in a package of its own: listed, taken when asked for, needed to verify."""

import json
import math

import pytest

from tests.cli.test_main import EXAMPLE
from tests.foreign.example import run_expunge, run_python

NAME = "expunge-example:composition"


@pytest.fixture(scope="module")
def asked(example, tmp_path_factory):
    """A certificate that rests on the bound."""
    file = tmp_path_factory.mktemp("asked") / "certificate.json"
    arguments = ("account", "-", "--bound", NAME, "--certificate", file, "--json")
    done = run_expunge(*arguments, site=example, stdin=json.dumps(EXAMPLE))
    assert done.returncode == 0, done.stderr
    return file, json.loads(done.stdout)


def test_it_is_listed_and_never_best_unless_it_is_asked_for(example):
    done = run_expunge("account", "-", "--json", site=example, stdin=json.dumps(EXAMPLE))
    document = json.loads(done.stdout)
    assert document["bounds"][NAME]["epsilon"] > document["bounds"]["shift"]["epsilon"]
    assert document["best"] == "shift"
    assert "expunge-example" not in document["best_reason"]
    alone = run_expunge("account", "-", "--json", stdin=json.dumps(EXAMPLE))
    del document["bounds"][NAME]
    assert json.loads(alone.stdout) == document


def test_its_figure_is_the_sum_of_squares_of_its_steps(asked):
    """2 M eta n_f/n over sqrt(2 eta) sigma in each learning step, nothing afterwards."""
    _, document = asked
    learn = EXAMPLE["phases"][0]
    shift = 2 * learn["step_size"] * learn["forgotten"] / learn["samples"]
    noise_std = math.sqrt(2 * learn["step_size"]) * learn["sigma"]
    expected = math.sqrt(learn["steps"]) * shift / noise_std
    assert document["bounds"][NAME]["mu"] == pytest.approx(expected, rel=1e-9)


def test_asked_for_it_is_best_and_the_certificate_names_bound_and_package(asked):
    file, document = asked
    certificate = json.loads(file.read_text())
    assert document["best"] == certificate["claim"]["bound"] == NAME
    assert certificate["claim"]["epsilon"] == document["bounds"][NAME]["epsilon"]
    assert "bound of another package" in certificate["reservations"]
    (line,) = (line for line in certificate["claim"]["statement"] if NAME in line)
    assert "the word of the package expunge-example" in line


def test_it_may_be_asked_for_without_its_package_where_no_other_offers_it(example):
    arguments = ("account", "-", "--bound", "composition", "--json")
    done = run_expunge(*arguments, site=example, stdin=json.dumps(EXAMPLE))
    assert json.loads(done.stdout)["best"] == NAME


def test_verify_recomputes_it_with_the_package(asked, example):
    done = run_expunge("verify", asked[0], "--json", site=example)
    assert (done.returncode, json.loads(done.stdout)["valid"]) == (0, True)


def test_verify_without_the_package_exits_with_2_and_names_it(asked):
    done = run_expunge("verify", asked[0], "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "needs the package expunge-example" in done.stderr


def test_a_forged_figure_is_found_with_the_package(asked, example, tmp_path):
    """Fingerprints renewed, as anybody can: the bound is recomputed."""
    forge = """
import sys
from expunge.accounting.canonical import fingerprints
from expunge.accounting.certificate import parse_certificate
honest = parse_certificate(open(sys.argv[1]).read())
claim = honest.claim.model_copy(update={"epsilon": 0.01})
liar = honest.model_copy(update={"claim": claim})
print(liar.model_copy(update={"fingerprints": fingerprints(liar.body())}).canonical())
"""
    forged = tmp_path / "forged.json"
    forged.write_text(run_python("-c", forge, asked[0]).stdout)
    done = run_expunge("verify", forged, "--json", site=example)
    assert done.returncode == 1
    assert json.loads(done.stdout)["first_difference"] == "claim.epsilon"


def test_a_certificate_that_does_not_ask_is_the_same_with_and_without_the_package(
    example, tmp_path
):
    claims = []
    for site in (None, example):
        file = tmp_path / f"{len(claims)}.json"
        run_expunge("account", "-", "--certificate", file, site=site, stdin=json.dumps(EXAMPLE))
        certificate = json.loads(file.read_text())
        del certificate["issued"], certificate["fingerprints"]
        claims.append(certificate)
    assert claims[0] == claims[1]


def test_it_passes_the_suite_that_every_bound_of_ours_passes(example):
    """More noise, more records, a looser delta never hurt; forgetting more never helps."""
    check = """
from expunge.accounting import Assumptions, learn_unlearn
from expunge.accounting.bounds import BOUNDS
from expunge.accounting.bounds.foreign import find_bound
loss = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0, radius=3.0)
usual = dict(learn_steps=50, unlearn_steps=20, step_size=0.8, samples=1000, sigma=0.5, forgotten=20)
bound = find_bound("composition").guarantee
def epsilons(name, values):
    return [bound(loss, learn_unlearn(**usual | {name: v})).epsilon(1e-5) for v in values]
for name, values in (("sigma", (0.2, 0.5, 3.0)), ("samples", (100, 1000, 10**4))):
    assert epsilons(name, values) == sorted(epsilons(name, values), reverse=True)
assert epsilons("forgotten", (1, 10, 900)) == sorted(epsilons("forgotten", (1, 10, 900)))
history = learn_unlearn(**usual)
assert bound(loss, history).mu >= BOUNDS["shift"](loss, history).mu
"""
    done = run_python("-c", check, site=example)
    assert done.returncode == 0, done.stderr
