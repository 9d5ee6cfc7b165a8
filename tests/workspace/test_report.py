"""The report: one file that needs no network and says the uncomfortable things first."""

import math
import re
import shlex
from types import SimpleNamespace

import pytest

from expunge.errors import Altered, MissingPackage
from expunge.workspace import report as reporting
from expunge.workspace.forget import forget
from expunge.workspace.report import checked_sentence, report, retraining_sentence
from tests.cli.test_main import expunge
from tests.workspace.tables_made import (
    DECLARED,
    everything_in,
    fitted,
    people,
    private_people,
    public_people,
    usual,
    write,
)


def written(workspace, **more):
    output = workspace.parent / "report.html"
    before = everything_in(workspace)
    document = report(workspace, output, **more)
    assert everything_in(workspace) == before
    assert document["output"] == str(output)
    return output.read_text(encoding="utf-8")


def in_short(text):
    start = text.index('<section id="short"')
    return " ".join(text[start : text.index("</section>", start)].split())


@pytest.mark.parametrize(
    ("options", "observer"),
    [
        ({"released": False}, "final"),
        ({"observer": "all"}, "all"),
    ],
)
def test_it_says_first_who_could_learn_what_and_then_what_retraining_costs(
    tmp_path, options, observer
):
    workspace = fitted(tmp_path, **options)
    forget(workspace, ["00003", "00004"])
    text = written(workspace)
    assert f"Observer: {observer}." in in_short(text)
    assert "2 forgotten private records" in in_short(text)
    assert "retraining would have cost" in text
    assert "passes over the remaining records" in text


def test_it_is_one_small_file_that_asks_no_network(tmp_path):
    workspace = usual(tmp_path)
    forget(workspace, ["00003"])
    text = written(workspace)
    assert len(text.encode()) < 5_000_000
    assert not re.search(r"https?:|//www|url\((?!#)|@import|<script|<link|<iframe", text)
    sources = re.findall(r"""(?:src|href)\s*=\s*["']?([^"'>]*)""", text)
    assert len(sources) >= 3
    assert all(source.startswith("#") for source in sources)


def test_before_a_deletion_it_says_that_nothing_is_certified(tmp_path):
    screen = in_short(written(usual(tmp_path)))
    assert "no record has been deleted" in screen
    assert "Whoever sees it may learn about them" in screen
    assert "ε ≤" not in screen


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
    assert "Observer: final." in in_short(written(workspace))


@pytest.mark.parametrize("forgotten", [[], ["00003"]])
def test_a_workspace_without_public_records_has_a_report(tmp_path, forgotten):
    workspace = fitted(tmp_path, without_public=True, declare=DECLARED)
    if forgotten:
        forget(workspace, forgotten)
    assert "0 public" in in_short(written(workspace))


def test_every_private_record_may_be_gone(tmp_path):
    workspace = usual(tmp_path)
    forget(workspace, private_people()["id"])
    assert "150 forgotten" in in_short(written(workspace))


def test_requests_are_listed_without_names_or_ids_of_records(tmp_path):
    workspace = usual(tmp_path)
    forget(workspace, ["00003", "00004"], name="mrs-smith")
    forget(workspace, ["00007"])
    text = written(workspace)
    listed = r'<tr><th scope="row" data-of="request">(\d+)</th><td data-of="received">'
    rows = re.findall(listed, text)
    assert rows == ["1", "2"]
    said = re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)  # coordinates
    for secret in ("mrs-smith", "00003", "00004", "00007"):
        assert secret not in said


def test_names_are_shown_where_certificates_publish_them(tmp_path):
    workspace = fitted(tmp_path, publish_names=True)
    forget(workspace, ["00003"], name="ticket-7")
    assert '<th scope="row" data-of="request">1: ticket-7</th>' in written(workspace)


def test_everything_is_checked_while_it_is_written(tmp_path):
    workspace = usual(tmp_path)
    assert "are as they were written." in in_short(written(workspace))
    forget(workspace, ["00003"])
    assert "the certificate was recomputed, and the last one proven" in in_short(written(workspace))


