"""A figure as bytes: every format, and the same bytes twice."""

import pytest
from matplotlib.figure import Figure

from expunge.report import confusion_figure, cost_figure, ulira_figure
from expunge.report.picture import encode, plain

NAMES = (
    r"$\frac{1}{$", "$", "$$", r"\$", "$x$", r"$\undefined$", "a" * 10_000, "", "\x00\x1b[31m",
    "\n\n", "\ud800", "نعم", "是", "🙂", "<b>&amp;", "%s{}",
)  # fmt: skip


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


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:20]))
def test_any_text_can_be_a_label_of_any_figure(name):
    evaluation = {"name": name, "labels": [name, "b"], "confusion": [[3, 1], [0, 2]]}
    strategy = {"name": name, "steps": 3, "excluded": None}
    attack = {"unlearn_steps": 1, "confidences": [0.4, 0.6]}
    panel = {"title": name, "with_public": True, "verdict": name, "attacks": [attack]}
    for drawn in (
        confusion_figure.draw([evaluation | {"accuracy": 0.5}]),
        cost_figure.draw([strategy], name),
        ulira_figure.draw([[panel]], unit=name),
    ):
        assert len(drawn) > 1000


def test_a_formula_is_drawn_as_the_characters_it_is_written_with():
    drawn = Figure(figsize=(1, 1))
    text = drawn.text(0, 0, plain(r"$\alpha$"))
    drawn.draw_without_rendering()
    assert text.get_text() == r"\$\alpha\$"
