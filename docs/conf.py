"""Sphinx configuration: MyST Markdown, warnings are errors."""

from typing import Any

from expunge import __version__

project = "expunge"
author = "The expunge developers"
copyright = "The expunge developers"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "expunge"
html_static_path = ["_static/tables"]
html_css_files = ["tables.css"]
default_role = "code"  # docstrings name things between single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "signature"


def link_glossary(_: object, page: str, source: list[str]) -> None:
    """Let every page lead to the words it uses."""
    if page not in ("glossary", "index"):
        source[0] += (
            "\n\n---\n\nWords that are used in one meaning everywhere: [glossary](glossary.md).\n"
        )


def keep_columns(*given: Any) -> None:
    """Show an indented block of a docstring as it is written: a formula, or words in columns.

    Sections (`Args:`) begin their block on the very next line, and are left to napoleon.
    """
    lines: list[str] = given[-1]
    kept: list[str] = []
    last = ""
    for line in lines:
        begins = line.startswith("    ") and not last.startswith(" ")
        if begins and kept and not kept[-1].strip():
            kept += ["::", ""]
        kept.append(line)
        last = line if line.strip() else last
    lines[:] = kept


def setup(app: Any) -> None:
    """Connect what this file does to pages."""
    app.connect("source-read", link_glossary)
    app.connect("autodoc-process-docstring", keep_columns, priority=400)  # before napoleon


suppress_warnings = ["ref.python", "docutils"]
