"""Every strategy for networks beside its placebo and exact deletions of the same cost.

1. full: epochs, step and weight decay of retraining in full, chosen on public records alone.
2. heads: on embeddings, whether public records are trained on beside the private ones, and l2; the
   best when each fifth of the private records is scored by heads on the others. What is said about
   public records holds for every network of the pair.
3. rows: accuracy on held-out private records after a deletion, of
     certified    the strategy's own network, with the epsilon of its history
     placebo      the same procedure from a point that never saw a private record
     warm start   the whole network trained from the public start, as many FLOPs
     scratch      the whole network trained from fresh values, as many FLOPs
   Costs are FLOPs over those of retraining in full from scratch: `cost` as budgeted in advance,
   which is what the exact arms get; `counted` as a certified request spent them.

Nothing else is chosen by what records show. Deleted records are random ones. Where inputs are a
pretrained embedder's, `head` is a linear layer on them, and "head, public layer" one on the hidden
layer that public records made; on pixels there is only the latter, called `head`.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from experiments.networks.problem import (
    Problem,
    accuracy,
    head_of,
    job_of,
    on_embedding,
    problem_of,
    recipe,
    without,
)
from experiments.networks.settings import SCALES, Settings
from experiments.parts import Parts
from experiments.progress import show_progress
from expunge.accounting.account import account
from expunge.accounting.conversions import gdp_for_epsilon
from expunge.unlearning.networks.clipped import Clipped
from expunge.unlearning.networks.comparison import correct
from expunge.unlearning.networks.finetune import HeadFinetune
from expunge.unlearning.networks.head import Head
from expunge.unlearning.networks.langevin import NetworkLangevin
from expunge.unlearning.networks.network_job import NetworkJob
from expunge.unlearning.networks.network_strategy import NetworkStrategy
from expunge.unlearning.networks.retrain import RetrainNetwork
from expunge.unlearning.networks.training import Training, training_cost
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.schemes import Cyclic

__all__ = ["CLIPPINGS", "best", "chosen_head", "run"]

UNFINISHED = Path(__file__).parent / "results" / "unfinished"
LEARN_STEPS = 5  # of noisy descent's private phase
CLIPPINGS = {
    "gradient clipping": {"project": False, "weight_decay": 0.0},
    "model clipping": {"project": True, "weight_decay": 0.0},
    "hybrid": {"project": True, "weight_decay": 0.1},
}


def run(settings: Settings) -> dict[str, Any]:
    keep = UNFINISHED if settings == SCALES["paper"] else None
    parts = Parts(keep, json.dumps(asdict(settings)), Path(__file__).parent)
    full, heads = {}, {}
    for pair in settings.pairs:
        name = pair.replace("/", " ")
        full[pair] = parts.rows(f"full {name}", lambda p=pair: _candidates(settings, p))
        trained = recipe(settings, best(full[pair]))
        heads[pair] = parts.rows(
            f"heads {name}", lambda p=pair, t=trained: _cross_validated(settings, p, t)
        )
    seeds = dict.fromkeys(FAMILIES, settings.seeds) | {"heads": settings.head_seeds}
    work = [(family, pair, seed) for family in FAMILIES for seed in seeds[family]
            for pair in settings.pairs]  # fmt: skip
    rows = []
    for family, pair, seed in show_progress(work, "networks"):
        rows += parts.rows(
            f"{family} {pair.replace('/', ' ')} {seed}",
            lambda f=family, p=pair, s=seed: _rows(
                settings, p, s, recipe(settings, best(full[p])), heads[p], f
            ),
        )
    parts.done()
    return {
        "settings": asdict(settings),
        "device": parts.device,
        "seconds": parts.seconds,
        "full": [row for pair in settings.pairs for row in full[pair]],
        "heads": [row for pair in settings.pairs for row in heads[pair]],
        "rows": rows,
    }


def best(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The candidate of the highest accuracy, the first, which is the cheapest, of equals."""
    return max(rows, key=lambda row: row["accuracy"])


