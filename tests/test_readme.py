"""The project's face shows what its result files say."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import ensembles, pass_free_pages
from experiments.errata import report as errata
from experiments.required_noise import report as required_noise

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "experiments/required_noise/results"
README = (ROOT / "README.md").read_text()
BOUNDS = (ROOT / "docs/bounds.md").read_text()

TABLES = (
    "required_noise/results/steps",
    "required_noise/results/noise",
    "frontier/results/comparison",
)


@pytest.mark.parametrize("name", TABLES)
def test_the_page_of_bounds_shows_the_committed_table(name):
    marked = f"<!-- experiments/{name}.md -->\n(.*?)<!-- end -->"
    (shown,) = re.findall(marked, BOUNDS, re.DOTALL)
    assert shown == (ROOT / f"experiments/{name}.md").read_text()


@pytest.mark.parametrize("page", [README, BOUNDS], ids=["readme", "bounds"])
def test_the_gap_between_auto_and_retraining_is_the_committed_one(page):
    table = (ROOT / "experiments/frontier/results/auto.md").read_text().splitlines()
    gaps = [float(line.split("|")[-2]) for line in table[2:]]
    (stated,) = re.findall(r"within ([\d.]+) points of\s+retraining", page)
    assert max(gaps) == float(stated)


def test_how_many_times_fewer_steps_the_readme_promises_is_in_the_committed_table():
    table = (RESULTS / "steps.md").read_text().splitlines()
    ratios = [line.split("|")[-2].strip() for line in table[2:]]
    times = [int(ratio.removesuffix("x")) for ratio in ratios if ratio != "-"]
    said = " ".join(README.split())
    assert f"takes {min(times)} to {max(times)} times fewer than by the paper's bound" in said


def test_what_the_repair_of_the_paper_s_argument_brings_is_said_beside_it():
    rows = json.loads((RESULTS / "paper.json").read_text())["steps"]
    steps = [row["steps"] for row in rows if row["steps"]["shift"] > 10]
    times = [some["paper"] / some["log_sobolev"] for some in steps]
    said = " ".join(README.split())
    assert f"alone takes {min(times):.0f} to {max(times):.0f} times fewer" in said
    (named,) = [
        row["steps"]
        for row in rows
        if (row["public"], row["forgotten"], row["sigma"]) == (0, 300, 0.03)
    ]
    assert (
        f"K = {named['log_sobolev']} beside {named['shift']} of ours and {named['paper']:,}" in said
    )


def test_the_committed_tables_follow_from_the_committed_json():
    result = json.loads((RESULTS / "paper.json").read_text())
    assert required_noise.steps_table(result) + "\n" == (RESULTS / "steps.md").read_text()
    assert required_noise.noise_table(result) + "\n" == (RESULTS / "noise.md").read_text()
    folder = ROOT / "experiments/errata/results"
    result = json.loads((folder / "paper.json").read_text())
    tables = (folder / "tables.md").read_text()
    assert errata.theorem_table(result) in tables
    assert errata.variational_table(result) in tables


def test_the_speeds_of_ensembles_are_the_measured_ones():
    measured = json.loads((ROOT / "benchmarks/ensembles.json").read_text())
    page = (ROOT / "docs/ensembles.md").read_text()
    assert page.split(ensembles.MARK)[1].startswith(ensembles.table(measured) + "<!-- end -->")


def test_the_first_screen_has_a_picture_and_the_two_commands():
    screen = "\n".join(README.splitlines()[:20])
    assert "make demo" in screen
    assert "make test" in screen
    (picture,) = re.findall(r"!\[.*?\]\((.*?)\)", screen)
    assert (ROOT / picture).exists()


def test_every_link_of_the_readme_leads_somewhere():
    for link in re.findall(r"\]\(((?!http)[^)#]+)", README):
        assert (ROOT / link).exists(), link


def test_what_a_request_without_a_pass_costs_is_what_was_measured():
    measured = json.loads(pass_free_pages.RESULTS.read_text())
    rows = [row for row in measured if "records" in row]
    pages = {"README.md": pass_free_pages.line, "docs/pass_free.md": pass_free_pages.table}
    for name, written in pages.items():
        page = (ROOT / name).read_text()
        (shown,) = re.findall(f"{pass_free_pages.MARK}(.*?)<!-- end -->", page, re.DOTALL)
        assert shown == written(rows)


def test_no_request_that_was_measured_took_a_pass():
    measured = json.loads(pass_free_pages.RESULTS.read_text())
    assert all(row["requests_with_passes"] == 0 for row in measured if "records" in row)
