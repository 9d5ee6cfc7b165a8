"""Every committed figure, from its committed results: readable, within its panels, told apart."""

import json
from importlib import import_module
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from experiments.running import ROOT
from tests.report.figure_faults import faults

RESULTS = sorted(
    path
    for path in ROOT.glob("*/results/*.json")
    if path.stem in ("cpu", "paper") and (path.parent.parent / "report.py").exists()
)


def drawn_of(path, folder, monkeypatch) -> list[Figure]:
    """The figures that an experiment's report draws of a file of results."""
    figures, plain = [], Figure.savefig

    def savefig(figure, *arguments, **more):
        plain(figure, *arguments, **more)
        figures.append(figure)

    monkeypatch.setattr(Figure, "savefig", savefig)
    report = import_module(f"experiments.{path.parent.parent.name}.report").report
    report(json.loads(path.read_text()), folder)
    return figures


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_nothing_overlaps_leaves_its_panel_or_looks_like_another(path, tmp_path, monkeypatch):
    for figure in drawn_of(path, tmp_path, monkeypatch):
        assert not faults(figure)
    for made in tmp_path.glob("*.png"):
        assert (path.parent / made.name).exists(), "draw it with python -m experiments report"


def test_every_picture_of_results_is_drawn_by_these_reports():
    pictures = {path.parents[1].name for path in ROOT.glob("*/results/*.png")}
    assert pictures <= {path.parents[1].name for path in RESULTS}
    assert len(pictures) == 13


def test_pictures_of_pages_are_those_of_results_or_of_the_docs():
    root = Path(ROOT).parent
    for page in (root / "README.md", *(root / "docs").glob("*.md")):
        for line in page.read_text().splitlines():
            if line.startswith("!["):
                name = line.split("](")[1].split(")")[0]
                assert (page.parent / name).exists(), (page, name)
