"""Every strategy for networks beside its placebo and exact deletions of the same cost.

1. full: epochs of retraining in full, chosen on public records alone.
2. ridge: l2 of heads on embeddings, the largest within a standard error of the best when each fifth
   of the private records is scored by heads on the others.
3. rows: accuracy on held-out private records after a deletion, of
     certified    the strategy's own network, with the epsilon of its history
     placebo      the same procedure from a point that never saw a private record
     warm start   the whole network trained from the public start, as many FLOPs
     scratch      the whole network trained from fresh values, as many FLOPs
   Costs are nominal FLOPs over those of retraining in full from scratch.

Nothing else is chosen by what records show. Deleted records are random ones. Where inputs are a
pretrained embedder's, `head` is a linear layer on them, and "head, public layer" one on the hidden
layer that public records made; on pixels there is only the latter, called `head`.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from experiments.networks.problem import (
    Problem,
    accuracy,
    job_of,
    on_embedding,
    problem_of,
    recipe,
    without,
)
from experiments.networks.settings import SCALES, Settings
from experiments.parts import Parts
from experiments.progress import shown
from expunge.accounting.account import account
from expunge.accounting.conversions import gdp_for_epsilon
from expunge.unlearning.networks.clipped import Clipped
from expunge.unlearning.networks.comparison import correct
from expunge.unlearning.networks.finetune import HeadFinetune
from expunge.unlearning.networks.head import Head
from expunge.unlearning.networks.job import NetworkJob, NetworkOutcome, NetworkStrategy
from expunge.unlearning.networks.langevin import NetworkLangevin
from expunge.unlearning.networks.retrain import RetrainNetwork
from expunge.unlearning.networks.training import Training, training_cost
from expunge.unlearning.schemes import Cyclic

__all__ = ["CLIPPINGS", "run"]

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
    full, ridge = {}, {}
    for pair in settings.pairs:
        name = pair.replace("/", " ")
        full[pair] = parts.rows(f"full {name}", lambda p=pair: _candidates(settings, p))
        epochs = best(full[pair])["epochs"]
        ridge[pair] = parts.rows(
            f"ridge {name}", lambda p=pair, e=epochs: _ridges(settings, p, recipe(settings, e))
        )
    work = [(family, pair, seed) for family in FAMILIES for seed in settings.seeds
            for pair in settings.pairs]  # fmt: skip
    rows = []
    for family, pair, seed in shown(work, "networks"):
        rows += parts.rows(
            f"{family} {pair.replace('/', ' ')} {seed}",
            lambda f=family, p=pair, s=seed: _rows(
                settings, p, s, best(full[p])["epochs"], _head(ridge[p]), f
            ),
        )
    parts.done()
    return {
        "settings": asdict(settings),
        "seconds": parts.seconds,
        "full": [row for pair in settings.pairs for row in full[pair]],
        "ridge": [row for pair in settings.pairs for row in ridge[pair]],
        "rows": rows,
    }


def best(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The candidate of the highest accuracy, the first, which is the cheapest, of equals."""
    return max(rows, key=lambda row: row["accuracy"])


def _candidates(settings: Settings, pair: str) -> Iterator[dict[str, Any]]:
    """Accuracy on a fifth of the public records of networks trained on the others."""
    found = problem_of(pair, settings, seed=0)
    inputs, targets = found.public
    private, public = found.sources
    for epochs in settings.epochs:
        scores = []
        for split in range(settings.splits):
            order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(split))
            fifth, rest = order[: len(order) // 5], order[len(order) // 5 :]
            alone = replace(found, public=(inputs[rest], targets[rest]))
            job = job_of(alone, settings, split, recipe(settings, epochs))
            scores.append(accuracy(job, job.start, (inputs[fifth], targets[fifth])))
        score = fmean(scores)
        yield {"pair": pair, "private": private, "public": public, "epochs": epochs,
               "accuracy": score}  # fmt: skip


def _ridges(settings: Settings, pair: str, full: Training) -> Iterator[dict[str, Any]]:
    """Share of the private records that heads on public ones and the other fifths get right."""
    found = problem_of(pair, settings, seed=0)
    if not found.embedded:
        return
    inputs, targets = found.private
    job = on_embedding(job_of(found, settings, 0, full))
    order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(0))
    for l2 in settings.ridges:
        right = 0
        for fifth in order.tensor_split(5):
            keep = torch.ones(len(inputs), dtype=torch.bool)
            keep[fifth] = False
            state = Head(l2).fit(replace(job, keep=keep)).state
            right += int(correct(job, state, (inputs[fifth], targets[fifth])).sum())
        yield {"pair": pair, "l2": l2, "accuracy": right / len(inputs), "records": len(inputs)}


