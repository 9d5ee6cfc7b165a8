"""Reads which module of the package imports which, by its source alone.

There are three kinds of import: `top`, when the module is loaded; `lazy`, inside a function, when
it is called; `types`, for type checkers alone. Each of them makes one file need the other, so a
cycle is a cycle wherever its imports stand.

A name that a package's `__init__` passes on is an import of the module the name comes from. The
names that an `__init__` passes on lazily (its `__getattr__`, and what it imports for type checkers)
are no imports of its own: they say where a name lives.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

__all__ = ["Import", "cycles", "layer_of", "layers", "module_imports", "modules"]

ROOT = Path(__file__).parents[1]
Kind = Literal["top", "lazy", "types"]
KINDS: tuple[Kind, ...] = ("top", "lazy", "types")
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Import(NamedTuple):
    """One module needs another."""

    importer: str
    imported: str
    kind: Kind


def modules(package: str = "expunge", root: Path = ROOT) -> dict[str, Path]:
    """The dotted name and the file of every module of a package."""
    paths = sorted((root / package).rglob("*.py"))
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in paths
    }


def module_imports(package: str = "expunge", root: Path = ROOT) -> list[Import]:
    """Every import between modules of a package, each once for its kind, sorted."""
    files = modules(package, root)
    trees = {name: ast.parse(path.read_text()) for name, path in files.items()}
    packages = {name for name, path in files.items() if path.name == "__init__.py"}
    homes = {name: _homes(trees[name]) for name in packages}
    edges = set()
    for importer, tree in trees.items():
        for name, kind, exported in _named(tree):
            imported = _resolve(name, files, homes)
            passed_on = exported and importer in packages
            if imported is not None and imported != importer and not passed_on:
                edges.add(Import(importer, imported, kind))
    return sorted(edges)


def _named(tree: ast.AST) -> Iterator[tuple[str, Kind, bool]]:
    """Dotted names that a module imports, their kind, and whether an `__init__` only exports them.

    `from a import b` gives `a.b`, whether b is a module or a name inside a.
    """
    for node, parents in _with_parents(tree):
        lazy = any(isinstance(parent, FUNCTION) for parent in parents)
        typed = any(_is_type_checking(parent) for parent in parents)
        exports = typed or any(getattr(p, "name", None) == "__getattr__" for p in parents)
        kind: Kind = "types" if typed else "lazy" if lazy else "top"
        for name in _names_of(node):
            yield name, kind, exports


def _names_of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if called in ("import_module", "__import__") and isinstance(node.args[0].value, str):
            return [node.args[0].value]
    return []


def _with_parents(
    node: ast.AST, parents: tuple[ast.AST, ...] = ()
) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    yield node, parents
    for child in ast.iter_child_nodes(node):
        yield from _with_parents(child, (*parents, node))


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _homes(tree: ast.AST) -> dict[str, str]:
    """Where the names that an `__init__` imports come from: name to dotted name."""
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _resolve(name: str, files: Iterable[str], homes: dict[str, dict[str, str]]) -> str | None:
    """The module that a dotted name belongs to; None for one of another package."""
    if name in files:
        return name
    parent, _, symbol = name.rpartition(".")
    home = homes.get(parent, {}).get(symbol)
    if home is not None and home != name:
        return _resolve(home, files, homes)
    return _resolve(parent, files, homes) if parent else None


def layer_of(module: str) -> str:
    """The folder of the package that a module lies in; `errors` and the package are their own."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def layers(edges: Iterable[Import]) -> list[Import]:
    """The imports between layers, each once for its kind, sorted."""
    pairs = {Import(layer_of(a), layer_of(b), kind) for a, b, kind in edges}
    return sorted(edge for edge in pairs if edge.importer != edge.imported)


def cycles(edges: Iterable[Import], kinds: Iterable[Kind] = KINDS) -> list[list[str]]:
    """Groups of modules each of which needs every other one: strongly connected, sorted.

    Imports for type checkers count unless `kinds` leaves them out: two files that know each other
    by their types are a cycle for whoever reads them.
    """
    needs: dict[str, set[str]] = {}
    for importer, imported, kind in edges:
        if kind in kinds:
            needs.setdefault(importer, set()).add(imported)
    reach = {module: _reached(module, needs) for module in needs}
    groups = {
        tuple(sorted(other for other in reach[module] if module in reach.get(other, ())))
        for module in needs
        if module in reach[module]
    }
    return sorted(map(list, groups))


def _reached(start: str, needs: dict[str, set[str]]) -> set[str]:
    """Every module that one leads to by one import or more."""
    reached: set[str] = set()
    waiting = list(needs.get(start, ()))
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += needs.get(module, ())
    return reached
