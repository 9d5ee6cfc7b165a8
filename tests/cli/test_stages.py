"""Stages are for people at a terminal: nobody else hears of them, and stdout never does."""

import contextlib
import io
import sys

import pytest

from expunge.cli.stages import notices, stages


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(stream):
        with stages("fit") as progress:
            progress("reading")
            progress("learning")
        print("done", file=sys.stderr)
    assert out.getvalue() == ""
    return stream.getvalue()


def test_a_terminal_shows_the_stage(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert "fit: learning" in shown(Terminal())


@pytest.mark.parametrize("force", [None, "1"])
def test_a_file_or_a_pipe_hears_nothing(monkeypatch, force):
    if force is not None:
        monkeypatch.setenv("FORCE_COLOR", force)
    assert shown(io.StringIO()) == "done\n"


def test_an_exception_passes_through():
    with pytest.raises(KeyboardInterrupt), stages("fit"):
        raise KeyboardInterrupt


def test_what_was_noticed_is_told_once_the_work_is_done(caplog):
    with notices() as notice:
        notice("one thing")
        assert caplog.messages == []
    assert caplog.messages == ["one thing"]
