"""Deletion beside retraining: the same model, for a small share of the work."""

from expunge.cli.side_by_side import bought, side_by_side


def test_what_is_forgotten_predicts_as_what_is_retrained_and_the_placebo_does_not():
    found = side_by_side(records=20_000)
    accuracy = found["accuracy"]
    assert abs(accuracy["forget"] - accuracy["retrain"]) < 0.005
    assert accuracy["placebo"] < accuracy["retrain"] - 0.005
    assert found["epsilon"] <= 1.0
    assert set(found["seconds"]) == {"forget", "retrain"}


def test_what_was_bought_is_said_with_both_accuracies_and_both_times():
    said = bought(
        {
            "forgotten": 10, "records": 200_000, "features": 64,
            "seconds": {"forget": 0.006, "retrain": 0.6},
            "accuracy": {"forget": 0.85, "retrain": 0.851, "placebo": 0.7},
        }
    )  # fmt: skip
    for told in ("10 of 200,000", "6.0 ms", "0.6 s", "85.00%", "85.10%", "70.00%"):
        assert told in said
