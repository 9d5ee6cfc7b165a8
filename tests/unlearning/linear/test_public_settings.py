"""Settings that an estimator takes from public records alone, and says afterwards."""

import numpy as np

from expunge.unlearning.linear.estimator import CertifiedClassifier
from tests.unlearning.records import labelled


def test_the_next_fit_alone_chooses_on_parts():
    X, y = labelled(300)
    noise = np.random.default_rng(0).integers(0, 2, 100)
    clf = CertifiedClassifier(l2="public")
    clf.choose_on([(X[:100], noise)])
    apart = clf.fit(X[100:], y[100:], public=(X[:100], y[:100])).l2_
    plain = clf.fit(X[100:], y[100:], public=(X[:100], y[:100])).l2_
    assert apart > plain  # nothing to learn there asks for a strong ridge
    fresh = CertifiedClassifier(l2="public").fit(X[100:], y[100:], public=(X[:100], y[:100]))
    assert plain == fresh.l2_


def test_the_settings_of_the_fit_are_told_whatever_the_parameters_do_later():
    X, y = labelled(80)
    clf = CertifiedClassifier(l2=0.5, row_norm=2.0).fit(X, y)
    clf.set_params(l2=0.1, row_norm=1.0)
    assert (clf.l2_, clf.row_norm_) == (0.5, 2.0)
