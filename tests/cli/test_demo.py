"""`expunge demo`: digits, start to finish."""

import json

import pytest

from tests.cli.test_main import expunge


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new" / "demo"
    return folder, expunge("demo", "--output", folder, "--json")


def test_the_demo_learns_deletes_certifies_and_compares(demo):
    folder, outcome = demo
    assert outcome.err == ""
    document = outcome.document
    assert document["forgotten"] == 210
    accuracy = document["accuracy"]
    assert accuracy["after"] > 0.9
    assert abs(accuracy["after"] - accuracy["retrained"]) < 0.01
    assert document["claim"]["epsilon"] <= 1.0
    assert {s["name"] for s in document["strategies"]} >= {"residual", "langevin", "retrain"}
    assert sorted(path.name for path in folder.iterdir()) == ["certificate.json", "report.html"]
    assert expunge("verify", folder / "certificate.json").status == 0
    assert json.loads((folder / "certificate.json").read_text())["strategy"] == "residual"


def test_the_demo_audits_what_it_certifies(demo):
    audit = demo[1].document["audit"]
    assert audit["contradicted"] is False
    assert audit["lower_bound"]["value"] <= audit["certified"]["epsilon"]
    assert audit["null_control"]["quiet"]
    assert audit["positive_control"]["caught"]


def test_the_report_is_one_small_file_that_needs_no_network(demo):
    text = (demo[0] / "report.html").read_text()
    assert len(text) < 5_000_000
    assert "http" not in text
    assert "<script" not in text
    first_screen = text[text.index("<main>") : text.index("<section>")]
    assert "Observer: final" in first_screen
    assert "kept a model from before the deletion" in first_screen
    assert "What retraining would have cost" in first_screen
    assert "EARLIER RELEASES NOT COVERED" in first_screen
    assert text.count("data:image/svg+xml;base64,") == 5


def test_the_demo_complains_in_one_line_when_its_folder_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in expunge("demo", "--output", tmp_path / "file", "--json").complaint
