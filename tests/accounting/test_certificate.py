"""Certificates: canonical and validated; no leaf can be changed unseen."""

import copy
import json
from collections.abc import Iterator
from operator import methodcaller
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import expunge.accounting.certificate as module
from expunge.accounting import Assumptions, History, InvalidInput, Phase, Poisson
from expunge.accounting.canonical import altered_fields, canonical, fingerprints
from expunge.accounting.certificate import Certificate, json_schema, parse_certificate
from expunge.accounting.issue import issue
from expunge.accounting.stated import Stated
from expunge.accounting.verification import differences

SCHEMA = Path(module.__file__).with_name("certificate.schema.json")
LOSS = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
LEARN = Phase(50, 1.0, 0.1, 1000, 10)
UNLEARN = Phase(5, 1.0, 0.1, 990)
PIPELINE = History((LEARN, UNLEARN))

HISTORIES: dict[str, tuple[Assumptions, History]] = {
    "pipeline": (LOSS, PIPELINE),
    "released": (LOSS, History((Phase(50, 1.0, 0.1, 1000, 10, released=True), UNLEARN))),
    "projected": (Assumptions(smoothness=0.1, lipschitz=1.0, radius=0.3), PIPELINE),
    "clipped": (Assumptions(clip=1.0, weight_decay=0.1), PIPELINE),
    "cyclic": (
        LOSS,
        History(
            (Phase(7, 1.0, 0.1, 1000, 10, rounding=1e-9, batches=(4, 6), batch_size=(500, 500)),)
        ),
    ),
    "poisson": (
        LOSS,
        History(
            (Phase(2, 1.0, 0.1, 1000, 10, poisson=Poisson(0.1, ((99, 1), (98, 0)))), UNLEARN),
            "fixed",
        ),
    ),
    "nothing forgotten": (LOSS, History((UNLEARN,))),
}


def issued(name: str = "pipeline", **facts: Any) -> Certificate:
    return issue(*HISTORIES[name], delta=1e-5, stated=Stated(**facts))


def resealed(liar: Certificate) -> Certificate:
    """With fingerprints that fit what it says now, as anybody can make them."""
    sealed = liar.model_copy(update={"fingerprints": fingerprints(liar.body())})
    assert list(altered_fields(sealed.body(), sealed.fingerprints)) == []
    return sealed


def full() -> Certificate:
    """A certificate with something in every field."""
    return issued(
        earlier_releases="not covered",
        requests=["r-1", "r-2"],
        model_sha256="ab" * 32,
        commitments={"base_model": "cd" * 32},
        workspace="ef" * 16,
        generation=2,
        sequence=2,
        previous="12" * 32,
        subjects=1,
        provenance={"noise": "operating system", "labels": "public", "state": "sole"},
        retained=({"what": "the un-noised solution", "erased_by": "2027-01-01"},),
        declared=("the caller's line",),
    )


@pytest.mark.parametrize("name", HISTORIES)
def test_a_certificate_survives_its_canonical_form_byte_for_byte(name):
    text = issued(name).canonical()
    again = parse_certificate(text)
    assert again == issued(name)
    assert again.canonical() == text
    assert canonical(json.loads(text)) == text
    assert parse_certificate(json.dumps(json.loads(text), indent=4)).canonical() == text


@pytest.mark.parametrize("name", HISTORIES)
def test_an_untouched_certificate_has_no_differences(name):
    assert differences(parse_certificate(issued(name).canonical())) == []


@pytest.mark.parametrize("name", HISTORIES)
def test_a_certificate_validates_against_the_published_schema(name):
    schema = json.loads(SCHEMA.read_text())
    jsonschema.validate(
        json.loads(issued(name).canonical()), schema, cls=jsonschema.Draft202012Validator
    )


def test_the_published_schema_is_the_current_one():
    assert SCHEMA.read_text() == json_schema()


