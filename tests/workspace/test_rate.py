"""How far long work is, in words."""

import pytest

from expunge.core.part_engine import HERE
from expunge.workspace import rate as module
from expunge.workspace.rate import RowRate, watched_passes


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""

    class Clock:
        now = 0.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_rows_rate_and_time_left_are_told(clock):
    lines = []
    rate = RowRate("encoding", 1_000_000, lines.append)
    clock.now = 10.0
    rate.at(250_000)
    assert lines == ["encoding: 250,000 of 1,000,000 rows, 25,000 a second, 30 s left"]


def test_where_nobody_knows_the_end_there_is_no_time_left(clock):
    lines = []
    rate = RowRate("reading", None, lines.append)
    clock.now = 2.0
    rate.at(5000)
    assert lines == ["reading: 5,000 rows, 2,500 a second"]


def test_lines_come_now_and_then_and_at_the_end(clock):
    lines = []
    rate = RowRate("encoding", 30, lines.append)
    for done in range(1, 31):
        clock.now += 0.05
        rate.at(done)
    assert len(lines) == 8
    assert lines[-1].startswith("encoding: 30 of 30 rows")


def test_every_pass_tells_how_far_it_is_and_none_which_it_is(clock):
    lines = []
    engine = watched_passes(HERE, 1000, "learning", lines.append)

    def compute(shared, part):
        clock.now += 1.0
        return part

    for _ in range(2):
        assert list(engine.map(compute, None, [1, 2, 3, 4])) == [1, 2, 3, 4]
    assert lines[1] == "learning: 500 of 1,000 rows, 250 a second, 2 s left"
    assert lines[-1] == "learning: 1,000 of 1,000 rows, 250 a second, 0 s left"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(59.4, "59 s"), (60.0, "1 min 0 s"), (3725.0, "1 h 2 min")]
)
def test_durations_are_short_words(clock, seconds, shown):
    lines = []
    rate = RowRate("x", 2, lines.append)
    clock.now = seconds
    rate.at(1)
    assert lines[0].endswith(f"{shown} left")
