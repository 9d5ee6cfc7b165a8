"""Code that nothing but its tests uses gets a user or goes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
USERS = ("expunge", "experiments", "benchmarks", "docs")
WORD = re.compile(r"[A-Za-z_]\w*")
CALLED_BY_OTHERS = {  # names that a protocol outside of this project calls
    "_repr_html_": "notebooks",
    "certificate_": "scikit-learn's convention for what fit leaves behind (DESIGN section 3)",
    "history_": "likewise",
    "intercept_": "scikit-learn's linear models",
    "_without_absent": "pydantic, where it writes the fields of a certificate",
    "row_norm_": "what `row_norm='public'` came to, for whoever asks after fit",
    "json_schema": "writes the committed certificate.schema.json, from its test",
}

Definition = tuple[str, int, int]


def definitions(tree: ast.Module) -> Iterator[Definition]:
    """Functions, classes and methods of a module: name, first and last line."""
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else []
        for each in (node, *inner):
            if isinstance(each, ast.FunctionDef | ast.ClassDef) and not _is_dunder(each.name):
                yield each.name, each.lineno, each.end_lineno or each.lineno


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def uses(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Names that code reads, and words in quotes (options, lazy exports), with their lines.

    Imports and `__all__` are no uses.
    """
    listed = {
        id(constant)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for constant in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute):
            yield node.attr, node.lineno
        elif isinstance(node, ast.Constant) and id(node) not in listed and _is_word(node.value):
            yield node.value, node.lineno


def _is_word(value: object) -> bool:
    return isinstance(value, str) and WORD.fullmatch(value) is not None


def unused(sources: dict[str, str], prose: str = "") -> list[str]:
    """`file name` of what is defined in expunge/ and used nowhere outside of itself."""
    trees = {file: ast.parse(source) for file, source in sources.items()}
    lines: dict[str, set[tuple[str, int]]] = {}
    for file, tree in trees.items():
        for name, line in uses(tree):
            lines.setdefault(name, set()).add((file, line))
    words = set(WORD.findall(prose))
    return [
        f"{file} {name}"
        for file, tree in trees.items()
        if file.startswith("expunge/")
        for name, first, last in definitions(tree)
        if name not in words
        if all(user == file and first <= line <= last for user, line in lines.get(name, ()))
    ]


def test_everything_has_a_user_besides_its_tests():
    files = [path for folder in USERS for path in sorted((ROOT / folder).rglob("*.py"))]
    sources = {path.relative_to(ROOT).as_posix(): path.read_text() for path in files}
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    prose = "\n".join(path.read_text() for path in pages)
    left = [entry for entry in unused(sources, prose) if entry.split()[1] not in CALLED_BY_OTHERS]
    assert not left, left


def test_a_name_without_a_user_is_seen():
    sources = {
        "expunge/one.py": """
__all__ = ["alone", "called", "recursive"]

def alone(): ...

def called(): ...

def recursive():
    return recursive()

class Kept:
    def used(self): ...
    def forgotten(self): ...
""",
        "expunge/two.py": "from expunge.one import Kept, alone, called\ncalled(Kept().used())\n",
    }
    expected = ["alone", "recursive", "forgotten"]
    assert [entry.split()[1] for entry in unused(sources)] == expected
    assert [entry.split()[1] for entry in unused(sources, "see `alone`")] == expected[1:]
