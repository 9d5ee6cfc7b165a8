"""The entry point: one line and exit status 2 for bad usage, nothing heavy imported."""

import contextlib
import io
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest

from expunge.cli.main import run

EXAMPLE = {
    "assumptions": {
        "strong_convexity": 0.0119,
        "smoothness": 0.2619,
        "lipschitz": 1.0,
        "radius": None,
    },
    "normaliser": "mean",
    "phases": [
        {
            "steps": 10000,
            "step_size": 3.8182512,
            "sigma": 0.03,
            "samples": 33000,
            "forgotten": 300,
        },
        {"steps": 100, "step_size": 3.8182512, "sigma": 0.03, "samples": 32700, "forgotten": 0},
    ],
    "delta": 1e-5,
    "orders": [2, 8],
}


class Outcome(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def document(self) -> dict:
        """The one JSON document on stdout, which holds no NaN and no infinity."""
        assert self.status in (0, 1), self.err
        return json.loads(self.out, parse_constant=_not_a_number)

    @property
    def complaint(self) -> str:
        """The one line on stderr of a run that was refused."""
        assert self.status == 2, (self.status, self.out)
        assert self.out == ""
        assert self.err.startswith("expunge: ")
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1, self.err
        return self.err


def _not_a_number(text: str) -> None:
    raise AssertionError(f"{text} in the output")


def expunge(*arguments: object, stdin: str = "") -> Outcome:
    """The command line without a new process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["expunge", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", io.StringIO(stdin)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as stopped,
    ):
        run()
    return Outcome(int(stopped.value.code or 0), out.getvalue(), err.getvalue())


def spawn(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The installed entry point, in its own process."""
    entry = Path(sys.executable).parent / "expunge"
    return subprocess.run([entry, *map(str, arguments)], input=stdin, capture_output=True)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["account"], "file"),
        (["account", "a", "b"], "b"),
        (["account", "--nope"], "--nope"),
        (["account", "-", "--certificate"], "--certificate"),
        (["account", "-", "--json=1"], "--json"),
        (["plan"], "--private"),
        (["plan", "--private"], "--private"),
        (["plan", "--private", "x"], "--private"),
        (["plan", "--observer", "me"], "--observer"),
        (["verify"], "file"),
        (["demo", "x"], "x"),
        (["frobnicate"], "frobnicate"),
        (["a\nb"], "a"),
    ],
)
def test_bad_usage_is_one_line_that_names_what_is_wrong(arguments, named):
    assert named in expunge(*arguments).complaint


@pytest.mark.parametrize("arguments", [["--help"], ["account", "--help"], ["plan", "--help"]])
def test_help_goes_to_stdout_and_succeeds(arguments):
    outcome = expunge(*arguments)
    assert outcome.status == 0
    assert outcome.err == ""
    assert "Usage" in outcome.out


def test_our_own_faults_are_not_disguised_as_bad_input():
    broken = mock.patch("expunge.accounting.document.parse_account", side_effect=KeyError("bug"))
    arguments = mock.patch.object(sys, "argv", ["expunge", "account", "-"])
    stdin = mock.patch.object(sys, "stdin", io.StringIO("{}"))
    with broken, arguments, stdin, pytest.raises(KeyError, match="bug"):
        run()


def test_the_installed_command_reads_stdin_and_prints_one_document():
    done = spawn("account", "-", "--json", stdin=json.dumps(EXAMPLE).encode())
    assert done.returncode == 0
    assert done.stderr == b""
    assert json.loads(done.stdout)["best"] == "shift"


def test_the_installed_command_refuses_with_one_line_and_no_traceback():
    done = spawn("account", "-", "--json", stdin=b"\xff\xfe{}")
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


def _modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nsys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        input=json.dumps(EXAMPLE),
        check=True,
    )
    return {name.split(".")[0] for name in done.stderr.split()}


def test_importing_the_accounting_loads_neither_torch_nor_matplotlib():
    code = "import expunge, expunge.accounting, expunge.accounting.certificate"
    assert not {"torch", "matplotlib"} & _modules_after(code)


@pytest.mark.parametrize("option", ["'--json'", ""])
def test_running_account_loads_neither_torch_nor_matplotlib(option):
    code = (
        "from expunge.cli.main import run\n"
        f"sys.argv = ['expunge', 'account', '-', {option}]\n"
        "try:\n    run()\nexcept SystemExit as stopped:\n    assert not stopped.code"
    )
    assert not {"torch", "matplotlib"} & _modules_after(code)


@pytest.mark.parametrize(
    ("arguments", "status"), [(["--help"], 0), (["nonsense"], 2), (["verify", "absent.json"], 2)]
)
def test_the_console_script_prints_and_leaves_with_the_same_status(arguments, status):
    code = f"import sys; sys.argv[1:] = {arguments!r}; from expunge.cli.main import start; start()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == status
    assert done.stdout or done.stderr.startswith("expunge: ")


def test_the_version_is_printed():
    outcome = expunge("--version")
    assert (outcome.status, outcome.out.strip()) == (0, metadata.version("expunge"))


def test_an_interrupted_command_exits_130_and_does_not_call_its_input_bad(monkeypatch, tmp_path):
    """A request may be recorded by then, which status 2 would deny."""
    from expunge.workspace import status

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(status, "status", interrupted)
    outcome = expunge("status", str(tmp_path))
    assert (outcome.status, outcome.out) == (130, "")
    assert "interrupted; the same command again goes on" in outcome.err


def test_exit_statuses_are_in_the_help_of_every_command():
    for command in ([], ["fit"], ["forget"], ["verify"], ["export"]):
        assert "Exit status: 0 done; 1 " in " ".join(expunge(*command, "--help").out.split())
