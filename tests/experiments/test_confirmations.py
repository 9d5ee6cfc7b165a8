"""What models confirm is said, and every interval that does not hold is named."""

from experiments.confirmations import judge_checks


def row(predicted: float, low: float, high: float, coupled: float | None = None):
    near = predicted if coupled is None else coupled
    return {
        "pair": "a/b",
        "public": 10,
        "forget": 5,
        "unlearn_steps": 1,
        "predicted": predicted,
        "hotelling": {"value": (low + high) / 2, "interval": [low, high]},
        "coupled": {"value": near, "interval": [near - 1e-9, near + 1e-9]},
    }


def test_predictions_inside_every_interval_are_confirmed():
    ((_, told, verdict),) = judge_checks([row(1.0, 0.9, 1.1), row(2.0, 1.9, 2.1)])
    assert verdict == "holds"
    assert told.startswith("2 of 2 intervals")


def test_an_interval_that_misses_is_named_with_its_numbers():
    rows = [row(1.0, 0.9, 1.1)] * 10 + [row(1.0, 0.5, 0.7, coupled=1.01)]
    ((_, told, verdict),) = judge_checks(rows)
    assert verdict == "holds but for the intervals named"
    assert "10 of 11" in told
    assert "a/b, 10 public, 5 forgotten, K = 1: 1 predicted, 0.6 [0.5, 0.7] seen" in told
    assert "outside their own far narrower intervals at 1 of 11" in told


def test_many_misses_confirm_nothing_and_no_models_say_nothing():
    rows = [row(1.0, 0.9, 1.1), row(1.0, 0.5, 0.7), row(1.0, 1.5, 1.7)]
    assert judge_checks(rows)[0][2].startswith("does not hold")
    assert judge_checks([row(1.0, 0.9, 1.1) | {"hotelling": None}]) == []
