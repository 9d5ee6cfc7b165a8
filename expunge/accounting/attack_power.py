"""What a claim leaves an attacker, in numbers and in one plain sentence.

    power <= Phi(Phi^-1(alarm) + mu)                                  where mu is known (THEORY 2.1)
    power <= min(e^eps alarm + delta, 1 - e^-eps (1 - delta - alarm))                         always

`alarm` is how often a test is wrong about models that never saw the records, `power` how often it
recognises one that did. Any test whether the records were forgotten or never used lies below both.
"""

import math

import numpy as np
from scipy.special import ndtr, ndtri

from expunge.accounting.conversions import outward

__all__ = ["ALARMS", "attack_in_words", "power", "round_up_text"]

ALARMS = 0.05  # how often the attacker of the plain sentence is wrong about innocent models


def power(
    alarms: np.ndarray | float, *, epsilon: float, delta: float, mu: float | None
) -> np.ndarray:
    """The most that a test with these rates of false alarms can recognise."""
    raised = math.exp(min(epsilon, 700.0))  # beyond that, any alarm at all allows everything
    best = np.minimum(raised * alarms + delta, 1 - (1 - delta - alarms) / raised)
    best = np.minimum(best, 1.0)
    if mu is not None:
        best = np.minimum(best, ndtr(ndtri(alarms) + mu))
    return np.maximum(best, alarms)


def attack_in_words(epsilon: float, delta: float, mu: float | None = None) -> str:
    """What the claim leaves an attacker, as a sentence for anybody; the share is rounded up."""
    most = float(power(ALARMS, epsilon=epsilon, delta=delta, mu=mu))
    percent = min(100.0, outward(100 * most)) if most > ALARMS else 100 * ALARMS
    return (
        f"An attacker who is wrong about innocent models {100 * ALARMS:g} % of the time recognises "
        f"this one as having seen the records at most {round_up_text(percent)} % of the time."
    )


def round_up_text(value: float) -> str:
    """Write a value with three significant digits, never below it."""
    if value == 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    text = f"{math.ceil(value / unit) * unit:.3g}"
    return text if float(text) >= value else f"{(math.ceil(value / unit) + 1) * unit:.3g}"
