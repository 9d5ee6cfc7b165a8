"""The api page names what there is: `make docs` fails on a stale name, and so does this."""

import importlib
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs/api.md").read_text()
ENTRY = re.compile(r"^\.\. auto(module|class|function):: (\S+)\n((?:   :.*\n)*)", re.MULTILINE)


def listed(page: str) -> list[tuple[str, str]]:
    """Every module, class and function of the page, each with the members named for it."""
    pairs = []
    for kind, name, options in ENTRY.findall(page):
        owner, _, attribute = (name, "", "") if kind == "module" else name.rpartition(".")
        members = [attribute] if attribute else [""]
        named = re.search(r"^   :members: (.+)$", options, re.MULTILINE)
        inside = "" if kind == "module" else f"{attribute}."
        members += [inside + member for member in named[1].split(", ")] if named else []
        pairs += [(owner, member) for member in members]
    return pairs


def is_missing(module: str, path: str) -> bool:
    thing = importlib.import_module(module)
    for part in filter(None, path.split(".")):
        if not hasattr(thing, part):
            return True
        thing = getattr(thing, part)
    return False


@pytest.mark.parametrize(("module", "path"), listed(PAGE))
def test_what_the_page_names_is_there(module, path):
    assert not is_missing(module, path)


def test_the_page_names_much_and_a_stale_name_is_noticed():
    assert len(listed(PAGE)) > 60
    stale = listed(".. automodule:: expunge.errors\n   :members: Refused, Renamed\n")
    assert [is_missing(*pair) for pair in stale] == [False, False, True]
