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

from experiments.frontier.problem import Problem, summary
from experiments.progress import shown
from expunge import CertifiedClassifier
from expunge.accounting.target import EpsilonDelta
from expunge.unlearning.choice import cheapest, prices
from expunge.unlearning.model_file import salted

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
        for deletion in shown(deletions, title):
            forget = problem.divided(share, deletion).forget
            where = {"share": share, "deletion": deletion, "forget": forget, "ridge": ridge}
            certificate, accuracy = request(problem, copied(yardstick), forget)
            yield where | {
                "strategy": "retrain",
                "epsilon": None,
                "certified": certificate.claim.epsilon,
                **summary(np.array([accuracy]), noisy=False),
            }
            start = auto  # where the solver starts: any point will do (THEORY 5.1)
            for epsilon in epsilons:
                found = []
                for run in range(runs):
                    asked = with_target(auto, epsilon, seed + run, start)
                    found.append(request(problem, asked, forget))
                    start = asked
                numbers = {
                    "epsilon": epsilon,
                    "certified": max(certificate.claim.epsilon for certificate, _ in found),
                    **summary(np.array([accuracy for _, accuracy in found])),
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
    estimator: CertifiedClassifier, epsilon: float, seed: int, start: CertifiedClassifier
) -> CertifiedClassifier:
    """A copy that promises another epsilon at its next request, with its own noise.

    Args:
        start: Whose solution the solver starts from; one that honoured the same request before
            saves the solver its way, and nothing else, since the residual is checked anew.
    """
    other = copied(estimator).set_params(epsilon=epsilon, random_state=seed)
    job = replace(other.fitted_.job, target=EpsilonDelta(epsilon, other.delta), seed=seed)
    if cheapest(job, max(1, job.private // 10)) != other.fitted_.strategy:
        raise RuntimeError(f"auto takes another strategy at epsilon = {epsilon}: fit again")
    outcome = replace(other.fitted_.outcome, secret=salted(start.fitted_.outcome.secret))
    other._state = replace(other.fitted_, job=job, outcome=outcome, fingerprint=None)
    return other


def copied(estimator: CertifiedClassifier) -> CertifiedClassifier:
    """A copy whose requests leave the original alone: forgetting zeroes rows in place."""
    other, job = copy.copy(estimator), estimator.fitted_.job
    job = replace(job, features=job.features.clone(), targets=job.targets.clone())
    other._state = replace(other.fitted_, job=job, fingerprint=None)
    return other


def request(problem: Problem, estimator: CertifiedClassifier, forget: int) -> tuple[Any, float]:
    """The certificate of forgetting the first private records, and the accuracy after it."""
    certificate = estimator.forget(range(forget))
    return certificate, float((estimator.predict(problem.test) == problem.test_labels).mean())


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