def chosen_head(rows: list[dict[str, Any]]) -> tuple[bool, float]:
    """Whether public records are trained on, and l2.

    Where nothing was tried, public records are more of the same and l2 is the package's own.
    """
    if not rows:
        return True, Head().l2
    most = best(rows)
    return most["beside"], most["l2"]


def _candidates(settings: Settings, pair: str) -> Iterator[dict[str, Any]]:
    """Accuracy on a fifth of the public records of networks trained on the others."""
    found = problem_of(pair, settings, seed=0)
    inputs, targets = found.public
    private, public = found.sources
    for epochs, step_size, weight_decay in product(
        settings.epochs, settings.step_sizes, settings.weight_decays
    ):
        chosen = {"epochs": epochs, "step_size": step_size, "weight_decay": weight_decay}
        scores = []
        for split in range(settings.splits):
            order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(split))
            fifth, rest = order[: len(order) // 5], order[len(order) // 5 :]
            alone = replace(found, public=(inputs[rest], targets[rest]))
            job = job_of(alone, settings, split, recipe(settings, chosen), beside=False)
            scores.append(accuracy(job, job.start, (inputs[fifth], targets[fifth])))
        score = fmean(scores)
        yield {"pair": pair, "private": private, "public": public, **chosen, "accuracy": score}


def _cross_validated(settings: Settings, pair: str, full: Training) -> Iterator[dict[str, Any]]:
    """Share of the private records that heads on the other fifths get right."""
    found = problem_of(pair, settings, seed=0)
    if not found.embedded:
        return
    inputs, targets = found.private
    order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(0))
    for beside, l2 in product((False, True), settings.ridges):
        job = on_embedding(job_of(found, settings, 0, full, beside=beside))
        head, right = head_of(found, job, l2), 0
        for fifth in order.tensor_split(5):
            others = job.without((job.roster.public + fifth).tolist())
            state = head.fit(others).state
            right += int(correct(job, state, (inputs[fifth], targets[fifth])).sum())
        yield {"pair": pair, "beside": beside, "l2": l2, "accuracy": right / len(inputs),
               "records": len(inputs)}  # fmt: skip


def _rows(
    settings: Settings,
    pair: str,
    seed: int,
    full: Training,
    heads: list[dict[str, Any]],
    family: str,
) -> Iterator[dict[str, Any]]:
    found = problem_of(pair, settings, seed)
    beside, l2 = chosen_head(heads)
    job = job_of(found, settings, seed, full, beside=beside)
    for row in FAMILIES[family](_Deletions(settings, found, job, full, l2)):
        yield {"pair": pair, "seed": seed, **row}


@dataclass(frozen=True)
class _Deletions:
    """The deletions of one pair and seed, from each of which a table of rows is made.

    Args:
        full: Retraining in full.
        l2: Of heads on embeddings.
    """

    settings: Settings
    found: Problem
    job: NetworkJob
    full: Training
    l2: float

    def __iter__(self) -> Iterator["_Table"]:
        for share in self.settings.shares:
            after = without(self.job, share)
            yield _Table(self.found, after, training_cost(after, self.full), share)


