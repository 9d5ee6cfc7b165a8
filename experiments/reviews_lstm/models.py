"""A block of LSTMs of both laws: what they say of forgotten and of test reviews, at every K.

    score    log(p/(1-p)), p a model's confidence in a forgotten review's label; mean over the set
    accuracy on private test reviews, before unlearning and at the last K
    norm     of a model's weights at the last K: at the radius, noise has filled the ball

T and K count epochs: the appendix says epochs, the text iterations. An epoch is as many steps as
batches fit into all records, also where the forgotten are gone, so that both laws take the same
number of steps. Every model has its own order of records; cells and blocks share no randomness.
Paper: [subseq:ulira_details].
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from experiments.parts import machine
from experiments.reviews_lstm.corpus import Corpus, flipped, reviews
from expunge.audit.ulira import logit_scores
from expunge.core import counters
from expunge.sampling import IndependentBatches, Problem, sample_ensemble
from expunge.sampling.problem import Records
from expunge.sampling.recurrent import LSTMClassifier, Recurrent

__all__ = ["Cell", "Chain", "Shape", "block", "device", "problem", "right", "steps_of"]

Public = Literal["without", "with", "flipped"]
DIGITS = 5  # kept of each number


@dataclass(frozen=True)
class Shape:
    """Layers are the paper's two; it names neither widths nor the law of initial weights.

    Args:
        words: Ids at most.
        embedding, hidden: Widths.
        word_bound, forget_bias: As in `Recurrent`. At its defaults, 1/sqrt(width) and 0, models
            hardly leave guessing in thousands of steps, without noise too.
    """

    words: int
    embedding: int
    hidden: int
    word_bound: float = 1.0
    forget_bias: float = 2.0

    @property
    def loss(self) -> Recurrent:
        module = LSTMClassifier(self.words, self.embedding, self.hidden, layers=2)
        return Recurrent(module, word_bound=self.word_bound, forget_bias=self.forget_bias)

    def __str__(self) -> str:
        return f"{self.words} words, embedding {self.embedding}, hidden {self.hidden}"


@dataclass(frozen=True)
class Chain:
    """Args:
    models: Of a block.
    flip: Share of public labels that the arm "flipped" turns over.
    """

    learn_epochs: int
    unlearn_epochs: tuple[int, ...]
    batch: int
    models: int
    radius: float = 100.0
    flip: float = 0.4
    seed: int = 0


@dataclass(frozen=True)
class Cell:
    """Args: arm: "paper" for its sigma, "learns" for one at which models learn."""

    arm: str
    shape: Shape
    step_size: float
    sigma: float
    public: Public
    forget: int

    @property
    def name(self) -> str:
        """Of its blocks: whatever its arm is called."""
        shape = f"{self.shape.words}x{self.shape.embedding}x{self.shape.hidden}"
        chain = f"sigma{self.sigma:g}-eta{self.step_size:g}"
        return f"{self.public}-forget{self.forget}-{chain}-{shape}"


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def steps_of(corpus: Corpus, chain: Chain, cell: Cell) -> int:
    """Of an epoch."""
    found = reviews(corpus, cell.shape.words)
    rows = len(found.private.targets)
    if cell.public != "without":
        rows += len(found.public.targets)
    return rows // chain.batch


def problem(corpus: Corpus, chain: Chain, cell: Cell) -> Problem:
    found = reviews(corpus, cell.shape.words)
    public = {
        "without": None,
        "with": found.public,
        "flipped": flipped(found.public, chain.flip, chain.seed),
    }[cell.public]
    return Problem(
        loss=cell.shape.loss,
        private=found.private,
        public=public,
        forget=range(cell.forget),
        step_size=cell.step_size,
        sigma=cell.sigma,
        learn_steps=chain.learn_epochs * steps_of(corpus, chain, cell),
        radius=chain.radius,
        batch=IndependentBatches(chain.batch, models_per_order=1),
    )


def block(corpus: Corpus, chain: Chain, cell: Cell, number: int) -> list[dict[str, Any]]:
    """One row: by law `scores` at K = 0 and at every other, `accuracy` at 0 and at the last."""
    made, epoch = problem(corpus, chain, cell), steps_of(corpus, chain, cell)
    ks = (0, *chain.unlearn_epochs)
    found = sample_ensemble(
        made,
        unlearn_steps=[k * epoch for k in ks],
        models=chain.models,
        device=device(),
        seed=counters.stream(chain.seed, cell.name, number),
        block=chain.models,
    )
    private, _ = made.records_of()
    forgotten = Records(private.features[made.forgotten], private.targets[made.forgotten])
    test, last = reviews(corpus, cell.shape.words).test, ks[-1]
    assert isinstance(made.loss, Recurrent)
    row: dict[str, Any] = {"device": machine(), "models": chain.models, "unlearn_epochs": list(ks)}
    for law in ("unlearned", "retrained"):
        weights = {k: found[law, k * epoch].weights for k in ks}
        row[law] = {
            "scores": [_kept(scores(made.loss, weights[k], forgotten)) for k in ks],
            "accuracy": [_kept(right(made.loss, weights[k], test)) for k in (0, last)],
            "norm": _kept(torch.linalg.vector_norm(weights[last], dim=1)),
        }
    return [row]


def scores(loss: Recurrent, weights: Tensor, records: Records) -> Tensor:
    """One number a model: its mean over the records, whose scores are dependent."""
    place = weights.device
    outputs = loss.outputs(weights, records.features.to(place))
    return logit_scores(outputs, records.targets.to(place)).mean(1)


def right(loss: Recurrent, weights: Tensor, records: Records) -> Tensor:
    """Accuracy of each model."""
    place = weights.device
    outputs = loss.outputs(weights, records.features.to(place))
    return (outputs.argmax(-1) == records.targets.to(place)).float().mean(1)


def _kept(values: Tensor) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]
