"""The import graph: what counts as an import, what a cycle is, and the pictures of it."""

import json
import re
from importlib.metadata import version
from pathlib import Path

import pytest

from docs import import_graph, imports
from docs.imports import Import, cycles, module_imports

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "docs/_static"
FILES = ("import_graph.json", "import_layers.svg", "import_modules.svg")
PINNED = re.findall(r"^matplotlib==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)


def package(folder: Path, **sources: str) -> list[Import]:
    """The imports of a package `p` whose modules have these sources; `_dot_` makes a folder."""
    for name, source in {"__init__": "", **sources}.items():
        path = folder / "p" / f"{name.replace('_dot_', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return module_imports("p", folder)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("import p.b", "top"),
        ("from p import b", "top"),
        ("from p.b import thing as other", "top"),
        ("if True:\n    import p.b", "top"),
        ("class A:\n    import p.b", "top"),
        ("def f():\n    from p.b import thing", "lazy"),
        ("class A:\n    async def f(self):\n        import p.b", "lazy"),
        ("from importlib import import_module\ndef f():\n    import_module('p.b')", "lazy"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.b", "types"),
        ("import typing\nif typing.TYPE_CHECKING:\n    from p.b import thing", "types"),
    ],
)
def test_every_way_to_import_a_module_is_read_and_told_apart(tmp_path, source, kind):
    assert package(tmp_path, a=source, b="thing = 1") == [Import("p.a", "p.b", kind)]


def test_other_packages_and_names_in_strings_are_no_imports(tmp_path):
    assert not package(tmp_path, a="import os, pq\nfrom math import pi\nx = 'import p.b'", b="")


def test_a_name_that_an_init_passes_on_is_an_import_of_its_home(tmp_path):
    edges = package(
        tmp_path,
        a="from p.q import thing",
        q_dot___init__="from p.q.home import thing\nown = 1",
        q_dot_home="thing = 1",
        b="from p.q import own",
    )
    assert edges == [
        Import("p.a", "p.q.home", "top"),
        Import("p.b", "p.q", "top"),
        Import("p.q", "p.q.home", "top"),
    ]


def test_what_an_init_passes_on_lazily_is_no_import_of_its_own(tmp_path):
    init = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.q.home import thing\n"
        "def __getattr__(name):\n    from p.q import home\n    return getattr(home, name)"
    )
    edges = package(tmp_path, a="from p.q import thing", q_dot___init__=init, q_dot_home="thing=1")
    assert edges == [Import("p.a", "p.q.home", "top")]


@pytest.mark.parametrize(
    "back",
    [
        "import p.a",
        "def f():\n    from p.a import thing",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.a",
    ],
)
def test_a_cycle_is_caught_wherever_its_imports_stand(tmp_path, back):
    edges = package(tmp_path, a="import p.b", b="import p.c", c=back, d="import p.a")
    assert cycles(edges) == [["p.a", "p.b", "p.c"]]


def test_two_cycles_are_two_and_a_chain_is_none(tmp_path):
    sources = {
        "a": "import p.b",
        "b": "import p.a\nimport p.c",
        "c": "import p.d",
        "d": "",
        "e": "",
    }
    assert cycles(package(tmp_path, **sources)) == [["p.a", "p.b"]]
    again = package(tmp_path, **{**sources, "d": "import p.c"})
    assert cycles(again) == [["p.a", "p.b"], ["p.c", "p.d"]]
    assert cycles(package(tmp_path, **{**sources, "b": "import p.c"})) == []


def test_in_the_picture_imports_point_back_unless_there_is_a_cycle():
    edges = module_imports()
    order = import_graph.order_modules(imports.modules(), edges)
    assert sorted(order) == sorted(imports.modules())
    forward = {
        frozenset((edge.importer, edge.imported))
        for edge in edges
        if order.index(edge.imported) > order.index(edge.importer)
    }
    groups = [set(cycle) for cycle in cycles(edges)]
    assert all(any(pair <= group for group in groups) for pair in forward)


def test_the_committed_graph_is_that_of_the_sources():
    """Otherwise: python docs/import_graph.py."""
    committed = json.loads((STATIC / "import_graph.json").read_text())
    assert committed == import_graph.graph_of(imports.modules(), module_imports())


@pytest.mark.skipif([version("matplotlib")] != PINNED, reason="drawn by another matplotlib")
def test_the_committed_pictures_are_those_of_the_committed_graph(tmp_path):
    """Otherwise: python docs/import_graph.py."""
    committed = json.loads((STATIC / "import_graph.json").read_text())
    edges = [Import(*edge) for edge in committed["imports"]]
    import_graph.write(committed["modules"], edges, tmp_path)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (STATIC / name).read_bytes(), name


def test_a_graph_is_drawn_by_the_same_bytes_each_time_and_another_by_others(tmp_path):
    edges = [
        Import("expunge.a.x", "expunge.b.y", "top"),
        Import("expunge.c.z", "expunge.a.x", "lazy"),
    ]
    names = ["expunge.a.x", "expunge.b.y", "expunge.c.z"]
    folders = [tmp_path / name for name in ("first", "second", "other")]
    for folder, drawn in zip(folders, (edges, edges, edges[:1]), strict=True):
        import_graph.write(names, drawn, folder)
    first, second, other = ([(f / name).read_bytes() for name in FILES] for f in folders)
    assert first == second
    assert all(a != b for a, b in zip(first, other, strict=True))
    assert b"date" not in first[1].lower()


def test_a_cycle_is_named_and_fails_the_script(monkeypatch, capsys):
    edges = [
        Import("expunge.a.x", "expunge.a.y", "top"),
        Import("expunge.a.y", "expunge.a.x", "lazy"),
    ]
    monkeypatch.setattr(import_graph, "write", lambda *_: None)
    monkeypatch.setattr(import_graph, "module_imports", lambda: edges)
    assert import_graph.main() == 1
    assert "expunge.a.y imports expunge.a.x (lazy)" in capsys.readouterr().err
    monkeypatch.setattr(import_graph, "module_imports", lambda: edges[:1])
    assert import_graph.main() == 0


def test_an_arrow_past_a_layer_does_not_run_behind_it():
    rows = [["low"], ["middle"], ["high"]]
    straight = [("high", "middle"), ("middle", "low")]
    places = import_graph.place_layers(rows, straight)
    assert len({x for x, _ in places.values()}) == 1
    places = import_graph.place_layers(rows, [*straight, ("high", "low")])
    assert len({x for x, _ in places.values()}) > 1
