"""Scores of rows in blocks: those of all rows at once."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import r2_score

from expunge.workspace.encoding import Encoding
from expunge.workspace.folder import Folder
from expunge.workspace.scores import LabelCount, Score
from expunge.workspace.table_reader import TableReader
from tests.workspace.tables_made import ledger_rows, people, usual


class Said:
    """A head of a regression that says what it is given."""

    classes = None

    def predict(self, rows):
        return rows


@pytest.mark.parametrize("blocks", [1, 3, 50])
def test_a_regression_is_scored_as_by_an_independent_implementation(blocks):
    rng = np.random.default_rng(0)
    labels = 1e7 + rng.normal(size=50)  # far from 0: sums of squares would cancel
    said = labels + rng.normal(size=50)
    score, count = Score(Said()), LabelCount(classes=False)
    for rows, some in zip(
        np.array_split(said, blocks), np.array_split(labels, blocks), strict=True
    ):
        nothing = np.zeros(len(some), dtype=bool)
        score.add(rows, some, nothing)
        count.add(some, nothing)
    document = score.document(count)
    assert document["r2"] == pytest.approx(r2_score(labels, said), rel=1e-6)
    assert document["root_mean_square_error"] == pytest.approx(
        np.sqrt(np.mean((said - labels) ** 2))
    )
    assert count.majority()["mean"] == pytest.approx(labels.mean(), rel=1e-15)
    assert count.majority()["root_mean_square_error"] == pytest.approx(labels.std())


def test_a_score_of_the_wrong_labels_would_be_noticed(tmp_path):
    """The planted fault: labels in the opposite order."""
    workspace = usual(tmp_path)
    rules = dict(ledger_rows(workspace)["settings"])["encoding"]
    mine = people(200, seed=77)
    rows = Encoding.of(rules).encode(workspace, pa.table(mine))
    head = TableReader.of(Folder.opened(workspace)).head
    nothing, found = np.zeros(200, dtype=bool), []
    for labels in (np.array(mine["label"]), np.array(mine["label"])[::-1]):
        score, count = Score(head), LabelCount(classes=True)
        score.add(rows, labels, nothing)
        count.add(labels, nothing)
        found.append(score.document(count)["accuracy"])
    assert found[0] > 0.7 > found[1]
