"""Parts of a long run: kept as they end, found again by the same settings and code only."""

from pathlib import Path

from experiments.parts import Parts, machine

CODE = Path(__file__).parents[2] / "experiments/frontier"


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path):
    made = []

    def part():
        made.append(1)
        yield {"accuracy": 90.0}

    folder = tmp_path / "unfinished"
    first = Parts(folder, "settings", CODE).rows("part", part)
    again = Parts(folder, "settings", CODE)
    assert again.rows("part", part) == first == [{"accuracy": 90.0}]
    assert len(made) == 1
    assert "part" in again.seconds
    Parts(folder, "other settings", CODE).rows("part", part)
    assert len(made) == 2
    again.done()
    assert len(list(folder.iterdir())) == 1
    Parts(folder, "other settings", CODE).done()
    assert not folder.exists()
    Parts(None, "settings", CODE).rows("part", part)
    assert not folder.exists()


def test_where_nothing_may_begin_what_is_missing_is_named_and_what_is_kept_stays(tmp_path):
    Parts(tmp_path, "settings", CODE).rows("kept", lambda: [{"value": 1}])
    parts = Parts(tmp_path, "settings", CODE, only_kept=True)
    assert parts.rows("kept", list) == [{"value": 1}]
    assert parts.rows("other", lambda: [{"value": 2}]) == []
    assert parts.missing == ["other"]
    assert parts.machines == {machine()}
    parts.done()
    assert len(list(tmp_path.iterdir())) == 1


def test_to_ask_for_a_part_that_is_not_there_makes_none(tmp_path):
    parts = Parts(tmp_path, "settings", CODE)
    assert parts.kept("part") is None
    parts.rows("part", lambda: [{"value": 1}])
    assert parts.kept("part") == [{"value": 1}]
    assert Parts(tmp_path, "other settings", CODE).kept("part") is None
    assert Parts(None, "settings", CODE).kept("part") is None
