"""After an interrupt of a request the state is the one that the rows belong to."""

from contextlib import contextmanager

import pytest

from expunge.unlearning.linear.estimator import CertifiedClassifier
from expunge.unlearning.linear.growing_rows import GrowingRows
from expunge.unlearning.linear.residual import Residual
from tests.unlearning.records import labelled, state


@pytest.mark.parametrize("undone", [True, False])
@pytest.mark.parametrize(
    ("verb", "given", "change"),
    [
        ("forget", [[3, 4]], "erasing"),
        ("add", labelled(2), "adding"),
        ("exchange", [[3, 4], *labelled(2)], "exchanging"),
    ],
)
def test_an_interruption_of_a_change_of_rows_leaves_the_state_that_the_rows_belong_to(
    monkeypatch, verb, given, change, undone
):
    X, y = labelled(60)
    clf = CertifiedClassifier(strategy=Residual()).fit(X, y)
    clf.forget(1)
    before, changing = state(clf), getattr(GrowingRows, change)

    @contextmanager
    def interrupted(*given):
        with changing(*given) as made:
            yield made
            if undone:
                raise KeyboardInterrupt
        raise KeyboardInterrupt

    monkeypatch.setattr(GrowingRows, change, interrupted)
    with pytest.raises(KeyboardInterrupt):
        getattr(clf, verb)(*given)
    monkeypatch.undo()
    assert (state(clf) == before) == undone
    assert clf.fitted_.job.roster.request == (1 if undone else 2)
    clf.fitted_.check_unchanged()
    clf.forget(5)
