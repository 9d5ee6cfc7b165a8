"""Every reservation follows from a fact on the certificate, and goes with it."""

from typing import get_args

import pytest

from expunge.accounting import Assumptions, History, Phase
from expunge.accounting.certificate import Certificate
from expunge.accounting.issue import issue
from expunge.accounting.reservations import Provenance, Reservation
from expunge.accounting.stated import Stated
from expunge.accounting.verification import differences

SURE = dict.fromkeys(("strong_convexity", "smoothness", "lipschitz"), "enforced")
LOSS = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0, marks=SURE)
ASSUMED = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
PIPELINE = History((Phase(50, 1.0, 1.0, 1000, 10), Phase(5, 1.0, 1.0, 990)))
QUIET = History((Phase(50, 1.0, 1e-4, 1000, 10), Phase(5, 1.0, 1e-4, 990)))
FRESH = History((Phase(50, 1.0, 0.0, 1000, 10), Phase(1, 1.0, 9.0, 990), Phase(4, 1.0, 0.0, 990)))
OUT = {"earlier_releases": "not covered"}
BOTH = ["requests must not depend on released models", "earlier releases not covered"]


def issued(loss=LOSS, history=PIPELINE, **facts) -> Certificate:
    return issue(loss, history, delta=1e-5, stated=Stated(**facts))


CASES: dict[str, tuple[Certificate, list[Reservation]]] = {
    "nothing": (issued(), []),
    "assumed": (issued(ASSUMED), ["assumed constants"]),
    "vacuous": (issued(history=QUIET), ["vacuous"]),
    "released": (issued(**OUT), BOTH),
    "noise only after the request": (
        issued(history=FRESH, strategy="noise_first", **OUT),
        ["earlier releases not covered"],
    ),
    "seeded": (issued(provenance=Provenance(noise="seeded")), ["experiment only"]),
    "labels": (
        issued(provenance=Provenance(labels="private")),
        ["label set from private records"],
    ),
    "copied": (issued(provenance=Provenance(state="copied")), ["state may have been used twice"]),
    "foreign": (
        issued(strategy="amnesia", comparator="a fresh start", forgotten=10),
        ["strategy of another package"],
    ),
    "public": (
        issued(provenance=Provenance(labels="public", state="sole")),
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fact_brings_its_reservation_and_no_other(name):
    certificate, expected = CASES[name]
    assert certificate.reservations == expected
    assert len(certificate.claim.statement) == len(expected) + 2
    assert differences(certificate) == []


def test_every_reservation_is_brought_by_some_fact():
    brought = {name for _, expected in CASES.values() for name in expected}
    brought.add("bound of another package")  # by tests/accounting/bounds/test_foreign.py
    assert brought == set(get_args(Reservation))


def test_requests_that_look_at_models_are_ruled_out_in_the_first_line():
    first = issued(**OUT, provenance=Provenance(noise="seeded")).claim.statement[0]
    assert first.startswith("REQUESTS MUST NOT DEPEND ON RELEASED MODELS")


def test_assumed_constants_come_before_everything():
    first = issued(ASSUMED, **OUT).claim.statement[0]
    assert first.startswith("This certificate rests on constants that were declared")


@pytest.mark.parametrize("name", [name for name, (_, expected) in CASES.items() if expected])
def test_a_reservation_cannot_be_dropped_alone(name):
    from tests.accounting.test_certificate import resealed

    certificate, _ = CASES[name]
    fewer = certificate.model_copy(update={"reservations": []})
    assert [difference.field for difference in differences(resealed(fewer))] == ["reservations"]
