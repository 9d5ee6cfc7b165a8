"""Losses of linear heads: closed-form gradients and constants that hold by construction.

Each loss sums over rows of norm at most B (the intercept feature counted) and knows its own
(m, L, M) for the objective  (1/nbar) sum_i loss_i(theta) + (l2/2) ||theta - center||^2,
nbar the number of rows or a fixed constant at least as large.
"""

from expunge.losses.declared import Declared
from expunge.losses.logistic import Logistic
from expunge.losses.softmax import Softmax
from expunge.losses.squared import Squared
from expunge.losses.weighted import Weighted

__all__ = ["Declared", "Logistic", "Softmax", "Squared", "Weighted"]
