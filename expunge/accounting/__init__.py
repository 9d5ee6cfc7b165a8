"""Pure functions from (assumptions, history) to a guarantee. NumPy and SciPy only.

>>> from expunge.accounting import Assumptions, History, Phase, account
>>> loss = Assumptions(strong_convexity=0.0119, smoothness=0.2619, lipschitz=1.0)
>>> learn = Phase(steps=10_000, step_size=3.8, sigma=0.03, samples=33_000, forgotten=300)
>>> unlearn = Phase(steps=100, step_size=3.8, sigma=0.03, samples=32_700)
>>> judged = account(loss, History((learn, unlearn)), delta=1e-5)
>>> judged.best, round(judged.epsilon, 3)
('shift', 0.173)
"""

from expunge.accounting.account import Account, account
from expunge.accounting.assumptions import Assumptions
from expunge.accounting.history import History, Phase, Poisson, learn_unlearn
from expunge.errors import InvalidInput, Refused

__all__ = [
    "Account",
    "Assumptions",
    "History",
    "InvalidInput",
    "Phase",
    "Poisson",
    "Refused",
    "account",
    "learn_unlearn",
]
