"""What is promised to whoever installs it: Pythons, pins, how to get the CPU build, the bill."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LINES = (ROOT / "constraints.txt").read_text().splitlines()
PINS = dict(line.split("==") for line in LINES if line and not line.startswith("#"))


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    return {normal(re.split(r"[<>=!~\[; ]", requirement)[0]) for requirement in requirements}


def test_every_package_that_tests_need_is_pinned():
    needed = names(PROJECT["dependencies"]) | names(PROJECT["optional-dependencies"]["dev"])
    assert needed <= {normal(name) for name in PINS}


def test_every_supported_python_is_named():
    said = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line}
    assert said == {"3.11", "3.12", "3.13"}
    assert PROJECT["requires-python"] == ">=3.11"


def test_the_pins_say_how_to_get_the_cpu_build():
    comments = " ".join(line for line in LINES if line.startswith("#"))
    assert f"torch=={PINS['torch']}" in comments
    assert "CPU" in comments


def test_the_bill_of_materials_is_a_target_that_names_its_tools():
    makefile = (ROOT / "Makefile").read_text()
    rule = makefile.partition("\nsbom: ")[2].partition("\n\n")[0]
    for package in names(PROJECT["optional-dependencies"]["security"]):
        assert package in rule