def _head(ridges: list[dict[str, Any]]) -> Head:
    """With the largest ridge within a standard error of the best."""
    if not ridges:
        return Head()
    most = best(ridges)
    error = math.sqrt(most["accuracy"] * (1 - most["accuracy"]) / most["records"])
    near = [row["l2"] for row in ridges if row["accuracy"] >= most["accuracy"] - error]
    return Head(max(near))


def _rows(
    settings: Settings, pair: str, seed: int, epochs: int, head: Head, family: str
) -> Iterator[dict[str, Any]]:
    asked, shares = {
        "heads": (settings.seeds, settings.shares),
        "clippings": (settings.baseline_seeds, settings.baseline_shares),
        "langevin": (settings.langevin_seeds, settings.baseline_shares),
    }[family]
    if seed not in asked:
        return
    found = problem_of(pair, settings, seed)
    full = recipe(settings, epochs)
    job = job_of(found, settings, seed, full)
    deletion = _Deletions(settings, found, job, full, head, shares)
    for row in FAMILIES[family](deletion):
        yield {"pair": pair, "seed": seed, **row}


@dataclass(frozen=True)
class _Deletions:
    """Args: full: Retraining in full. head: On embeddings, or else the package's own."""

    settings: Settings
    found: Problem
    job: NetworkJob
    full: Training
    head: Head
    shares: tuple[float, ...]

    def __iter__(self) -> Iterator["_Table"]:
        for share in self.shares:
            after = without(self.job, share)
            yield _Table(self.found, after, training_cost(after, self.full), share)


def _heads(asked: _Deletions) -> Iterator[dict[str, Any]]:
    """Certified heads, with and without fine-tuning, and exact deletions."""
    settings, full, head = asked.settings, asked.full, asked.head
    before = Head().fit(asked.job)
    embedded = on_embedding(asked.job) if asked.found.embedded else asked.job
    before_embedded = head.fit(embedded) if asked.found.embedded else before
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
        if asked.found.embedded:
            yield from table.certified("head, public layer", Head(), before)
        inner = Head().cost(table.after) / table.full
        for budget in settings.budgets:
            if budget > inner:
                strategy = HeadFinetune(_cut(full, budget - inner))
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
        for steps in sorted(k for k in passes if k <= settings.langevin_epochs):
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
        self, name: str, strategy: NetworkStrategy, before: NetworkOutcome
    ) -> Iterator[dict[str, Any]]:
        """The strategy's own network and its placebo."""
        outcome = strategy.forget(self.after, before)
        assert outcome.assumptions is not None
        assert outcome.history is not None
        delta = self.after.target.delta
        judged = account(outcome.assumptions, outcome.history, delta=delta)
        cost = strategy.cost(self.after) / self.full
        row = self.exact(name, outcome.state, cost)
        yield row | {"arm": "certified", "epsilon": None if judged.vacuous else judged.epsilon}
        nothing = strategy.placebo(self.after, before).state
        yield self.exact(name, nothing, cost) | {"arm": "placebo"}


def _cut(full: Training, share: float) -> Training:
    """The same recipe for a share of the cost."""
    return replace(full, epochs=share * full.epochs)
