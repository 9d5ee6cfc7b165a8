"""`expunge demo`: a plan and its figure from nothing."""

from tests.cli.test_main import expunge


def test_the_demo_plans_and_draws(tmp_path):
    outcome = expunge("demo", "--output", tmp_path / "new" / "demo", "--json")
    assert outcome.err == ""
    figure = tmp_path / "new" / "demo" / "required_noise.png"
    assert outcome.document["figure"] == str(figure)
    assert outcome.document["verdict"] == "unlearn"
    assert outcome.document["forget"] == 900
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in figure.parent.iterdir()] == ["required_noise.png"]


def test_the_demo_complains_in_one_line_when_its_folder_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in expunge("demo", "--output", tmp_path / "file", "--json").complaint
