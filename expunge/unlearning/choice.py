"""Which strategy: every one priced for a job, and the cheapest sound one for `auto`.

Prices are in passes over the records, known for noisy descent and typical for solvers (Newton's
method warm-started after a deletion, or cold); noise is what is left in the released model's
flattest direction. Nothing here looks at the records' content.
"""

from dataclasses import replace

from expunge.accounting.calibration import sigma_for_requests, smallest_sigma
from expunge.accounting.strategies import WARM_PASSES, priced
from expunge.accounting.strategies import Strategy as Price
from expunge.accounting.target import EpsilonDelta
from expunge.errors import Refused
from expunge.unlearning.job import Job
from expunge.unlearning.langevin import UNCOUNTED, Langevin, NoiseFirst, setting_of
from expunge.unlearning.residual import Residual
from expunge.unlearning.retrain import Retrain
from expunge.unlearning.tolerances import attainable

__all__ = ["COLD_PASSES", "WARM_PASSES", "Strategy", "cheapest", "prices"]

Strategy = Residual | Langevin | NoiseFirst | Retrain

COLD_PASSES = 24  # of a solve from zero
EXPOSED = "its base model carries no noise, so it protects nobody from an observer of that model"


def prices(job: Job, forget: int) -> list[Price]:
    """Every strategy for forgetting so many records; those that can be taken first, by cost."""
    langevin, noise_first = Langevin(), NoiseFirst()
    rows = {price.name: price for price in _descent_prices(job, forget, langevin, noise_first)}
    noise_std, _ = attainable(Residual(), job).noise(job)
    exposed = EXPOSED if job.observer == "all" else None
    rows["residual"] = Price(
        name="residual",
        steps=WARM_PASSES,
        cost_of_retraining=WARM_PASSES / COLD_PASSES,
        epsilon=None if exposed else job.target.level,
        sigma=None,
        release_noise_std=noise_std,
        guarantee="shift",
        excluded=exposed,
    )
    rows["retrain"] = replace(rows["retrain"], steps=COLD_PASSES, excluded=exposed)
    if job.adaptive_requests:
        rows["noise_first"] = replace(rows["noise_first"], excluded=UNCOUNTED)
    if job.observer == "all" and job.public and rows["langevin"].excluded is None:
        rows["without public data"] = _without_public(job, forget)
    return sorted(rows.values(), key=lambda p: (p.excluded is not None, p.steps or 0))


def cheapest(job: Job, forget: int) -> Strategy:
    """What `auto` takes; langevin last, whose noise is in every model before any deletion.

    Raises:
        ValueError: no strategy is sound for this observer and target.
    """
    made = {s.name: s for s in (Residual(), Langevin(), NoiseFirst(), Retrain())}
    listed = prices(job, forget)
    for price in sorted(listed, key=lambda price: price.name == "langevin"):
        if price.excluded is None:
            return attainable(made[price.name], job)
    reasons = "; ".join(f"{price.name}: {price.excluded}" for price in listed)
    raise ValueError(f"strategy: none can be taken for observer {job.observer!r} ({reasons})")


def _descent_prices(
    job: Job, forget: int, langevin: Langevin, noise_first: NoiseFirst
) -> list[Price]:
    """langevin, noise_first and retrain by the accountant; squared losses may lack a ball."""
    try:
        setting = setting_of(job, langevin.learn_steps, forget)
    except ValueError as error:
        return [
            Price(name, None, None, None, None, None, "shift", str(error))
            for name in ("langevin", "noise_first", "retrain")
        ]
    steps = noise_first.unlearn_steps
    met, sigma, epsilon = True, None, job.target.level
    try:
        target = EpsilonDelta(job.target.level, job.target.delta)
        taken = 0 if job.counts_every_model else steps
        sigma = smallest_sigma(setting, target, unlearn_steps=taken)
        if job.adaptive_requests:
            sigma = sigma_for_requests(setting, target, requests=langevin.requests)
    except Refused:
        met = False
    if job.counts_every_model:
        steps = 1  # noise was spent at learning; one step turns the page
    return priced(setting, job.target, sigma=sigma, unlearn_steps=steps, epsilon=epsilon, met=met)


def _without_public(job: Job, forget: int) -> Price:
    """What observer `all` would cost if there were no public records: for comparison only."""
    alone = replace(setting_of(job, Langevin().learn_steps, forget), public=0)
    alone = replace(alone, forget=min(alone.forget, alone.private - 1))
    sigma = smallest_sigma(alone, job.target, unlearn_steps=0)
    found = priced(alone, job.target, sigma=sigma, unlearn_steps=0, epsilon=None, met=True)
    (langevin,) = (price for price in found if price.name == "langevin")
    why = "for comparison: the noise that public records save"
    return replace(langevin, name="langevin without public data", excluded=why)
