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
autodoc_member_order = "bysource"
autodoc_typehints = "signature"


def link_glossary(_: object, page: str, source: list[str]) -> None:
    """Let every page lead to the words it uses."""
    if page not in ("glossary", "index"):
        source[0] += (
            "\n\n---\n\nWords that are used in one meaning everywhere: [glossary](glossary.md).\n"
        )


def setup(app: Any) -> None:
    """Connect what this file does to pages."""
    app.connect("source-read", link_glossary)


suppress_warnings = ["ref.python", "docutils"]