def leaves(value: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """Every number, text, switch and null."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, (*path, i))
    else:
        yield path, value


def with_leaf(document: dict, path: tuple, value: Any) -> dict:
    changed = copy.deepcopy(document)
    inner = changed
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    return changed


def alternatives(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, float):
        return [value * (1 + 1e-9) if value else 1e-9, value / 2 if value else 0.5]
    if isinstance(value, str):
        return [value + " ", "final" if value == "all" else "all", "public", "covered"]
    return [1.0, "ab", 7]


def name_of(path: tuple) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


@pytest.mark.parametrize("name", ["full", "cyclic", "poisson", "clipped"])
def test_any_changed_leaf_is_noticed_and_named_first(name):
    """Lists of plain numbers or texts are one leaf, so a name may stop at the list."""
    certificate = full() if name == "full" else issued(name)
    document = json.loads(certificate.canonical())
    tried = 0
    for path, value in leaves(document):
        if path[0] == "fingerprints":
            continue
        for other in alternatives(value):
            if other == value:
                continue
            text = json.dumps(with_leaf(document, path, other))
            try:
                altered = parse_certificate(text)
            except InvalidInput:
                continue
            found = differences(altered)
            assert found, path
            assert name_of(path).startswith(found[0].field), (path, found[0])
            assert found[0].field.split(".")[0].split("[")[0] == path[0]
            tried += 1
    assert tried > 40


def test_every_changed_fingerprint_is_noticed():
    document = json.loads(full().canonical())
    for field in document["fingerprints"]:
        altered = with_leaf(document, ("fingerprints", field), "0" * 16)
        assert [d.field for d in differences(parse_certificate(json.dumps(altered)))] == [field]


def test_a_missing_or_an_additional_fingerprint_is_noticed():
    document = json.loads(full().canonical())
    missing = copy.deepcopy(document)
    del missing["fingerprints"]["claim.epsilon"]
    assert differences(parse_certificate(json.dumps(missing)))[0].field == "claim.epsilon"
    extra = with_leaf(document, ("fingerprints", "claim.bonus"), "0" * 16)
    assert differences(parse_certificate(json.dumps(extra)))[0].field == "claim.bonus"


RESEALED = {
    ("claim", "epsilon"): 0.01,
    ("claim", "mu"): 0.001,
    ("claim", "delta"): 1e-9,
    ("claim", "bound"): "iteration",
    ("claim", "vacuous"): True,
    ("claim", "renyi", "2"): 1e-6,
    ("claim", "statement"): ["Nothing can be learned, ever."],
    ("observer",): "all",
    ("earlier_releases",): "covered",
    ("comparator",): "the same model",
    ("regime",): "convex",
    ("scope",): ["everything"],
    ("not_claimed",): [],
    ("history", "phases", 0, "sigma"): 10.0,
    ("history", "phases", 0, "forgotten"): 1,
    ("history", "phases", 1, "steps"): 500,
    ("assumptions", "lipschitz", "value"): 0.01,
    ("assumptions", "lipschitz", "mark"): "enforced",
    ("reservations",): [],
    ("forgotten",): 10_000,
    ("records",): 20_000,
    ("capacity",): 10,
    ("strategy",): "residual",
    ("commitments",): {"model": "cd" * 32},
    ("previous",): None,
    ("sequence",): 1,
}


@pytest.mark.parametrize("path", RESEALED, ids=name_of)
def test_a_resealed_certificate_fails_by_recomputation(path):
    """Fingerprints are no secret: whoever lies can renew them, but not the arithmetic."""
    document = with_leaf(json.loads(full().canonical()), path, RESEALED[path])
    liar = parse_certificate(json.dumps(document))
    assert differences(resealed(liar))


def test_a_resealed_claim_is_named_with_what_the_history_supports():
    document = with_leaf(json.loads(full().canonical()), ("claim", "epsilon"), 0.01)
    liar = parse_certificate(json.dumps(document))
    (difference,) = differences(resealed(liar))
    assert difference.field == "claim.epsilon"
    assert difference.problem.startswith("states 0.01, its history supports ")


def test_a_history_that_supports_nothing_is_named():
    document = json.loads(full().canonical())
    for i in (0, 1):
        document = with_leaf(document, ("history", "phases", i, "sigma"), 0.0)
    liar = parse_certificate(json.dumps(document))
    (difference,) = differences(resealed(liar))
    assert difference.field == "history"
    assert "supports no certificate" in difference.problem


def test_a_certificate_cannot_be_changed_in_place():
    with pytest.raises(ValueError, match="frozen"):
        full().claim.epsilon = 0.0  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("claim", "epsilon"), -1.0, "claim.epsilon"),
        (("claim", "epsilon"), float("nan"), "claim.epsilon"),
        (("claim", "delta"), 0.0, "claim.delta"),
        (("schema_version",), "3", "schema_version"),
        (("reservations",), ["none at all"], "reservations[0]"),
        (("issued",), "yesterday", "issued"),
        (("issued",), "9999-99-99T99:99:99Z", "issued"),
        (("previous",), "x", "previous"),
        (("workspace",), "x", "workspace"),
        (("model_sha256",), "x", "model_sha256"),
        (("retained", 0, "erased_by"), "x", "retained[0].erased_by"),
        (("provenance", "noise"), "a die", "provenance.noise"),
        (("history", "phases"), [], "history.phases"),
        (("history", "phases", 0, "steps"), "50", "history.phases[0].steps"),
        (("signature",), "x", "signature"),
    ],
)
def test_what_is_no_certificate_is_refused_by_name(path, value, field):
    document = with_leaf(json.loads(full().canonical()), path, value)
    with pytest.raises(InvalidInput) as refused:
        parse_certificate(json.dumps(document))
    assert refused.value.field == field


def test_it_prints_what_an_attacker_can_do_as_text_and_as_html():
    certificate = issued()
    sentence = certificate.claim.statement[-1]
    assert sentence.startswith("An attacker who is wrong about innocent models 5 % of the time")
    assert sentence in str(certificate)
    assert sentence in methodcaller("_repr_html_")(certificate)  # what a notebook shows
