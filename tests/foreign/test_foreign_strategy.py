"""A strategy in a package of its own: registered, taken by name, saved, and needed to load."""

import json

import pytest

from tests.foreign.example import run_expunge, run_python

FIT = """
import sys, json
import numpy as np
from expunge import CertifiedClassifier
from expunge.accounting.verification import differences
from expunge.unlearning import load

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)); y = (X[:, 0] > 0).astype(int)
clf = CertifiedClassifier(strategy={strategy}, l2=0.1)
clf.fit(X[20:], y[20:], public=(X[:20], y[:20]))
before = clf.coef_.copy()
certificate = clf.forget([3, 4])
joined = clf.add(X[:2], y[:2])
clf.save(sys.argv[1])
again = load(sys.argv[1])
print(json.dumps({{
    "epsilon": certificate.epsilon, "strategy": certificate.strategy,
    "reservations": certificate.reservations, "differences": len(differences(certificate)),
    "joined": [joined.records, joined.forgotten, joined.epsilon, len(differences(joined))],
    "unmoved": bool((before == clf.coef_).all()), "names": [p.name for p in clf.plan(2)],
    "settings": repr(again.fitted_.strategy), "forgotten": again.forget(9).forgotten,
}}))
"""
BY_NAME = FIT.format(strategy="'public_only'")
BY_RECORD = "from expunge_example.public_only import PublicOnly\n" + FIT.format(
    strategy="PublicOnly(tolerance=1e-5)"
)


@pytest.fixture(scope="module")
def fitted(example, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    done = run_python("-c", BY_NAME, folder, site=example)
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_it_learns_forgets_is_priced_and_comes_back_from_disk(fitted):
    _, told = fitted
    assert (told["epsilon"], told["strategy"], told["differences"]) == (0.0, "public_only", 0)
    assert told["unmoved"]
    assert "public_only" in told["names"]
    assert told["settings"] == "PublicOnly(tolerance=1e-06)"
    assert told["forgotten"] == 3


def test_records_join_by_its_own_rule(fitted):
    assert fitted[1]["joined"] == [62, 2, 0.0, 0]


def test_its_certificate_says_that_expunge_does_not_know_it(fitted):
    assert any("strategy" in line for line in fitted[1]["reservations"])


def test_settings_of_a_record_come_back(example, tmp_path):
    done = run_python("-c", BY_RECORD, tmp_path / "model", site=example)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["settings"] == "PublicOnly(tolerance=1e-05)"


def test_the_command_line_names_it_in_its_help_and_only_with_its_package(example):
    assert "public_only" in run_expunge("fit", "--help", site=example).stdout
    assert "public_only" not in run_expunge("fit", "--help").stdout


def test_without_its_package_what_was_saved_is_refused_by_name(fitted):
    load = "import sys; from expunge.unlearning import load; load(sys.argv[1])"
    done = run_python("-c", load, fitted[0])
    assert done.returncode != 0
    assert "'linear.public_only' is not known here" in done.stderr
