"""Prediction and coupled pairs against independent models, on real embeddings.

THEORY E17-E20, E36-E37. For each norm of the features, with and without public data, and each K:

1. D_2(pi_R^{T+K} || pi_U^K) predicted, from coupled pairs, from independent models (Hotelling),
   and from the logits of independent models on a probe set.
2. Loss of unlearned against retrained models on private test rows, signed.
3. Public against private features by a held-out classifier.

Cases are kept as they end (`experiments/parts.py`): a run that was stopped goes on.
"""

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from experiments.evidence.settings import Case, Settings
from experiments.parts import Parts
from expunge.audit.heads import coupled_estimate, predicted
from expunge.audit.utility import cost
from expunge.divergence.estimate import Estimate
from expunge.divergence.lower_estimates import on_probes
from expunge.divergence.mismatch import density_ratio
from expunge.divergence.rule import renyi_estimate
from expunge.losses import Softmax
from expunge.sampling import Problem, sample_ensemble

__all__ = ["run"]

UNFINISHED = Path(__file__).parent / "results/unfinished"
Found = TypeVar("Found")
Rows = tuple[Tensor, Tensor]  # features of norm 1 and classes


def run(settings: Settings) -> dict[str, Any]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    folder = None if settings.source == "embedded" else UNFINISHED
    parts = Parts(folder, json.dumps(asdict(settings)), Path(__file__).parent)
    rows, mismatches = [], []
    for case in settings.cases:
        name = f"norm {case.norm:g} {case.init}{' public' * case.with_public}"
        rows += parts.rows(name, partial(compared, settings, case, device))
    for domains in settings.mismatched:
        work = partial(mismatch, settings, *domains)
        mismatches += parts.rows("mismatch " + " ".join(domains), lambda w=work: [w()])
    parts.done()
    return {
        "settings": asdict(settings),
        "device": torch.cuda.get_device_name() if device == "cuda" else "CPU",
        "seconds": parts.seconds,
        "rows": rows,
        "mismatch": mismatches,
    }


def compared(settings: Settings, case: Case, device: str) -> Iterator[dict[str, Any]]:
    """All estimates of one case, by K."""
    problem, test = trained(settings, case)
    rough: dict[int, list[Estimate]] = {k: [] for k in settings.unlearn_steps}
    asked: dict[int, Estimate] = {}
    start = time.perf_counter()
    for repeat in range(settings.ensembles):
        ensembles = sample_ensemble(
            problem,
            unlearn_steps=settings.unlearn_steps,
            models=settings.models,
            device=device,
            precision="bfloat16" if device == "cuda" else "float32",
            seed=settings.seed + repeat,
        )
        for k in settings.unlearn_steps:
            of, against = (ensembles[law, k].weights for law in ("retrained", "unlearned"))
            rough[k].append(renyi_estimate(of=of, against=against, method="hotelling"))
            if not repeat:
                probes = test[0][: settings.probes].to(of)
                logits = [probes @ weights.transpose(1, 2) for weights in (of, against)]
                asked[k] = on_probes(of=logits[0], against=logits[1])
    roughly = time.perf_counter() - start
    coupled_models = sample_ensemble(
        problem, unlearn_steps=settings.unlearn_steps, models=settings.pairs, coupled=True
    )
    private, public = problem.records_of()
    for k in settings.unlearn_steps:
        told, telling = timed(lambda: predicted(problem, unlearn_steps=k))  # noqa: B023
        seen, seeing = timed(
            lambda: coupled_estimate(problem, unlearn_steps=k, pairs=settings.pairs)  # noqa: B023
        )
        pairs = [coupled_models[law, k].weights for law in ("unlearned", "retrained")]
        spent = cost(problem.loss, *test, unlearned=pairs[0], retrained=pairs[1], coupled=True)
        yield {
            **asdict(case),
            "unlearn_steps": k,
            "private": len(private.targets),
            "public": len(public.targets),
            "dimension": math.prod(problem.shape),
            "models": settings.models,
            "ensembles": settings.ensembles,
            "predicted": document(told) | {"seconds": telling},
            "coupled": document(seen) | {"seconds": seeing, "pairs": settings.pairs},
            "hotelling": averaged(rough[k]) | {"seconds": roughly},
            "probes": document(asked[k]),
            "utility": asdict(spent) | {"relative": spent.relative},
        }


