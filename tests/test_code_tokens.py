"""Code tokens: what counts, what does not, and the two places they are counted in."""

import pytest

from docs import code_tokens
from docs.code_tokens import count_tokens

PLAIN = "def f(x):\n    return x + 1\n"


@pytest.mark.parametrize(
    "explained",
    [
        '"""A module."""\n\n\ndef f(x):\n    return x + 1\n',
        'def f(x):\n    """The next number.\n\n    Of many lines.\n    """\n    return x + 1\n',
        "# Why.\n\n\ndef f(x):  # of a number\n\n    return x + 1\n",
        "def f(\n    x\n):\n        return x + 1\n",
    ],
)
def test_docstrings_comments_and_layout_do_not_count(explained):
    assert count_tokens(PLAIN) == 10
    assert count_tokens(explained) == 10


def test_a_docstring_in_two_pieces_and_a_note_on_a_field_do_not_count():
    bare = "class A:\n    x = 1\n"
    noted = 'class A:\n    "Of two " "pieces."\n    x = 1\n    """What x is."""\n'
    assert count_tokens(noted) == count_tokens(bare)


def test_strings_that_are_values_count():
    assert count_tokens("x = 'a'\n") == 3
    assert count_tokens("f('a', b)\n") == 6


@pytest.mark.parametrize("text", ["f'{x}'", "f'{x!r:>{width}} and {g(f\"{y}\")}'", "f'nothing'"])
def test_a_formatted_string_is_one_token_on_every_python(text):
    assert count_tokens(f"z = {text} + 1\n") == 5


def test_what_the_package_began_with_is_counted_from_its_commit():
    try:
        counts = code_tokens.tokens_at_commit("expunge/unlearning", code_tokens.BEFORE)
    except LookupError:
        pytest.skip("the commit is not in this checkout's history")
    assert len(counts) == 47
    assert sum(counts.values()) == 48_519


def test_files_that_are_counted_apart_are_there_and_were_not_then():
    names = [name for files in code_tokens.ADDED.values() for name in files]
    assert len(set(names)) == len(names)
    assert set(names) <= set(code_tokens.tokens_in_tree("expunge/unlearning"))
    try:
        before = code_tokens.tokens_at_commit("expunge/unlearning", code_tokens.BEFORE)
    except LookupError:
        pytest.skip("the commit is not in this checkout's history")
    basenames = {name.rpartition("/")[2] for name in before}
    assert not basenames & {name.rpartition("/")[2] for name in names}


def test_what_was_added_is_counted_apart_and_whatever_else_is_new_is_not(monkeypatch):
    monkeypatch.setattr(code_tokens, "ADDED", {"flying": ("a/wings.py", "a/gone.py")})
    shown = code_tokens.summary("a", {"a/legs.py": 100}, {"a/legs.py": 60, "a/wings.py": 70})
    assert "a now: 130 in 2 files, ratio 1.300 (+30.0 %)" in shown
    assert "70 in 1 files: flying" in shown
    assert "without these: 60 in 1 files, ratio 0.600 (-40.0 %)" in shown
    other = code_tokens.summary("a", {"a/legs.py": 100}, {"a/legs.py": 60, "a/fins.py": 70})
    assert "without these" not in other


def test_the_tree_is_counted_file_by_file(tmp_path, monkeypatch):
    (tmp_path / "package/inner").mkdir(parents=True)
    (tmp_path / "package/a.py").write_text(PLAIN)
    (tmp_path / "package/inner/b.py").write_text("x = 1  # one\n")
    (tmp_path / "package/notes.md").write_text("x = 1\n")
    monkeypatch.setattr(code_tokens, "ROOT", tmp_path)
    assert code_tokens.tokens_in_tree("package") == {"package/a.py": 10, "package/inner/b.py": 3}


def test_an_unknown_commit_is_named():
    with pytest.raises(LookupError, match="expunge/ledger at nowhere"):
        code_tokens.tokens_at_commit("expunge/ledger", "nowhere")


def test_the_table_shows_files_that_came_and_went():
    shown = code_tokens.table({"a.py": 5, "gone.py": 7}, {"a.py": 4, "new.py": 1234})
    rows = [line.split() for line in shown.splitlines()]
    assert rows == [["a.py", "5", "4"], ["gone.py", "7", "0"], ["new.py", "0", "1,234"]]
