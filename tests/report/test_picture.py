"""A figure as bytes: every format, and the same bytes twice."""

import re

import pytest
from matplotlib.figure import Figure

from expunge.report import confusion_figure, cost_figure, ulira_figure
from expunge.report.picture import COLOURS, encode, inline, legend_below, plain, save, series

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


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_equal_figures_make_equal_files(kind):
    assert encode(figure(), kind) == encode(figure(), kind)


def test_a_file_is_written_in_the_format_of_its_name(tmp_path):
    save(figure(), tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").read_bytes() == encode(figure(), "png")


def test_eight_series_share_neither_colours_nor_markers():
    eight = [series(place) for place in range(8)]
    assert len({one["color"] for one in eight}) == len({one["marker"] for one in eight}) == 8
    assert series(8) == series(0)


def test_the_legend_lies_below_the_panels_and_names_each_series_once():
    drawn = Figure(figsize=(4, 3), layout="constrained")
    for axes in drawn.subplots(1, 2):
        axes.plot([0, 1], label="the same")
    legend_below(drawn, 3, "a note")
    drawn.draw_without_rendering()
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == ["the same"]
    assert legend.get_title().get_text() == "a note"
    foot = min(axes.get_tightbbox().y0 for axes in drawn.axes)
    assert legend.get_window_extent().y1 <= foot


def test_an_svg_in_a_page_has_a_label_its_own_names_and_the_page_s_colours():
    drawn = figure()
    drawn.axes[0].lines[0].set_color(COLOURS["blue"])
    text = inline(encode(drawn, "svg"), "one", 'a "label" <&>')
    assert text.startswith("<svg viewBox=")
    assert 'role="img" aria-label="a &quot;label&quot; &lt;&amp;&gt;"' in text
    assert "var(--blue, #0072b2)" in text
    names = re.findall(r'\bid="([^"]*)"', text)
    assert names
    assert all(name.startswith("one-") for name in names)
    assert "http" not in text
    assert "<!--" not in text


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
