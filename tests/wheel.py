"""The wheel where nothing else is: a new environment, an empty folder, README's lines as printed.

    python -m tests.wheel --python python3.12 --pins constraints.txt

builds the wheel, installs it with what it asks for and no development extras, asks `pip check`, and
runs `expunge demo` and the lines of README and of "Your own files" on the sample files. The first
thing that fails ends it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.test_printed_lines import ROOT, RUN, commands

FOLLOWED = (ROOT / "README.md", ROOT / "docs/tutorial_your_files.md")
ORIGIN = "import expunge; print(expunge.__version__, expunge.__file__)"


def run(*command: object, here: Path) -> str:
    """What a command prints; its complaint and the end if it fails.

    Where this process looks for modules would lead the new environment astray.
    """
    line = [str(part) for part in command]
    print("$", *line, flush=True)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(line, cwd=here, env=kept, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}exit status {done.returncode}")
    return done.stdout


def install(python: str, pins: Path | None, scratch: Path) -> Path:
    """The programs of a new environment that holds the wheel and what it asks for."""
    run(python, "-m", "venv", scratch / "installed", here=scratch)
    programs = scratch / "installed/bin"
    pip = (programs / "python", "-m", "pip")
    run(*pip, "install", "--quiet", "--upgrade", "pip", here=scratch)
    run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", scratch, ROOT, here=scratch)
    (wheel,) = scratch.glob("expunge-*.whl")
    constraint = () if pins is None else ("--constraint", pins.resolve())
    run(*pip, "install", "--quiet", *constraint, wheel, here=scratch)
    print(run(*pip, "check", here=scratch))
    return programs


def follow(page: Path, programs: Path, folder: Path) -> None:
    """Run the lines of a page, in order, in a folder that holds the sample files and no other."""
    shutil.copytree(ROOT / "docs/samples", folder)
    for line in RUN[page]:
        for name, *arguments in commands(line):
            run(programs / name if name == "expunge" else name, *arguments, here=folder)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.wheel", description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="that the environment is made of")
    parser.add_argument("--pins", type=Path, help="versions, as `pip --constraint` reads them")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="expunge-wheel-") as folder:
        scratch = Path(folder)
        programs = install(given.python, given.pins, scratch)
        empty = scratch / "empty"
        empty.mkdir()
        origin = run(programs / "python", "-c", ORIGIN, here=empty).strip()
        if str(programs.parent) not in origin:
            sys.exit(f"not the wheel's: {origin}")
        run(programs / "expunge", "demo", here=empty)
        run(programs / "expunge", "verify", "demo/certificate.json", here=empty)
        for page in FOLLOWED:
            follow(page, programs, scratch / page.stem)
    print(f"expunge {origin.split()[0]}: demo and {sum(len(RUN[p]) for p in FOLLOWED)} lines ran")


if __name__ == "__main__":
    main()