def _heads(asked: _Deletions) -> Iterator[dict[str, Any]]:
    """Certified heads, with and without fine-tuning, and exact deletions."""
    settings, full, found = asked.settings, asked.full, asked.found
    inner = head_of(found, asked.job, Head().l2)
    before = inner.fit(asked.job)
    embedded = on_embedding(asked.job) if found.embedded else asked.job
    head = head_of(found, embedded, asked.l2) if found.embedded else inner
    before_embedded = head.fit(embedded) if found.embedded else before
    for table in asked:
        alone = replace(table, after=without(embedded, table.share))
        own = head.cost(alone.after) / table.full
        yield table.exact("public start, untrained", asked.job.start, 0.0)
        for budget in (own, *settings.budgets):
            fresh = RetrainNetwork("scratch", _cut(full, budget))
            yield table.exact("scratch", fresh.fit(table.after).state, budget)
            warm = RetrainNetwork("public", _cut(full, budget))
            yield table.exact("warm start", warm.fit(table.after).state, budget)
        yield table.exact("scratch", RetrainNetwork("scratch", full).fit(table.after).state, 1.0)
        yield from alone.certified("head", head, before_embedded)
        if found.embedded:
            yield from table.certified("head, public layer", inner, before)
        spent = inner.cost(table.after) / table.full
        for budget in settings.budgets:
            if budget > spent:
                strategy = HeadFinetune(_cut(full, budget - spent), inner)
                yield from table.certified("head+finetune", strategy, before)


def _clippings(asked: _Deletions) -> Iterator[dict[str, Any]]:
    """Published clippings, a fifth of a pass of noisy steps each, and fine-tuning."""
    settings, full = asked.settings, asked.full
    before = Clipped(full).fit(asked.job)
    for table in asked:
        for name, kind in CLIPPINGS.items():
            for budget in settings.budgets:
                strategy = Clipped(
                    full,
                    radius=settings.radius,
                    unlearn_steps=10,
                    step_size=0.5,
                    clip=settings.radius,
                    scheme=Cyclic(50),
                    finetune=_cut(full, budget - 0.2 / full.epochs),
                    **kind,
                )
                yield from table.certified(name, strategy, before)


def _langevin(asked: _Deletions) -> Iterator[dict[str, Any]]:
    """Full batches with every record's gradient clipped; a step is a pass over the records."""
    settings, job = asked.settings, asked.job
    mu = gdp_for_epsilon(settings.epsilon, settings.delta)
    width = sum(p.numel() for p in job.module.parameters())
    for table in asked:
        passes = {max(1, math.floor(budget * asked.full.epochs)) for budget in settings.budgets}
        for steps in sorted(k for k in passes if k <= settings.langevin_steps):
            # Noise of 2 eta C N sqrt(d)/mu in all is what clipping by record asks for.
            step_size = settings.noise_norm * mu / (2 * (LEARN_STEPS + steps) * math.sqrt(width))
            strategy = NetworkLangevin(
                LEARN_STEPS, unlearn_steps=steps, step_size=step_size, capacity=table.share
            )
            yield from table.certified("langevin", strategy, strategy.fit(job))


FAMILIES = {"heads": _heads, "clippings": _clippings, "langevin": _langevin}


@dataclass(frozen=True)
class _Table:
    """Rows of one deletion. Args: after: The job without them. full: FLOPs of retraining."""

    found: Problem
    after: NetworkJob
    full: float
    share: float

    def exact(self, name: str, state: dict[str, Any], cost: float) -> dict[str, Any]:
        scored = accuracy(self.after, state, self.found.test)
        return {"share": self.share, "strategy": name, "arm": "exact", "cost": cost,
                "accuracy": scored, "epsilon": 0.0}  # fmt: skip

    def certified(
        self, name: str, strategy: NetworkStrategy, before: Outcome
    ) -> Iterator[dict[str, Any]]:
        """The strategy's own network and its placebo."""
        outcome = strategy.forget(self.after, before)
        assert outcome.assumptions is not None
        assert outcome.history is not None
        delta = self.after.target.delta
        judged = account(outcome.assumptions, outcome.history, delta=delta)
        cost = strategy.cost(self.after) / self.full
        row = self.exact(name, outcome.state, cost) | {"counted": outcome.flops / self.full}
        yield row | {"arm": "certified", "epsilon": None if judged.vacuous else judged.epsilon}
        nothing = strategy.placebo(self.after, before).state
        yield self.exact(name, nothing, cost) | {"arm": "placebo"}


def _cut(full: Training, share: float) -> Training:
    """The same recipe for a share of the cost."""
    return replace(full, epochs=share * full.epochs)
