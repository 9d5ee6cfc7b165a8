"""Experiments on a pair of your own, from the command line to the files they leave."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.__main__ import app, parse_volumes
from experiments.datasets.embeddings import EMBEDDER, named_embedder
from experiments.datasets.files import BadData
from experiments.datasets.own import VARIABLE, declare_pair
from experiments.head_problems import rows_of
from experiments.ulira_digits.run import sides
from experiments.ulira_digits.settings import SCALES, for_pair
from tests.experiments.datasets import made


class Mean:
    """A stand-in for a backbone: mean colours of an image, and a constant."""

    name = "mean colours"

    def __call__(self, paths):
        from PIL import Image

        rows = []
        for path in paths:
            with Image.open(path) as image:
                rows.append([1.0, *np.asarray(image.convert("RGB"), float).mean((0, 1)) / 255])
        return np.array(rows)


mean = Mean()


@pytest.fixture
def own(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(3, 6))
    parts = {}
    for side, rows, moved in (("public", 200, 0.5), ("private", 200, 0.0)):
        labels = np.arange(rows) % 3
        parts[f"{side}_x"] = centers[labels] + moved + rng.normal(size=(rows, 6))
        parts[f"{side}_y"] = labels
    np.savez(tmp_path / "rows.npz", **parts)
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.delenv(EMBEDDER, raising=False)
    rows_of.cache_clear()
    yield tmp_path
    rows_of.cache_clear()


def invoke(own, name, *arguments):
    data = ["--pair", "mine/theirs", "--data", str(own / "rows.npz"), "--output", str(own / "out")]
    return CliRunner().invoke(app, ["run", name, "--scale", "smoke", *data, *arguments])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["renyi_vs_public_data", "alignment_utility", "ulira_digits"])
def test_an_experiment_runs_on_a_pair_of_your_own(own, name):
    done = invoke(own, name, "--retained", "40", "--public", "0,1,2")
    assert done.exit_code == 0, done.output
    result = json.loads((own / "out/smoke.json").read_text())
    assert "mine/theirs" in json.dumps(result["settings"])
    assert list((own / "out").glob("*.md"))
    if name == "renyi_vs_public_data":
        assert {row["retained"] for row in result["rows"]} == {40}
        series = {row["public"] for row in result["rows"] if row["design"] == "series"}
        assert series == {0, 40, 80}


def test_more_rows_than_there_are_end_in_one_line(own):
    done = invoke(own, "ulira_digits", "--retained", "4000")
    assert done.exit_code != 0
    assert "mine/theirs: 160 rows where 4020 are asked for" in done.output


def test_an_experiment_that_takes_no_pair_names_those_that_do(own):
    done = invoke(own, "errata")
    assert "errata takes no pair; those that do: alignment_utility, renyi" in done.output


def test_options_of_a_pair_without_a_pair_are_refused():
    done = CliRunner().invoke(app, ["run", "errata", "--public", "1"])
    assert "belong to --pair" in done.output
    for wrong in ("a", "", "-1", "0", "inf"):
        with pytest.raises(SystemExit, match="such as 0,1,4"):
            parse_volumes(wrong)
    assert parse_volumes("0,0.5,2") == (0.0, 0.5, 2.0)


def test_rows_and_labels_stay_together_when_they_are_drawn(own):
    declare_pair("mine/theirs", own / "rows.npz")
    settings = for_pair(SCALES["smoke"], "mine/theirs", retained=40, public=(1.0,))
    public, private, _ = rows_of("mine/theirs")
    known = {
        tuple(np.round(row, 5)): int(target)
        for side in (public, private)
        for row, target in zip(side.features.numpy(), side.targets, strict=True)
    }
    for side in sides(settings)[:2]:
        for row, target in zip(side.features.numpy(), side.targets, strict=True):
            assert known[tuple(np.round(row, 5))] == int(target)


@pytest.mark.slow
def test_images_in_domainnet_s_layout_run_by_one_command(tmp_path, monkeypatch, own):
    """End to end on made images with a stand-in for the backbone."""
    monkeypatch.setenv("EXPUNGE_DATA", str(made.domainnet(tmp_path, each=18)))
    arguments = ["run", "ulira_digits", "--scale", "smoke", "--pair", "quickdraw/clipart"]
    arguments += ["--embedder", "tests.experiments.test_own_pair:mean", "--retained", "20"]
    done = CliRunner().invoke(app, [*arguments, "--public", "0.5", "--output", str(tmp_path / "o")])
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "o/smoke.json").read_text())["settings"]["private"] == 25
    assert list((tmp_path / "embeddings").glob("*.safetensors"))


def test_an_embedder_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv(EMBEDDER, "no.such:thing")
    with pytest.raises(BadData, match="no such embedder; say module:object"):
        named_embedder()
