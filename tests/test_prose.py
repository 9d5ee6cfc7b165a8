"""Docstrings open with a sentence: what a thing is or does comes before its arguments."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("expunge", "experiments", "benchmarks", "docs")
SECTIONS = ("Args:", "Raises:", "Returns:", "Yields:", "Attributes:")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
# The names of its kept blocks carry a digest of its source, docstrings included.
FROZEN = ROOT / "experiments" / "reviews_lstm"


def opened_by_a_section(source: str) -> list[str]:
    """Modules, classes and functions whose docstring begins with a list of arguments or errors."""
    return [
        getattr(node, "name", "module")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, DOCUMENTED) and (ast.get_docstring(node) or "").startswith(SECTIONS)
    ]


def sources() -> list[Path]:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    return sorted(path for path in paths if FROZEN not in path.parents)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_has_sources_that_are_read(folder):
    assert any(ROOT / folder in path.parents for path in sources())


def test_no_docstring_opens_with_its_arguments_or_errors():
    wrong = {
        str(path.relative_to(ROOT)): opened_by_a_section(path.read_text()) for path in sources()
    }
    assert not {path: names for path, names in wrong.items() if names}


@pytest.mark.parametrize("section", SECTIONS)
def test_a_docstring_that_opens_with_a_section_would_be_caught(section):
    planted = f'''
class Record:
    """{section} weights: Of one model."""

    async def load(self):
        """
        {section}
            ValueError: no file.
        """

def well_put():
    """A sentence first.

    {section}
        ValueError: no file.
    """
'''
    assert opened_by_a_section(planted) == ["Record", "load"]
