"""Sphinx configuration: MyST Markdown, warnings are errors."""

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
suppress_warnings = ["ref.python", "docutils"]