def trained(settings: Settings, case: Case) -> tuple[Problem, Rows]:
    """The problem, and private test rows."""
    public, private, test = records(settings, *settings.domains)
    first = private[1] == private[1][0]
    problem = Problem(
        loss=Softmax(int(private[1].max()) + 1, l2=0.0, row_norm=case.norm),
        private=(case.norm * private[0], private[1]),
        public=(case.norm * public[0], public[1]) if case.with_public else None,
        forget=first.nonzero()[: settings.forget, 0],
        step_size=settings.step_size,
        sigma=settings.sigma,
        learn_steps=settings.learn_steps,
        radius=settings.radius,
        init=case.init,
    )
    return problem, (case.norm * test[0], test[1])


def records(settings: Settings, public: str, private: str) -> tuple[Rows, Rows, Rows]:
    """Public, private training and private test rows, each of norm 1, in a seeded order."""
    if settings.source == "embedded":
        from experiments.datasets.mnist import embedded

        digits = embedded().with_unit_rows()
        half = len(digits.train) // 2
        parts = [
            (digits.train[:half], digits.train_labels[:half]),
            (digits.train[half:], digits.train_labels[half:]),
            (digits.test, digits.test_labels),
        ]
    else:
        from experiments.datasets.pacs import pacs

        there, here = pacs(public), pacs(private)
        parts = [
            (there.features, there.targets),
            (here.train.features, here.train.targets),
            (here.test.features, here.test.targets),
        ]
    rng, found = np.random.default_rng(settings.seed), []
    for place, (features, targets) in enumerate(parts):
        chosen = rng.permutation(len(targets))
        if settings.rows is not None and place < 2:
            chosen = chosen[: settings.rows[place]]
        rows = torch.from_numpy(features[chosen]).float()
        found.append((rows / rows.norm(dim=1, keepdim=True), torch.from_numpy(targets[chosen])))
    return found[0], found[1], found[2]


def mismatch(settings: Settings, public: str, private: str) -> dict[str, Any]:
    there, here, _ = records(replace(settings, rows=None), public, private)
    ratio = density_ratio(public=there[0].numpy(), private=here[0].numpy(), seed=settings.seed)
    return {
        "public": public,
        "private": private,
        "rows": [len(there[1]), len(here[1])],
        "accuracy": ratio.accuracy,
        "kl": document(ratio.kl),
        "renyi_2": document(ratio.renyi_2),
        "d_infinity": document(ratio.d_infinity()),
    }


def document(estimate: Estimate) -> dict[str, Any]:
    """As JSON: what is infinite is null."""
    found = {"value": estimate.value, "interval": estimate.interval, "kind": estimate.kind}
    if not math.isfinite(estimate.value):
        found["value"] = None
    return found | {"method": estimate.method, "notes": list(estimate.notes)}


def averaged(estimates: list[Estimate]) -> dict[str, Any]:
    """Of independent estimates: their mean, whose error is smaller by the root of their number."""
    value = math.fsum(one.value for one in estimates) / len(estimates)
    halves = [(one.interval[1] - one.interval[0]) / 2 for one in estimates if one.interval]
    reach = math.hypot(*halves) / len(estimates)
    return document(replace(estimates[0], value=value, interval=(value - reach, value + reach)))


def timed(work: Callable[[], Found]) -> tuple[Found, float]:
    start = time.perf_counter()
    found = work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return found, time.perf_counter() - start
