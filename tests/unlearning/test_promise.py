"""What a fit promised is held against every certificate, whatever the strategy did."""

from dataclasses import replace

import pytest

from expunge.accounting.target import EpsilonDelta
from expunge.errors import NoCertificate
from expunge.unlearning.linear.estimator import CertifiedClassifier
from expunge.unlearning.linear.residual import Residual
from tests.unlearning.records import labelled


class Noiseless(Residual):
    """Says that it is sound for everybody, and draws an eighth of the noise it should."""

    name = "noiseless"
    comparator = "retraining"
    observers = ("final", "all")

    def noise(self, job):
        noise_std, grid = super().noise(job)
        return noise_std / 8, grid / 8

    def record(self, job, noise_std, grid):
        return super().record(replace(job, target=EpsilonDelta(20.0, 1e-5)), noise_std, grid)


@pytest.mark.parametrize(
    ("observer", "said"), [("final", "is above the target"), ("all", "'all' was promised")]
)
def test_what_was_promised_is_held_against_every_certificate(observer, said):
    X, y = labelled(80)
    model = CertifiedClassifier(strategy=Noiseless(1e-8), observer=observer, l2=0.05)
    model.fit(X, y)
    with pytest.raises(NoCertificate, match=said):
        model.forget(3)
