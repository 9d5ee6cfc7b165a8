"""`expunge demo`: digits, start to finish."""

import json

from tests.cli.test_main import expunge


def test_the_demo_learns_deletes_certifies_and_compares(tmp_path):
    folder = tmp_path / "new" / "demo"
    outcome = expunge("demo", "--output", folder, "--json")
    assert outcome.err == ""
    document = outcome.document
    assert document["forgotten"] == 210
    accuracy = document["accuracy"]
    assert accuracy["after"] > 0.9
    assert abs(accuracy["after"] - accuracy["retrained"]) < 0.01
    assert document["claim"]["epsilon"] <= 1.0
    assert {s["name"] for s in document["strategies"]} >= {"residual", "langevin", "retrain"}
    assert (folder / "required_noise.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in folder.iterdir()) == [
        "certificate.json",
        "required_noise.png",
    ]
    assert expunge("verify", folder / "certificate.json").status == 0
    assert json.loads((folder / "certificate.json").read_text())["strategy"] == "residual"


def test_the_demo_complains_in_one_line_when_its_folder_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in expunge("demo", "--output", tmp_path / "file", "--json").complaint
