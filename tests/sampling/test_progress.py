"""The bar says models a second and the time left, on stderr, and is silent unless asked."""

import sys

from expunge.sampling.progress import bar


def test_it_counts_models_on_stderr(capsys):
    with bar(1000, 200, shown=True) as finished:
        finished(800)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "1,000 of 1,000 models" in captured.err
    assert "/s" in captured.err


def test_it_is_silent_unless_asked_and_without_rich(capsys, monkeypatch):
    with bar(1000, 0, shown=False) as finished:
        finished(1000)
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with bar(1000, 0, shown=True) as finished:
        finished(1000)
    assert capsys.readouterr() == ("", "")
