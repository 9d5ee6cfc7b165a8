"""Confusion matrices: every model's name and accuracy, cells only where there is room."""

import numpy as np

from expunge.report.confusion_figure import draw
from tests.report.claims import EVALUATIONS


def test_every_model_is_drawn_with_its_accuracy():
    text = draw(EVALUATIONS).decode()
    assert "before: 88.9 % right" in text
    assert "after: 77.8 % right" in text
    assert text.count(">predicted<") == 2
    assert text.count(">actual<") == 1


def test_many_classes_have_no_numbers_in_their_cells():
    many = {
        "name": "after",
        "labels": [f"class {i}" for i in range(40)],
        "confusion": (np.eye(40) * 12345).tolist(),
        "accuracy": 1.0,
    }
    text = draw([many]).decode()
    assert "12345" not in text
    assert "class 7" not in text


def test_a_class_without_records_is_no_error():
    empty = EVALUATIONS[0] | {"confusion": [[0, 0], [1, 2]]}
    assert draw([empty], "png").startswith(b"\x89PNG")
