"""Installs the example package into a folder, as a user would, and runs Python with it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).parent / "expunge-example"


def install_example(folder: Path) -> Path:
    """Install expunge-example below this folder; `pip` builds it with what is installed here."""
    copied = shutil.copytree(SOURCE, folder / "source")  # building leaves files behind
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    command = [sys.executable, "-m", "pip", "install", *options, "--target", folder / "site"]
    done = subprocess.run([*command, copied], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def run_python(
    *arguments: object, site: Path | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """A new process that sees this checkout, and what `site` holds."""
    path = os.pathsep.join(str(place) for place in (ROOT, site) if place is not None)
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": path},
        input=stdin,
        capture_output=True,
        text=True,
    )


def run_expunge(
    *arguments: object, site: Path | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """The command line in such a process."""
    start = "from expunge.cli.main import start; start()"
    return run_python("-c", start, *arguments, site=site, stdin=stdin)
