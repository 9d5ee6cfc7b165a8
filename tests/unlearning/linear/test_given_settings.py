"""A step size or a radius that is given is taken where descent stays within its bounds."""

import pytest

from expunge.errors import InvalidInput
from expunge.losses import Logistic, Softmax, Squared
from expunge.unlearning.linear.estimator import CertifiedClassifier
from expunge.unlearning.linear.langevin import Langevin
from tests.unlearning.problems import job_of
from tests.unlearning.records import labelled


@pytest.mark.parametrize("loss", [Logistic(l2=0.1), Softmax(3, l2=0.1), Squared(0.1, radius=1.0)])
@pytest.mark.parametrize(("share", "allowed"), [(1.0, True), (1.001, False), (50.0, False)])
def test_steps_up_to_two_over_l_are_taken_and_longer_ones_refused(loss, share, allowed):
    """THEORY 2.8: eta in (0, 2/L], by the loss's own L."""
    strategy = Langevin(3, 1.0, step_size=share * 2 / (loss.curvature + loss.l2))
    if allowed:
        strategy.fit(job_of(loss))
        return
    for verb in (strategy.fit, lambda job: strategy.price(job, 1)):
        with pytest.raises(InvalidInput, match=r"step_size: .* is above 2/L = ") as refused:
            verb(job_of(loss))
        assert "None for 1/L" in str(refused.value)


def test_descent_that_begins_outside_of_the_ball_is_refused():
    X, y = labelled(200)
    clf = CertifiedClassifier(strategy=Langevin(20, radius=1e-3), reference="start")
    with pytest.raises(ValueError, match=r"radius: descent begins .* from the center"):
        clf.fit(X[100:], y[100:], public=(X[:100], y[:100]))
