"""The report: one file, honest in its first cards, whatever the certificate says."""

import json
import re

import pytest

from expunge import __version__
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
        "operator": None,
        "written": "2026-01-02T03:04:05Z",
        "model": None,
        "requests": [],
        "names_published": False,
        "records": {"public": 10, "private": 87, "forgotten": 3},
        "certificate": certificate(),
        "checked": "All 3 files are as they were written.",
        "commands": ["expunge verify certificate.json"],
        "strategies": STRATEGIES,
        "longest": 60.0,
        "retraining": "About 24 passes.",
        "evaluations": EVALUATIONS,
        "trade_offs": None,
        "audit": None,
    } | more


def first_screen(text):
    start = text.index('<section id="short"')
    return text[start : text.index("</section>", start)]


def test_the_first_section_says_who_could_still_learn_what_and_how_much_was_deleted():
    screen = " ".join(first_screen(page(document())).split())
    assert "Observer: final" in screen
    assert "3 forgotten private records; 87 private and 10 public records are left" in screen
    assert "(1 in 100,000)" in screen
    assert "All 3 files are as they were written." in screen


def test_the_first_sentence_says_in_plain_words_what_an_attacker_can_do():
    found = certificate()
    sentence = found["claim"]["statement"][-1]
    assert sentence.startswith("An attacker who is wrong about innocent models 5 %")
    text = page(document(certificate=found))
    assert f'<p class="big">{sentence}</p>' in first_screen(text)
    assert f"<p>{found['claim']['statement'][-2]}</p>" in first_screen(text)
    assert "Bound: shift, proven by the checker" in text


def test_a_certificate_without_that_sentence_gets_it_all_the_same():
    found = certificate()
    *_, claimed, sentence = found["claim"]["statement"]
    found["claim"]["statement"] = [claimed]
    screen = first_screen(page(document(certificate=found)))
    assert f'<p class="big">{sentence}</p>' in screen
    assert f"<p>{claimed}</p>" in screen


def test_it_says_who_wrote_it_when_and_with_which_version():
    text = page(document(operator="Example & Sons"))
    assert "Operator: Example &amp; Sons." in text
    assert f"Written on 2 January 2026, 03:04 UTC with expunge {__version__}." in text
    assert "Operator" not in page(document())


REQUEST = {
    "number": 7,
    "name": None,
    "received": "2026-01-02T03:04:05+00:00",
    "records": 1200,
    "state": "committed",
    "made": None,
}


def test_requests_are_listed_with_when_they_came_and_how_they_stand():
    text = page(document(requests=[REQUEST]))
    assert '<th scope="row" data-of="request">7</th>' in text
    assert "2 January 2026, 03:04 UTC" in text
    assert "1,200" in text
    assert "done, but old files are not erased yet" in text
    assert "and the names that requests were given," in text
    named = page(document(requests=[REQUEST | {"name": "ticket <1>"}], names_published=True))
    assert "7: ticket &lt;1&gt;" in named
    assert "the names that requests were given" not in named
    assert "Who asked" not in page(document())


def test_requests_that_are_not_finished_are_said_first():
    done = REQUEST | {"number": 6, "state": "honoured"}
    screen = first_screen(page(document(requests=[done, REQUEST])))
    assert "NOT FINISHED: 1 of 2 requests is not honoured yet." in screen
    assert screen.index("NOT FINISHED") < screen.index("An attacker")
    assert "NOT FINISHED" not in page(document(requests=[done]))


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
    assert f"<code>{'ab' * 32 if named else 'not named'}</code>" in text


def test_constants_are_said_in_words_with_how_they_are_known():
    text = page(document())
    assert "curvature of the loss is at least" in text
    assumptions = certificate()["assumptions"].values()
    assumed = [one for one in assumptions if one["value"] and one["mark"] == "assumed"]
    assert text.count("declared by the operator, not checked") == len(assumed) >= 3
    assert "strong_convexity" not in text[: text.index("<pre")]
    assert "bowl-shaped" in text


def test_a_release_of_no_curvature_is_one_draw_of_noise_and_no_smoothness_of_zero():
    found = certificate()
    for name in ("strong_convexity", "smoothness"):
        found["assumptions"][name] = {"value": 0.0, "mark": "enforced"}
    text = page(document(certificate=found))
    assert "One draw of noise around the solution is all that is certified" in text
    assert "curvature of the loss" not in text


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
    assert "lies beyond what is certified" not in text


def test_an_estimate_outside_of_the_certified_zone_is_explained_beside_the_verdict():
    estimate = {"value": 0.5, "interval": [0.1, 0.9]}
    text = page(document(audit=AUDIT | {"estimate": estimate}))
    assert "The estimate lies beyond what is certified, and that is no contradiction" in text


def test_a_model_that_only_guesses_is_called_useless_at_the_top():
    blind = EVALUATIONS[1] | {"confusion": [[0, 5], [0, 4]], "accuracy": 4 / 9}
    text = page(document(evaluations=[blind]))
    assert "This model is useless on public records: always saying the commonest" in first_screen(
        text
    )
    assert "useless" not in first_screen(page(document()))


def test_a_useless_model_that_is_not_the_current_one_says_nothing_of_it():
    blind = EVALUATIONS[0] | {"confusion": [[0, 5], [0, 4]], "accuracy": 4 / 9}
    assert "useless" not in first_screen(page(document(evaluations=[blind, EVALUATIONS[1]])))


def test_noise_that_drowns_a_model_is_called_useless():
    loud = STRATEGIES[0] | {"release_noise_std": 974.46}
    text = page(document(strategies=[loud]))
    assert "drowns the model: useless" in text
    assert "974.46" not in text


def test_before_any_deletion_nothing_is_claimed():
    text = page(document(certificate=None, trade_offs=None))
    assert "no record has been deleted" in first_screen(text)
    assert "trained on every private record" in text
    assert "<pre id=" not in text


def test_names_from_tables_are_escaped():
    text = page(document(title="<script>alert(1)</script>", data="<b>"))
    assert "<script>" not in text
    assert "&lt;b&gt;" in text


def test_a_regression_shows_its_error():
    scores = [{"name": "after", "on": "rows", "records": 5, "root_mean_square_error": 0.25}]
    text = page(document(evaluations=scores))
    assert "0.25" in text
    assert "root mean square error" in text


def test_names_in_figures_are_escaped():
    scores = EVALUATIONS[0] | {"labels": ["<i>yes", "no"], "name": "<b>"}
    text = page(document(evaluations=[scores]))
    assert "<i>" not in text
    assert "<b>" not in text
    assert "&lt;i&gt;yes" in text


def test_it_refers_to_nothing_outside():
    text = page(document(audit=AUDIT))
    assert "http" not in text
    assert "<link" not in text
    assert "<script" not in text


def test_no_name_inside_is_given_twice_and_every_reference_leads_somewhere():
    text = page(document(audit=AUDIT))
    names = re.findall(r'\bid="([^"]*)"', text)
    assert len(names) == len(set(names))
    references = re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)|aria-labelledby="([^"]*)"', text)
    assert len(references) > 20
    assert {name for found in references for name in found if name} <= set(names)


def test_sections_without_anything_to_say_are_left_out():
    bare = page(document(certificate=None, strategies=[], evaluations=[]))
    assert "<svg" not in bare
    for name in ("attacker", "accuracy", "rests", "audit", "public", "requests"):
        assert f'<section id="{name}"' not in bare


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
