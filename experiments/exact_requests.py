"""`auto`, `residual` and `retrain` by the estimator itself, for observer `final`.

One fit for each public share and strategy; every request is made to a copy of the fitted
estimator. The target lives in the fitted job and enters only when a request is honoured, so a copy
with another target is what a fit with that target would have given: `auto` is asked again for it,
and must take the same strategy.
"""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.deletion_tasks import Problem, summary
from experiments.progress import show_progress
from expunge import CertifiedClassifier
from expunge.accounting.certificate import Certificate
from expunge.accounting.target import EpsilonDelta
from expunge.unlearning.linear.choice import cheapest, prices
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.model_file import add_salt
from expunge.unlearning.requests import honour

__all__ = ["exact_cells", "plans"]


def exact_cells(
    problem: Problem,
    *,
    shares: tuple[float, ...],
    deletions: tuple[int | float, ...],
    epsilons: tuple[float, ...],
    runs: int,
    ridge: float,
    seed: int,
) -> Iterator[dict[str, Any]]:
    for share in shares:
        public = problem.divided(share, 1).public
        auto = fitted(problem, public, "auto", epsilons[0], ridge, seed)
        yardstick = fitted(problem, public, "retrain", epsilons[0], ridge, seed)
        title = f"{problem.name}: {share:.0%} public"
        for deletion in show_progress(deletions, title):
            forget = problem.divided(share, deletion).forget
            where = {"share": share, "deletion": deletion, "forget": forget, "ridge": ridge}
            certificate, after = request(copy.deepcopy(yardstick.fitted_), forget)
            yield where | {
                "strategy": "retrain",
                "epsilon": None,
                "certified": certificate.claim.epsilon,
                **summary(np.array([accuracy(problem, after)]), noisy=False),
            }
            start = auto.fitted_  # where the solver starts: any point will do (THEORY 5.1)
            for epsilon in epsilons:
                found = []
                for run in range(runs):
                    certificate, start = request(
                        with_target(auto.fitted_, epsilon, seed + run, start), forget
                    )
                    found.append((certificate, accuracy(problem, start)))
                numbers = {
                    "epsilon": epsilon,
                    "certified": max(certificate.claim.epsilon for certificate, _ in found),
                    **summary(np.array([right for _, right in found])),
                }
                taken = found[0][0].strategy
                yield where | {"strategy": "auto", "took": taken} | numbers
                yield where | {"strategy": taken} | numbers  # the very same models


def fitted(
    problem: Problem,
    public: int,
    strategy: str,
    epsilon: float,
    ridge: float,
    seed: int,
    *,
    observer: Any = "final",
) -> CertifiedClassifier:
    estimator = CertifiedClassifier(
        epsilon=epsilon,
        delta=problem.delta,
        strategy=strategy,
        observer=observer,
        l2=ridge,
        classes=range(problem.classes),
        random_state=seed,
    )
    known = (problem.rows[:public], problem.labels[:public]) if public else None
    return estimator.fit(problem.rows[public:], problem.labels[public:], public=known)


def with_target(
    fitted: LinearFitted, epsilon: float, seed: int, start: LinearFitted
) -> LinearFitted:
    """A copy that promises another epsilon at its next request, with its own noise.

    Args:
        start: Whose solution the solver starts from; one that honoured the same request before
            saves the solver its way, and nothing else, since the residual is checked anew.
    """
    other = copy.deepcopy(fitted)  # forgetting erases rows
    target = EpsilonDelta(epsilon, other.job.target.delta)
    job = replace(other.job, target=target, seed=seed)
    if cheapest(job, max(1, job.roster.private // 10)) != other.strategy:
        raise RuntimeError(f"auto takes another strategy at epsilon = {epsilon}: fit again")
    outcome = replace(other.outcome, secret=add_salt(start.outcome.secret))
    return replace(other, job=job, outcome=outcome, fingerprint=None)


def request(fitted: LinearFitted, forget: int) -> tuple[Certificate, LinearFitted]:
    """The certificate of forgetting the first private records, and the state after it."""
    after, certificate = honour(fitted, range(forget))
    return certificate, after


def accuracy(problem: Problem, fitted: LinearFitted) -> float:
    return float((fitted.head.predict(problem.test) == problem.test_labels).mean())


def plans(problem: Problem, share: float, epsilon: float, ridge: float) -> dict[str, Any]:
    """What `auto` may take for each observer, and why the rest is excluded."""
    division = problem.divided(share, 0.1)
    estimator = fitted(problem, division.public, "residual", epsilon, ridge, 0)
    found = {}
    for observer in ("final", "all"):
        job = replace(estimator.fitted_.job, observer=observer)
        found[observer] = {
            "auto_takes": cheapest(job, division.forget).name,
            "excluded": {
                price.name: price.excluded
                for price in prices(job, division.forget)
                if price.excluded is not None
            },
        }
    return found