def test_there_is_no_report_of_a_workspace_that_does_not_verify(tmp_path):
    workspace = usual(tmp_path)
    forget(workspace, ["00003"])
    file = workspace / "certificates" / "1.json"
    file.write_text(file.read_text().replace('"residual"', '"retrain"'))
    output = tmp_path / "report.html"
    with pytest.raises(Altered, match="a report needs a workspace that verifies"):
        report(workspace, output)
    assert not output.exists()


def test_a_missing_package_leaves_the_sentence_that_nothing_was_checked(monkeypatch, tmp_path):
    def missing(_):
        raise MissingPackage("example", "is not installed")

    monkeypatch.setattr(reporting, "verify", missing)
    assert checked_sentence(tmp_path).startswith("NOT CHECKED: ")


def test_accuracy_on_rows_of_one_s_own_says_whose_they_are(tmp_path):
    workspace = usual(tmp_path)
    forget(workspace, ["00003"])
    rows = write(tmp_path / "mine.csv", people(80, seed=9, prefix="5"))
    text = written(workspace, test=rows, operator="Example & Sons")
    assert "rows of mine.csv, none with an id of this workspace" in text
    assert text.count("public records, which every model learned from: flattering") == 2
    assert "Operator: Example &amp; Sons." in text


def test_the_commands_that_it_names_check_the_workspace(tmp_path, monkeypatch):
    workspace = usual(tmp_path)
    forget(workspace, ["00003"])
    monkeypatch.chdir(workspace.parent)
    model = next((workspace / "models").iterdir())
    commands = re.search(r"<pre>(.*?)</pre>", written(workspace), re.DOTALL)[1].splitlines()
    for command in commands[:2]:
        name, *arguments = shlex.split(command.replace("MODEL_FILE", str(model)))
        assert name == "expunge"
        assert expunge(*arguments).status == 0
    assert commands[2] == f"expunge audit {workspace.name}"


@pytest.mark.parametrize(
    ("classes", "loss", "longest"),
    [
        (("no", "yes"), SimpleNamespace(l2=0.5, largest_weight=3.0), (3 * 4 * math.log(2)) ** 0.5),
        (None, SimpleNamespace(l2=4.0, target_norm=6.0), 3.0),
        (("no", "yes"), SimpleNamespace(l2=0.0, largest_weight=1.0), None),
    ],
    ids=["classes", "numbers", "no ridge"],
)
def test_weights_are_no_longer_than_the_ridge_that_was_learned_with_lets_them(
    classes, loss, longest
):
    """Its own ridge: what was asked for may be a word, such as `public`."""
    fitted_ = SimpleNamespace(head=SimpleNamespace(classes=classes), job=SimpleNamespace(loss=loss))
    assert reporting.longest_of(SimpleNamespace(fitted_=fitted_)) == pytest.approx(longest)


def test_a_workspace_whose_ridge_was_chosen_on_public_records_has_a_report(tmp_path):
    workspace = fitted(tmp_path, l2="public")
    forget(workspace, ["00003"])
    assert "chosen by cross-validation on" in written(workspace)


PRICES = [{"name": "residual", "steps": 30}, {"name": "retrain", "steps": 120}]
ABOUT = "About 120 passes over the remaining records, from scratch"
ENOUGH = "where what was kept at the last pass was enough"
TYPICAL = ". Typical of such solvers, not measured on these records."


@pytest.mark.parametrize(
    ("prices", "taken", "sentence"),
    [
        (PRICES, "residual", f"{ABOUT}; this deletion about 30, or none {ENOUGH}{TYPICAL}"),
        (
            [{"name": "noise_first", "steps": 60}, PRICES[1]],
            "noise_first",
            f"{ABOUT}; this deletion about 60{TYPICAL}",
        ),
        (PRICES, "retrain", ABOUT + TYPICAL),
        (PRICES, None, ABOUT + TYPICAL),
        (PRICES[:1], "residual", "Not known for this loss."),
        ([*PRICES, {"name": "langevin", "steps": None}], "langevin", ABOUT + TYPICAL),
    ],
)
def test_the_cost_of_retraining_is_a_sentence(prices, taken, sentence):
    assert retraining_sentence(prices, taken) == sentence
