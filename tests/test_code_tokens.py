"""Code tokens: what counts, what does not, and the two places they are counted in."""

import subprocess

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


def test_the_tree_and_a_commit_are_counted_alike():
    """The files that are as they were at HEAD have the counts they had there."""
    try:
        at_head = code_tokens.tokens_at_commit("expunge/ledger", "HEAD")
    except LookupError:
        pytest.skip("not a git checkout")
    command = ["git", "status", "--porcelain", "expunge/ledger"]
    changed = subprocess.run(command, cwd=code_tokens.ROOT, capture_output=True, text=True)
    in_tree = code_tokens.tokens_in_tree("expunge/ledger")
    assert in_tree["expunge/ledger/ledger.py"] > 100
    assert changed.stdout or in_tree == at_head


def test_an_unknown_commit_is_named():
    with pytest.raises(LookupError, match="expunge/ledger at nowhere"):
        code_tokens.tokens_at_commit("expunge/ledger", "nowhere")


def test_the_table_shows_files_that_came_and_went():
    shown = code_tokens.table({"a.py": 5, "gone.py": 7}, {"a.py": 4, "new.py": 1234})
    rows = [line.split() for line in shown.splitlines()]
    assert rows == [["a.py", "5", "4"], ["gone.py", "7", "0"], ["new.py", "0", "1,234"]]
