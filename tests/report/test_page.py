"""The report: one file, honest in its first cards, whatever the certificate says."""

import json

import pytest

from expunge.accounting import Assumptions
from expunge.accounting.history import learn_unlearn
from expunge.accounting.issue import issue
from expunge.accounting.stated import Stated
from expunge.report.page import page
from tests.report.claims import AUDIT, EVALUATIONS, STRATEGIES


def certificate(**more):
    loss = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
    history = learn_unlearn(
        learn_steps=100, unlearn_steps=20, step_size=1.0, sigma=0.5, samples=100, forgotten=3
    )
    found = issue(loss, history, delta=1e-5, stated=Stated(**more))
    return json.loads(found.canonical())


def document(**more):
    return {
        "title": "A title",
        "data": "Some data.",
        "records": {"public": 10, "private": 87, "forgotten": 3},
        "certificate": certificate(),
        "strategies": STRATEGIES,
        "retraining": "About 24 passes.",
        "evaluations": EVALUATIONS,
        "evaluated_on": "On the public records.",
        "trade_offs": None,
        "audit": None,
    } | more


def first_screen(text):
    return text[text.index("<main>") : text.index("<section>")]


def test_the_first_cards_say_who_could_still_learn_what_and_what_retraining_costs():
    screen = first_screen(page(document()))
    assert "Observer: final" in screen
    assert "About 24 passes." in screen
    assert "3 forgotten" in " ".join(screen.split())


def test_the_first_cards_say_in_plain_words_what_an_attacker_can_do():
    found = certificate()
    sentence = found["claim"]["statement"][-1]
    assert sentence.startswith("An attacker who is wrong about innocent models 5 %")
    assert sentence in first_screen(page(document(certificate=found)))
    assert "shift, proven" in page(document(certificate=found))


def test_a_holder_of_the_old_model_is_named_where_it_is_not_covered():
    uncovered = page(document(certificate=certificate(earlier_releases="not covered")))
    assert "EARLIER RELEASES NOT COVERED" in first_screen(uncovered)
    assert "kept a model from before the deletion" in first_screen(uncovered)
    assert "kept a model from before" not in first_screen(page(document()))


@pytest.mark.parametrize(
    "named",
    [{"model_sha256": "ab" * 32}, {"commitments": {"model": "ab" * 32}}, {}],
    ids=["by its hash", "by a commitment", "not at all"],
)
def test_the_model_is_named_as_the_certificate_names_it(named):
    text = page(document(certificate=certificate(**named)))
    assert f"<code>{'ab' * 16 if named else 'not named'}</code>" in text


def test_assumed_constants_are_marked():
    text = page(document())
    assert '<span class="mark assumed">assumed</span>' in text


def test_an_audit_is_shown_with_its_verdict_and_controls():
    text = page(document(audit=AUDIT))
    assert "What an attack found" in text
    assert AUDIT["verdict"] in text
    assert "a model that was never unlearned" in text
    assert "0.2 at 95 % confidence" in text
    assert "0.05 at the 99.9999 % that decide" in text
    assert "2,668 models of each law" in text
    assert "It never proves one" in text
    assert "What an attack found" not in page(document())


def test_before_any_deletion_nothing_is_claimed():
    text = page(document(certificate=None, trade_offs=None))
    assert "no record has been deleted" in text
    assert "trained on every private record" in text
    assert "<pre" not in text


def test_names_from_tables_are_escaped():
    text = page(document(title="<script>alert(1)</script>", data="<b>"))
    assert "<script>" not in text
    assert "&lt;b&gt;" in text


def test_a_regression_shows_its_error():
    scores = [{"name": "after", "records": 5, "root_mean_square_error": 0.25}]
    text = page(document(evaluations=scores))
    assert "0.25" in text
    assert "root mean square error" in text


def test_it_refers_to_nothing_outside():
    text = page(document())
    assert "http" not in text
    assert "<link" not in text


def test_a_missing_field_is_an_error_and_not_a_gap():
    incomplete = document()
    incomplete.pop("retraining")
    with pytest.raises(Exception, match="retraining"):
        page(incomplete)


def test_what_is_kept_secret_is_listed_with_its_date():
    kept = [{"what": "the un-noised solution", "erased_by": "2027-01-02"}]
    text = page(document(certificate=certificate(retained=kept)))
    assert "<li>the un-noised solution, until 2027-01-02 at the latest</li>" in text
    assert "Kept, and never handed out" not in page(document())
