"""What `docs/conf.py` does to docstrings: formulas and words in columns stay as written."""

import importlib.util
from pathlib import Path

import pytest

CONF = Path(__file__).parents[1] / "docs/conf.py"


@pytest.fixture(scope="module")
def conf():
    source = importlib.util.spec_from_file_location("conf_of_docs", CONF)
    module = importlib.util.module_from_spec(source)
    source.loader.exec_module(module)
    return module


def shown(conf, docstring):
    lines = docstring.splitlines()
    conf.keep_columns(None, "module", "name", None, None, lines)
    return "\n".join(lines)


def test_a_block_after_an_empty_line_is_shown_as_it_is(conf):
    assert shown(conf, "What it is.\n\n    mu^2 = sum\n    nu   = 2\n\nMore.") == (
        "What it is.\n\n::\n\n    mu^2 = sum\n    nu   = 2\n\nMore."
    )


def test_a_block_of_several_paragraphs_is_one(conf):
    assert shown(conf, "Two:\n\n    a  b\n\n    c  d").count("::\n") == 1


@pytest.mark.parametrize(
    "docstring",
    [
        "What it is.\n\nArgs:\n    x: A number.\n    y: Another one,\n        which goes on.",
        "What it is.\n\nRaises:\n    ValueError: no.\n\nArgs:\n    x: A number.",
        "A sentence alone.",
    ],
)
def test_sections_and_sentences_are_left_alone(conf, docstring):
    assert shown(conf, docstring) == docstring
