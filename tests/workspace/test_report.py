"""The report: one file that needs no network and says the uncomfortable things first."""

import base64
import re

import pytest

from expunge.workspace.forget import forget
from expunge.workspace.report import report, retraining_sentence
from tests.workspace.tables_made import (
    DECLARED,
    everything_in,
    fitted,
    private_people,
    public_people,
    usual,
)


def written(workspace):
    output = workspace.parent / "report.html"
    before = everything_in(workspace)
    document = report(workspace, output)
    assert everything_in(workspace) == before
    assert document["output"] == str(output)
    return output.read_text(encoding="utf-8")


def first_cards(text):
    start = text.index('<div class="cards">')
    return text[start : text.index("<section", start)]


@pytest.mark.parametrize(
    ("options", "observer"),
    [
        ({"released": False}, "final"),
        ({"observer": "all"}, "all"),
    ],
)
def test_the_first_cards_say_who_could_learn_what_and_what_retraining_costs(
    tmp_path, options, observer
):
    workspace = fitted(tmp_path, **options)
    forget(workspace, ["00003", "00004"])
    cards = first_cards(written(workspace))
    assert f"Observer: {observer}." in cards
    assert "retraining would have cost" in cards
    assert "passes over the remaining records" in cards
    assert "2 forgotten" in " ".join(cards.split())


def test_it_is_one_small_file_that_asks_no_network(tmp_path):
    workspace = usual(tmp_path)
    forget(workspace, ["00003"])
    text = written(workspace)
    assert len(text.encode()) < 5_000_000
    assert not re.search(r"https?:|//www|url\(|@import|<script|<link|<iframe", text)
    sources = re.findall(r"""(?:src|href)\s*=\s*["']?([^"'>]*)""", text)
    assert len(sources) >= 3
    for source in sources:
        kind, _, content = source.partition(",")
        assert kind == "data:image/svg+xml;base64"
        drawn = base64.b64decode(content).decode()
        assert not re.search(r"""(?:src|href)\s*=\s*["']\s*(?!#|data:)""", drawn)


def test_before_a_deletion_it_says_that_nothing_is_certified(tmp_path):
    cards = first_cards(written(usual(tmp_path)))
    assert "no record has been deleted" in cards
    assert "Whoever sees it may learn about them" in cards
    assert "ε ≤" not in cards


def test_what_users_name_is_escaped(tmp_path):
    private, public = private_people(), public_people()
    for columns in (private, public):
        columns["<script>"] = columns.pop("age")
        said = columns.pop("label")
        columns["<b>y</b>"] = ["<i>yes</i>" if one == "yes" else one for one in said]
    workspace = fitted(tmp_path, private, public, label="<b>y</b>")
    forget(workspace, ["00003"], name="<script>alert(1)</script>")
    text = written(workspace)
    assert "<script" not in text
    assert "<b>y</b>" not in text
    assert "<i>yes" not in text
    assert "&lt;b&gt;y&lt;/b&gt;" in text


def test_a_regression_has_a_report(tmp_path):
    private, public = (
        columns | {"label": [float(age or 40) for age in columns["age"]]}
        for columns in (private_people(), public_people())
    )
    workspace = fitted(tmp_path, private, public, task="regression")
    forget(workspace, ["00003"])
    assert "Observer: final." in first_cards(written(workspace))


@pytest.mark.parametrize("forgotten", [[], ["00003"]])
def test_a_workspace_without_public_records_has_a_report(tmp_path, forgotten):
    workspace = fitted(tmp_path, without_public=True, declare=DECLARED)
    if forgotten:
        forget(workspace, forgotten)
    assert "0 public" in " ".join(first_cards(written(workspace)).split())


def test_every_private_record_may_be_gone(tmp_path):
    workspace = usual(tmp_path)
    forget(workspace, private_people()["id"])
    assert "150 forgotten" in " ".join(first_cards(written(workspace)).split())


PRICES = [{"name": "residual", "steps": 30}, {"name": "retrain", "steps": 120}]
ABOUT = "About 120 passes over the remaining records, from scratch"
TYPICAL = ". Typical of such solvers, not measured on these records."


@pytest.mark.parametrize(
    ("prices", "taken", "sentence"),
    [
        (PRICES, "residual", f"{ABOUT}; this deletion about 30{TYPICAL}"),
        (PRICES, "retrain", ABOUT + TYPICAL),
        (PRICES, None, ABOUT + TYPICAL),
        (PRICES[:1], "residual", "Not known for this loss."),
        ([*PRICES, {"name": "langevin", "steps": None}], "langevin", ABOUT + TYPICAL),
    ],
)
def test_the_cost_of_retraining_is_a_sentence(prices, taken, sentence):
    assert retraining_sentence(prices, taken) == sentence
