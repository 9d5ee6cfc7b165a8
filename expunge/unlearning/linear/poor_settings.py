"""Warnings about settings that make poor models, each with its remedy.

All of them come from public records, settings and counts, so whoever sees a warning learns nothing
of a private record. They look at a bounded number of public rows, always the same ones.
"""

import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from expunge.core.rows import largest_unscaled, row_norms
from expunge.errors import InvalidInput, NotConverged, SettingsWarning
from expunge.unlearning.linear.capacity_curve import CAPACITIES, draw_curve
from expunge.unlearning.linear.langevin import Langevin
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.linear.public_folds import take_evenly
from expunge.unlearning.linear.rehearsal import FEWEST, Rehearsal

__all__ = ["warn_of_lifted_delta", "warn_of_poor_settings"]

ROWS = 1024  # public ones whose norms are looked at
UNLIKE = 1.5  # how far apart the factors are by which nine in ten and one in ten rows are scaled
LEVEL = 5  # from here to the caller of `fit`


def warn_of_poor_settings(job: LinearJob, strategy: Any, public: Any) -> None:
    """Warn of settings that these public records show to be poor.

    Args:
        public: Their rows, before they were scaled.
    """
    if public.shape[0] < FEWEST or job.loss.mark == "assumed":
        return
    problems = list(_scaled_rows(job, public))
    with suppress(NotConverged):  # a fit does not end because its warnings cannot be worked out
        problems.extend(_poor_models(job, strategy))
    for problem in problems:
        warnings.warn(problem, SettingsWarning, stacklevel=LEVEL)


def warn_of_lifted_delta(job: LinearJob) -> None:
    """Warn where so many records joined that delta is no tenth of one over them, as it was at fit.

    Counts of records are on every certificate.
    """
    roster, delta = job.roster, job.target.delta
    at_fit, now = roster.at_fit - roster.public, roster.retained - roster.public
    if delta * 10 * at_fit <= 1 < delta * 10 * now:
        warnings.warn(
            f"delta: {delta:g} is above 1/(10 n) for the {now:,} private records that there are "
            f"now, and was not for the {at_fit:,} at fit: a smaller delta takes a new fit",
            SettingsWarning,
            stacklevel=3,
        )


def _scaled_rows(job: LinearJob, public: Any) -> Iterator[str]:
    """Whether most public rows are scaled down, and by factors that differ.

    Rows of one norm, such as embeddings, lose nothing by being scaled alike.
    """
    rows, bound = public[take_evenly(public.shape[0], ROWS)], job.loss.row_norm
    largest = max(float(abs(rows).max()), 1e-300)
    norms = largest * row_norms(rows / largest)  # squares do not overflow
    factors = np.maximum(norms / largest_unscaled(bound), 1.0)
    share, (low, high) = float(np.mean(factors > 1)), np.percentile(factors, [10, 90])
    if share > 0.5 and high > UNLIKE * low:
        yield (
            f"row_norm: {share:.0%} of the public rows are scaled down to row_norm={bound:g}, by "
            f"{low:.3g} to {high:.3g}, so that their direction alone counts: scale features by "
            "what public records show, or take row_norm='public'"
        )


def _poor_models(job: LinearJob, strategy: Any) -> Iterator[str]:
    """Whether a model of public records, learned as this fit learns, is any good on others."""
    rehearsal = Rehearsal.of(job)
    constant, clean, unit = rehearsal.constant, rehearsal.public_only, rehearsal.measure
    if clean <= constant + rehearsal.standard_error(constant):
        yield (
            f"l2: learned from half of the public records and tried on the others, these settings "
            f"are no better than a constant ({unit} {clean:.2f} against {constant:.2f}): take "
            "l2='public' and row_norm='public', and scale features by what public records show"
        )
    elif hasattr(strategy, "chosen_sigma"):  # its noise is fixed at fit
        yield from _loud_noise(job, strategy, rehearsal)


def _loud_noise(job: LinearJob, strategy: Langevin, rehearsal: Rehearsal) -> Iterator[str]:
    """Whether the noise costs more than private records are likely to bring."""
    noisy, quiet = rehearsal.noisy(strategy, [strategy.chosen_sigma(job), 0.0])
    clean = min(quiet, rehearsal.public_only)  # what too few steps cost is not the noise's fault
    told = f"{rehearsal.measure} {noisy:.2f} on public records held out, {clean:.2f} without noise"
    if noisy < (rehearsal.constant + clean) / 2:
        yield f"{_cause(strategy)} drowns the model: {told}; {_remedy(job, strategy, clean)}"
    elif noisy < clean - 3 * rehearsal.standard_error(clean):
        yield (
            f"{_cause(strategy)} makes it worse than the model of public records alone: {told}; "
            f"{_remedy(job, strategy, clean)}"
        )


def _cause(strategy: Langevin) -> str:
    if strategy.sigma is not None:
        return f"sigma: noise of {strategy.sigma:g}"
    return f"capacity: the noise for {strategy.capacity:.3g} of the private records"


def _remedy(job: LinearJob, strategy: Langevin, clean: float) -> str:
    """A smaller capacity that is good enough, if there is one, and what else helps."""
    if strategy.sigma is not None:
        return "take less of it, or more public records"
    smaller = [each for each in CAPACITIES if each < strategy.capacity]
    other = "more public records, a larger epsilon or reference='center' need less noise"
    try:
        curve = draw_curve(job, strategy, smaller)
    except InvalidInput:
        return other
    good = [point for point in curve.points if point.score > (curve.constant + clean) / 2]
    if not good:
        return other
    return f"capacity={good[-1].capacity:g} gives {good[-1].score:.2f}; {other}"
