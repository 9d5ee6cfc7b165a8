"""A network's learning problem: public, private and held-out records, and a public backbone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import AdamW

from experiments.datasets import load, load_pair
from experiments.networks.settings import Settings
from expunge.accounting.target import EpsilonDelta
from expunge.core.module_state import load_into, state_of
from expunge.core.rows import public_row_norm
from expunge.features.backbone import backbone_features
from expunge.unlearning.ids import id_rows
from expunge.unlearning.networks.comparison import correct
from expunge.unlearning.networks.head import Head
from expunge.unlearning.networks.network_job import NetworkJob
from expunge.unlearning.networks.retrain import RetrainNetwork
from expunge.unlearning.networks.training import Training
from expunge.unlearning.roster import Roster

__all__ = [
    "MLP",
    "OnEmbedding",
    "Problem",
    "accuracy",
    "head_of",
    "job_of",
    "on_embedding",
    "problem_of",
    "recipe",
    "without",
]

Records = tuple[Tensor, Tensor]


class MLP(nn.Module):
    """One hidden layer; `fc` is the last."""

    def __init__(self, inputs: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU())
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.body(x))


class OnEmbedding(nn.Module):
    """A linear layer on what a frozen pretrained embedder made of a record."""

    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)


@dataclass(frozen=True)
class Problem:
    """One pair's learning problem: public, private and held-out records.

    Args:
        embedded: A linear layer on the inputs will do: they are a pretrained embedder's, which
            never saw these records (or the small images of a smoke run).
        sources: What the two sets are, in words.
    """

    name: str
    public: Records
    private: Records
    test: Records
    classes: int
    embedded: bool
    sources: tuple[str, str]


def problem_of(name: str, settings: Settings, seed: int) -> Problem:
    """The records, the private ones in the seed's order, less the public ones' mean."""
    shuffled = np.random.default_rng(seed)
    if name == "mnist/mnist":
        digits = load("mnist")
        order = shuffled.permutation(len(digits.train))
        some, others = np.split(order[: settings.public + settings.private], [settings.public])
        public, private = (
            _records(digits.train[r], digits.train_labels[r]) for r in (some, others)
        )
        test = _records(digits.test, digits.test_labels)
        sources = "MNIST", "other MNIST"
        return _centred(Problem(name, public, private, test, 10, False, sources))
    pair = load_pair(name)
    train = pair.private.train
    train = train.of(shuffled.permutation(len(train)))
    public, private, test = (
        _records(part.features, part.targets) for part in (pair.public, train, pair.private.test)
    )
    sources = (pair.private.source, pair.public.source)
    classes = len(pair.public.classes)
    return _centred(Problem(name, public, private, test, classes, True, sources))


def recipe(settings: Settings, chosen: Mapping[str, Any]) -> Training:
    """How every network of a pair is trained, public ones too; only the epochs differ."""
    optimiser = partial(AdamW, weight_decay=chosen["weight_decay"], fused=True)
    return Training(chosen["epochs"], chosen["step_size"], settings.batch_size, optimiser)


def job_of(
    problem: Problem, settings: Settings, seed: int, full: Training, *, beside: bool
) -> NetworkJob:
    """The job with a backbone that public records alone have made.

    Args:
        beside: They are trained on beside the private ones too.
    """
    hidden = settings.hidden[settings.pairs.index(problem.name)]
    module = MLP(problem.public[0].shape[1], hidden, problem.classes).eval()
    alone = _job(module, problem.public, None, settings, seed)
    public_start = RetrainNetwork("scratch", full).fit(alone).state
    load_into(module, public_start)
    return _job(module, problem.private, problem.public if beside else None, settings, seed)


def head_of(problem: Problem, job: NetworkJob, l2: float) -> Head:
    """A head for rows as long as the public records' features, trained on or not."""
    features = backbone_features(job.module, "fc", problem.public[0], job.device)
    return Head(l2, row_norm=public_row_norm(features.numpy()))


def on_embedding(job: NetworkJob) -> NetworkJob:
    """The same records for a linear layer alone."""
    classes = job.module.get_parameter("fc.weight").shape[0]
    module = OnEmbedding(job.inputs.shape[1], classes).eval()
    return replace(job, module=module, start=state_of(module))


def without(job: NetworkJob, share: float) -> NetworkJob:
    """After the deletion of the first records, which are random ones."""
    public = job.roster.public
    return job.without(range(public, public + round(share * job.roster.private)))


def accuracy(job: NetworkJob, state: dict[str, Tensor], records: Records) -> float:
    return float(correct(job, state, records).double().mean())


def _job(
    module: nn.Module, private: Records, public: Records | None, settings: Settings, seed: int
) -> NetworkJob:
    rows, others = len(private[0]), 0 if public is None else len(public[0])
    return NetworkJob(
        module=module,
        loss=cross_entropy,
        inputs=private[0],
        targets=private[1],
        roster=Roster(id_rows(None, rows, others), others),
        public_inputs=None if public is None else public[0],
        public_targets=None if public is None else public[1],
        target=EpsilonDelta(settings.epsilon, settings.delta),
        observer="final",
        seed=seed,
        head="fc",
        start=state_of(module),
    )


def _centred(problem: Problem) -> Problem:
    """By public numbers; the networks learn faster, and a head with an intercept cares little."""
    mean = problem.public[0].mean(0)
    moved = {
        name: (inputs - mean, targets)
        for name, (inputs, targets) in (
            ("public", problem.public),
            ("private", problem.private),
            ("test", problem.test),
        )
    }
    return replace(problem, **moved)


def _records(features: np.ndarray, targets: np.ndarray) -> Records:
    return torch.from_numpy(features), torch.from_numpy(targets)
