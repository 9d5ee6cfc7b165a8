"""Retrained LSTMs without noise: what models of a size learn of private reviews at all.

Whatever noise costs is counted from here. They are retrained models as any other, at sigma = 0 and
the step size that the search found best for it, on private reviews without the forgotten ones, and
are kept beside the blocks.
"""

from typing import Any

from experiments.parts import machine
from experiments.reviews_lstm.corpus import reviews
from experiments.reviews_lstm.models import Cell, device, problem, right, steps_of
from experiments.reviews_lstm.slices import Sampler, cell_of
from expunge.core import counters
from expunge.sampling import sample_ensemble

__all__ = ["control"]

Row = dict[str, Any]


def control(sampler: Sampler, found: Row, forget: int, models: int) -> Row | None:
    """Test accuracy of so many models at T + K epochs; None where a slice begins nothing.

    Args:
        found: What the search chose.
    """
    cell = cell_of(found, "no noise", "without", forget)
    name = f"control{models}-{cell.name}"
    rows = sampler.parts.kept(name)
    if rows is None and sampler.seconds > 0:
        rows = sampler.parts.rows(name, lambda: [_control(sampler, cell, models)])
    return None if rows is None else rows[0]


def _control(sampler: Sampler, cell: Cell, models: int) -> Row:
    corpus, chain = sampler.models.corpus, sampler.models.chain
    made = problem(corpus, chain, cell)
    last = max(chain.unlearn_epochs)
    steps = last * steps_of(corpus, chain, cell)
    sampled = sample_ensemble(
        made,
        ("retrained",),
        (steps,),
        models=models,
        device=device(),
        seed=counters.stream(chain.seed, cell.name, "control"),
        block=models,
    )
    accuracy = right(
        cell.shape.loss, sampled["retrained", steps].weights, reviews(corpus, cell.shape.words).test
    )
    return {
        "device": machine(),
        "models": models,
        "epochs": chain.learn_epochs + last,
        "step_size": cell.step_size,
        "accuracy": [float(f"{value:.5g}") for value in accuracy.tolist()],
    }
