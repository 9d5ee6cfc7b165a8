"""What a logarithmic axis has no place for is shown at its foot."""

from matplotlib.figure import Figure

from experiments.axes import mark_below, set_volume_axis


def test_values_that_are_not_above_0_are_marked_and_others_are_not():
    axes = Figure().subplots()
    axes.set_yscale("log")
    mark_below(axes, [1, 2, 3], [0.5, 0.0, -1.0], "black")
    (marks,) = axes.lines
    assert list(marks.get_xdata()) == [2, 3]
    assert marks.get_label() == "not above 0"
    mark_below(axes, [1], [0.5], "black")
    assert len(axes.lines) == 1


def test_public_volumes_are_the_ticks_zero_included_and_none_leaves_the_panel():
    axes = Figure().subplots()
    set_volume_axis(axes, [0, 0.5, 8])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0", "0.5", "8"]
    low, high = axes.get_xlim()
    assert low < 0 < 8 < high
