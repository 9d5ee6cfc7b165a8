"""Attacks that can contradict a certificate: lower bounds with a stated confidence, never more.

An audit that finds nothing proves nothing. Every result says what it could have shown at most, and
how many models it would have needed.
"""

from expunge.audit.heads import coupled_estimate, predicted
from expunge.audit.lower_bound import EpsilonLowerBound, epsilon_lower_bound
from expunge.audit.ulira import Ulira, ulira
from expunge.audit.verdict import Verdict, judge

__all__ = [
    "EpsilonLowerBound",
    "Ulira",
    "Verdict",
    "coupled_estimate",
    "epsilon_lower_bound",
    "judge",
    "predicted",
    "ulira",
]
