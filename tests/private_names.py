"""Reads where a file reaches for a name with an underscore that another file owns.

python -m tests.private_names      every such place, by file
"""

import ast
from pathlib import Path

__all__ = ["offenders", "private_reads"]

ROOT = Path(__file__).parents[1]
FOLDERS = ("expunge", "experiments", "benchmarks", "docs", "tests")

OWN = {"self", "cls"}  # whoever writes these is inside the class
# Public in spite of the underscore, by their documentation.
PUBLIC = {
    *("_asdict", "_fields", "_field_defaults", "_make", "_replace"),  # named tuples
    *("_exit", "_getframe"),  # os, sys
    "_mapping",  # a row of SQLAlchemy
}
# Of other packages, which offer no public name for it.
FOREIGN = {
    *("_BatchNorm", "_InstanceNorm", "_forward_pre_hooks", "_reset_parameters"),  # torch
    "_reinterpret",  # triton's gluon
    "_locator_classes",  # numba
}
BY_NAME = {"__setattr__", "delattr", "getattr", "hasattr", "setattr"}


def private_reads(source: str) -> list[tuple[int, str]]:
    """Line and name of every private name of another file that a source reads, writes or imports.

    A name is private when it begins with one underscore, and of another file when this one does
    not define it. `x._name`, `from m import _name` and `getattr(x, "_name")` all reach for it.
    """
    tree = ast.parse(source)
    own = _defined(tree) | PUBLIC | FOREIGN
    reads = {
        (node.lineno, name)
        for node in ast.walk(tree)
        for name in _names_reached(node)
        if name not in own
    }
    return sorted(reads)


def offenders() -> dict[str, list[str]]:
    """The private names of other files that each file of the project reaches for, sorted."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    names = {
        path.relative_to(ROOT).as_posix(): sorted(
            {name for _, name in private_reads(path.read_text())}
        )
        for path in paths
    }
    return {path: reached for path, reached in names.items() if reached}


def _is_private(name: object) -> bool:
    return (
        isinstance(name, str)
        and name.isidentifier()
        and name.startswith("_")
        and not name.startswith("__")
        and name.strip("_") != ""
    )


def _names_reached(node: ast.AST) -> list[str]:
    names: list[object] = []
    if isinstance(node, ast.Attribute):
        owner = node.value
        if not (isinstance(owner, ast.Name) and owner.id in OWN) and not _is_super(owner):
            names = [node.attr]
    elif isinstance(node, ast.ImportFrom):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.Call) and len(node.args) >= 2:
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        owner = node.args[0]
        own = isinstance(owner, ast.Name) and owner.id in OWN
        if called in BY_NAME and not own:
            names = [getattr(node.args[1], "value", None)]
    return [name for name in names if _is_private(name)]


def _is_super(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "super"


def _defined(tree: ast.AST) -> set[str]:
    """Private names that a file defines: functions, classes, variables, fields, `self._name =`."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in OWN:
                names.add(node.attr)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "__setattr__":
            owner, *rest = node.args
            if getattr(owner, "id", "") in OWN:
                names |= {getattr(name, "value", "") for name in rest[:1]}
    return {name for name in names if _is_private(name)}


if __name__ == "__main__":
    for file, reached in offenders().items():
        print(f"{file}: {', '.join(reached)}")
