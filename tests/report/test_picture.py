"""A figure as bytes: every format, and the same bytes twice."""

import pytest
from matplotlib.figure import Figure

from expunge.report.picture import encode


def figure():
    drawn = Figure(figsize=(1, 1))
    drawn.subplots().plot([0, 1])
    return drawn


@pytest.mark.parametrize(
    ("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_every_format_is_encoded(kind, start):
    assert encode(figure(), kind).startswith(start)


def test_equal_figures_make_equal_files():
    assert encode(figure(), "png") == encode(figure(), "png")
